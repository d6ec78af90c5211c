"""Drafts of schemas, from the records of a table or from its types alone, and the questions that they leave open."""

from __future__ import annotations

from pypgm._base.lazy import attached

_HOMES, __all__, __getattr__, __dir__ = attached(__name__)
