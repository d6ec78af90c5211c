"""Time that the core's threads wait awake for each other; imported before the core, which reads it once.

GNU's OpenMP lets a thread that waits keep its core busy for milliseconds. If other work needs that core, often the
awaited thread is held up, and parts of a tenth of a millisecond take ten. A few microseconds cover the gap between two
parts of one call; after them a waiting thread sleeps. Whoever has chosen a way of waiting keeps it.
"""

from __future__ import annotations

import importlib
import os

_ROUNDS = "GOMP_SPINCOUNT"

if _ROUNDS not in os.environ and "OMP_WAIT_POLICY" not in os.environ:
    os.environ[_ROUNDS] = "3000"
    importlib.import_module("pypgm._core")
    del os.environ[_ROUNDS]
