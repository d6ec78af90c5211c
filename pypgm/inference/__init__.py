"""Inference: exact marginals and answers by messages and by elimination; pseudo-marginals on region graphs."""

from __future__ import annotations

from pypgm._base.lazy import attached

_HOMES, __all__, __getattr__, __dir__ = attached(__name__)
