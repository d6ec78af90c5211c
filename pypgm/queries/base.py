"""What every linear query can do, and the neighbour relations its sensitivity is stated for."""

from __future__ import annotations

from typing import Any, Literal, Protocol, get_args, runtime_checkable

from numpy.typing import ArrayLike, NDArray

__all__ = ["Neighbours", "Query", "check_neighbours", "check_norm"]

Neighbours = Literal["add-remove", "replace"]


@runtime_checkable
class Query(Protocol):
    """A matrix Q with one column a cell of a clique's table and one row an answer."""

    @property
    def shape(self) -> tuple[int, int]:
        """Number of answers and number of cells."""

    @property
    def supports_total(self) -> bool:
        """Whether some combination of the answers is the sum over all cells."""

    def matvec(self, x: ArrayLike) -> NDArray[Any]:
        """Return Q x."""

    def rmatvec(self, y: ArrayLike) -> NDArray[Any]:
        """Return Q' y."""

    def sensitivity(self, neighbours: Neighbours, norm: Literal[1, 2]) -> int | float:
        """Return by how much the answers of neighbouring tables differ at most."""

    def squared_l2_sensitivity(self, neighbours: Neighbours) -> int:
        """Return the square of the L2 sensitivity, exactly."""


def check_neighbours(neighbours: str) -> None:
    """Raise ``ValueError`` unless `neighbours` is a relation pypgm knows."""
    if neighbours not in get_args(Neighbours):
        raise ValueError(f"neighbours must be 'add-remove' or 'replace', got {neighbours!r}")


def check_norm(norm: int) -> None:
    """Raise ``ValueError`` unless `norm` is 1 or 2."""
    if norm not in {1, 2}:
        raise ValueError(f"norm must be 1 or 2, got {norm!r}")
