"""Answers from noisy measurements by other ways than a graphical model, to compare it with.

Each function takes a domain and measurements, and returns an object with ``project(clique)``, counts, and
``synthetic_data(rows, rng)``, as models have them.
"""

from __future__ import annotations

from pypgm._base.lazy import attached

_HOMES, __all__, __getattr__, __dir__ = attached(__name__)
