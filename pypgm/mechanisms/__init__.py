"""Whole mechanisms: records and a budget in, a release out."""

from __future__ import annotations

from pypgm._base.lazy import attached

_HOMES, __all__, __getattr__, __dir__ = attached(__name__)
