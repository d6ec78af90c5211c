"""What a mechanism hands out: free to use, without the records."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import TYPE_CHECKING

from pypgm.estimation.measurement import LinearMeasurement, joined_marks
from pypgm.privacy.ledger import Ledger, LedgerReport
from pypgm.privacy.relation import Privacy

if TYPE_CHECKING:
    import numpy as np

    from pypgm.data import Dataset
    from pypgm.factor import Factor
    from pypgm.models import GraphicalModel

__all__ = ["Release"]


@dataclass(frozen=True, slots=True, eq=False)
class Release:
    """A private release: what was measured, what it cost, and the model that explains it.

    Nothing here holds records. Asking the model, drawing records and saving cost no privacy and leave the ledger
    as it was.

    Attributes
    ----------
    model : GraphicalModel
        The model; its marginals are counts.
    measurements : tuple of LinearMeasurement
        The noisy answers, int64, exactly as they were drawn.
    ledger : LedgerReport
        What was spent on what, for which neighbour relation; made of a `Ledger`, and cannot be charged.
    mechanism : str
        Its name.
    """

    model: GraphicalModel
    measurements: tuple[LinearMeasurement, ...]
    ledger: LedgerReport
    mechanism: str

    def __post_init__(self) -> None:
        if isinstance(self.ledger, Ledger):
            object.__setattr__(self, "ledger", self.ledger.snapshot())
        if self.ledger.privacy is None:
            raise ValueError("a release needs a ledger that a private table has bound to its relation")
        self.model.not_private = joined_marks([self.ledger, self.model])

    @property
    def privacy(self) -> Privacy:
        """The neighbour relation the guarantee is stated for: that of the ledger."""
        return self.ledger.privacy or Privacy()

    def project(self, clique: str | Iterable[str]) -> Factor:
        """Return the model's marginal of any clique, measured or not, in counts."""
        return self.model.project(clique)

    def synthetic_data(self, rows: int | None = None, rng: np.random.Generator | int | None = None) -> Dataset:
        """Return synthetic records drawn from the model.

        Parameters
        ----------
        rows : int, optional
            How many; by default the model's total, rounded.
        rng : numpy.random.Generator or int, optional
            Where the draws come from.
        """
        return self.model.synthetic_data(rows, rng)

    def summary(self) -> str:
        """Return the guarantee, the ledger line by line and the model in a few lines of text."""
        relation = f"{self.privacy.neighbours} neighbours, {self.privacy.records_per_person} record(s) a person"
        total = "records" if self.privacy.total_is_public else "records (noisy)"
        return "\n".join(
            [
                f"{self.mechanism}: {self.ledger.budget!r}, {relation}",
                self.ledger.report(),
                f"{len(self.measurements)} measurements, {self.model.total:.0f} {total}",
            ]
        )

    def __repr__(self) -> str:
        return f"Release({self.mechanism}: {len(self.measurements)} measurements, {self.ledger!r}, {self.model!r})"
