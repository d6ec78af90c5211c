"""Readers and writers of other tools' model files."""

from __future__ import annotations

from pypgm._base.lazy import attached

_HOMES, __all__, __getattr__, __dir__ = attached(__name__)
