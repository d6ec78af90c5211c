"""Choice of the resolution at which each pair is measured, by an exponential mechanism on a forecast of its error."""

from __future__ import annotations

import math
from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from pypgm.mechanisms.resolution import GRID, RISK_SENSITIVITY, Resolution, risk, risks_of_cells

if TYPE_CHECKING:
    from fractions import Fraction

    from numpy.typing import NDArray

    from pypgm.domain import Clique
    from pypgm.mechanisms.one_way import Independent
    from pypgm.mechanisms.pair_allocation import Question
    from pypgm.mechanisms.run import Run
    from pypgm.models import GraphicalModel, RegionGraphModel
    from pypgm.privacy.relation import Privacy

# Chosen on adult, titanic and fire, all pairs, epsilon .03 to 10; see bench/README.md.
CHOOSING = 0.05  # of rho, at most, for choices
_RISK_NOISE = 0.01  # of the records: noise in a risk that is low enough
_BLUNT = 0.15  # of the records: noise in a risk above which nothing is drawn, and pairs are asked by the forecast


def rho_of_choices(privacy: Privacy, rho: float, n_pairs: int, total: float) -> float:
    """Return the budget of the draws; 0 if they would be no better than the forecast."""
    # The exponential mechanism of range R and rate epsilon = sqrt(8 rho) adds Gumbel noise of scale R / epsilon.
    scale = RISK_SENSITIVITY * privacy.l1_score_range / total / math.sqrt(8 / n_pairs)
    choosing = min(CHOOSING * rho, (scale / _RISK_NOISE) ** 2)
    return choosing if scale <= _BLUNT * math.sqrt(choosing) else 0.0


class Choices:
    """Choice of the resolution of each pair among those possible at its noise.

    Parameters
    ----------
    run : Run
    questions : mapping of clique to Question
        Options of each pair, their noise, and the best option by the forecast.
    start : Independent
        Model that pairs are compared with.
    """

    def __init__(self, run: Run, questions: Mapping[Clique, Question], start: Independent) -> None:
        self._run, self._questions, self._start = run, questions, start

    def forecast(self) -> dict[Clique, Resolution]:
        """Return the resolutions that the forecast chose."""
        return {pair: question.resolution for pair, question in self._questions.items()}

    def drawn(self, rho: Fraction) -> dict[Clique, Resolution]:
        """Draw the resolution of each pair by an exponential mechanism on minus its risk."""
        candidates = [
            (pair, resolution) for pair, question in self._questions.items() for resolution in question.options
        ]

        def score(number: int, counts: NDArray[np.int64]) -> int:
            return -self._risk(*candidates[number], counts)

        changes = GRID * RISK_SENSITIVITY * (2 if self._run.table.privacy.total_is_public else 1)
        selector = self._run.table.selector([pair for pair, _ in candidates], score, sensitivity=changes)
        numbers: dict[Clique, list[int]] = {}
        for number, (pair, _) in enumerate(candidates):
            numbers.setdefault(pair, []).append(number)
        each = rho / len(numbers)
        chosen = {p: selector.select(among, rho=each) if len(among) > 1 else among[0] for p, among in numbers.items()}
        return {pair: candidates[number][1] for pair, number in chosen.items()}

    def suggested(self, model: GraphicalModel | RegionGraphModel) -> dict[Clique, tuple[Resolution, float]]:
        """Return the best resolution of each pair if a model were right, and the part of its risk due to noise."""
        best: dict[Clique, tuple[Resolution, float]] = {}
        tables = model.project_many(list(self._questions))
        counts = {p: np.rint(t.datavector()).astype(np.int64) for p, t in zip(self._questions, tables, strict=True)}
        of_cells = self._risks_of_cells(counts)
        for pair, question in self._questions.items():
            risks = [
                of_cells[pair][0] if option.query.is_identity else self._risk(pair, option, counts[pair])
                for option in question.options
            ]
            least = int(np.argmin(risks))
            query = question.options[least].query
            without = (
                of_cells[pair][1] if query.is_identity else risk(counts[pair], self._start.counts(pair), query, 0.0)
            )
            best[pair] = question.options[least], float(max(risks[least] - without, 1))
        return best

    def _risks_of_cells(self, counts: Mapping[Clique, NDArray[np.int64]]) -> dict[Clique, tuple[int, int]]:
        """Return the risk of each pair that may be measured cell by cell, with its noise and without any."""
        pairs = [p for p, question in self._questions.items() if any(o.query.is_identity for o in question.options)]
        risks: dict[Clique, tuple[int, int]] = {}
        for places, independent in self._start.stacked(pairs):
            some = [pairs[i] for i in places.tolist()]
            stddevs = np.array([self._questions[p].stddev for p in some])
            of_some = np.array([counts[p] for p in some])
            noisy, exact = (risks_of_cells(of_some, independent, s).tolist() for s in (stddevs, 0 * stddevs))
            risks |= zip(some, zip(noisy, exact, strict=True), strict=True)
        return risks

    def _risk(self, pair: Clique, resolution: Resolution, counts: NDArray[np.int64]) -> int:
        return risk(counts, self._start.counts(pair), resolution.query, self._questions[pair].stddev)
