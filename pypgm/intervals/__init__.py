"""Intervals for statistics of the original records, computed from a release alone.

No record is read: this is post-processing of noisy answers, and costs no privacy.
"""

from __future__ import annotations

from pypgm._base.lazy import attached

_HOMES, __all__, __getattr__, __dir__ = attached(__name__)
