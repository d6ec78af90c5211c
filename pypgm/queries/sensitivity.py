"""The neighbour relations that a query's sensitivity is stated for."""

from __future__ import annotations

from typing import Literal, get_args

__all__ = ["Neighbours", "check_neighbours", "check_norm"]

Neighbours = Literal["add-remove", "replace"]


def check_neighbours(neighbours: str) -> None:
    """Raise ``ValueError`` unless `neighbours` is a relation pypgm knows."""
    if neighbours not in get_args(Neighbours):
        raise ValueError(f"neighbours must be 'add-remove' or 'replace', got {neighbours!r}")


def check_norm(norm: int) -> None:
    """Raise ``ValueError`` unless `norm` is 1 or 2."""
    if norm not in {1, 2}:
        raise ValueError(f"norm must be 1 or 2, got {norm!r}")
