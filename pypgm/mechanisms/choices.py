"""Choices of what each pair of attributes is asked: by a forecast, drawn privately, or suggested by a model."""

from __future__ import annotations

import math
from collections.abc import Mapping
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pypgm.mechanisms.resolution import GRID, RISK_SENSITIVITY, Resolution, risk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.domain import Clique
    from pypgm.mechanisms.one_way import Independent
    from pypgm.mechanisms.pair_allocation import Asked
    from pypgm.mechanisms.run import Run
    from pypgm.models import GraphicalModel, RegionGraphModel
    from pypgm.privacy.relation import Privacy

# Chosen on adult, titanic and fire, all pairs, epsilon .03 to 10; see bench/README.md.
CHOOSING = 0.05  # of rho, that choices get at most
_SHARP = 0.01  # of the records: noise in a risk that is low enough
_BLUNT = 0.15  # of the records: noise in a risk above which nothing is drawn, and pairs are asked by the forecast


def rho_of_choices(privacy: Privacy, rho: float, n_pairs: int, total: float) -> float:
    """Return what draws may cost of a budget; 0 where they would be no better than the forecast."""
    # The exponential mechanism of range R and rate epsilon = sqrt(8 rho) adds Gumbel noise of scale R / epsilon.
    scale = RISK_SENSITIVITY * privacy.l1_score_range / total / math.sqrt(8 / n_pairs)
    choosing = min(CHOOSING * rho, (scale / _SHARP) ** 2)
    return choosing if scale <= _BLUNT * math.sqrt(choosing) else 0.0


class Choices:
    """At which resolution each pair is asked, of those that its noise leaves.

    Parameters
    ----------
    run : Run
    asked : mapping of clique to Asked
        The options of each pair, their noise, and which is best by the forecast.
    start : Independent
        What pairs are compared with.
    """

    def __init__(self, run: Run, asked: Mapping[Clique, Asked], start: Independent) -> None:
        self._run, self._asked, self._start = run, asked, start

    def forecast(self) -> dict[Clique, Resolution]:
        """Return what is asked without another look."""
        return {pair: asked.resolution for pair, asked in self._asked.items()}

    def drawn(self, rho: Fraction) -> dict[Clique, Resolution]:
        """Draw what each pair is asked, by an exponential mechanism on minus its risk."""
        candidates = [(pair, resolution) for pair, asked in self._asked.items() for resolution in asked.options]

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
        """Return what each pair would best be asked if a model were right, and how much of its risk is due to noise."""
        best: dict[Clique, tuple[Resolution, float]] = {}
        tables = model.project_many(list(self._asked))
        for (pair, asked), table in zip(self._asked.items(), tables, strict=True):
            counts = np.rint(table.datavector()).astype(np.int64)
            risks = [self._risk(pair, resolution, counts) for resolution in asked.options]
            least = int(np.argmin(risks))
            without = risk(counts, self._start.counts(pair), asked.options[least].query, 0.0)
            best[pair] = asked.options[least], float(max(risks[least] - without, 1))
        return best

    def _risk(self, pair: Clique, resolution: Resolution, counts: NDArray[np.int64]) -> int:
        return risk(counts, self._start.counts(pair), resolution.query, self._asked[pair].stddev)
