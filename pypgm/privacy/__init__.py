"""Differential privacy: neighbour relations, budgets, ledgers, exact noise, and access to records that is charged."""

from __future__ import annotations

from pypgm._base.lazy import attached

_HOMES, __all__, __getattr__, __dir__ = attached(__name__)
