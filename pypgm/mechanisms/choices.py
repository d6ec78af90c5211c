"""Choices of what each pair of attributes is asked: blind, drawn privately, or suggested by a model."""

from __future__ import annotations

import math
from collections.abc import Collection, Mapping, Sequence
from fractions import Fraction
from typing import TYPE_CHECKING

import numpy as np

from pypgm.mechanisms.resolution import GRID, RISK_SENSITIVITY, Resolution, resolutions, risk

if TYPE_CHECKING:
    from numpy.typing import NDArray

    from pypgm.domain import Clique
    from pypgm.mechanisms.one_way import Independent
    from pypgm.mechanisms.run import Run
    from pypgm.models import GraphicalModel, RegionGraphModel
    from pypgm.privacy.relation import Privacy

__all__ = ["ROWS", "Choices", "rho_of_choices"]

# Chosen on adult, titanic and fire, all pairs, epsilon .03 to 10; see bench/README.md.
_MOST = 0.05  # of rho, that choices get at most
_SHARP = 0.01  # of the records: noise in a risk that is low enough
_BLUNT = 0.067  # of the records: noise in a risk above which nothing is chosen, and every pair is asked in groups
ROWS = 0.25  # of N / sigma: how many groups a pair is asked in
_MAX_CELLS = 10**6  # of a pair that may be asked for all its cells
_MAX_RECORDS = 2.0**36  # above it, noise is all there is, or risks could overflow: nothing is chosen


def rho_of_choices(privacy: Privacy, rho: float, n_pairs: int, total: float) -> float:
    """Return what draws may cost of a budget; 0 where they would be no better than blind choices."""
    # The exponential mechanism of range R and rate epsilon = sqrt(8 rho) adds Gumbel noise of scale R / epsilon.
    scale = RISK_SENSITIVITY * privacy.l1_score_range / total / math.sqrt(8 / n_pairs)
    choosing = min(_MOST * rho, (scale / _SHARP) ** 2)
    return choosing if scale <= _BLUNT * math.sqrt(choosing) and total < _MAX_RECORDS else 0.0


class Choices:
    """What each pair may be asked, at the noise that parts of a budget leave, and which of it is.

    Pairs that are asked nothing are left out of what is chosen.

    Parameters
    ----------
    run : Run
    parts : mapping of clique to float
        What part of the budget each pair gets.
    start : Independent
        What pairs are compared with.
    runs : collection of str
        Attributes whose neighbouring codes are alike.
    rho : float
        For the answers.
    """

    def __init__(
        self, run: Run, parts: Mapping[Clique, float], start: Independent, runs: Collection[str], rho: float
    ) -> None:
        self._run, self._start = run, start
        self._noise = {pair: run.stddev(rho * part) for pair, part in parts.items()}
        self._found: dict[Clique, list[Resolution]] = {}
        for pair, noise in self._noise.items():
            shares, in_runs = [start.shares[a] for a in pair], [a in runs for a in pair]
            rows = ROWS * start.total / noise
            self._found[pair] = resolutions(shares, in_runs, rows, max_cells=_MAX_CELLS)

    def blind(self) -> dict[Clique, Resolution]:
        """Return what is asked without looking: groups of both attributes, or all cells of a small table."""
        return _asked({pair: _blind(options) for pair, options in self._found.items()})

    def drawn(self, rho: Fraction) -> dict[Clique, Resolution]:
        """Draw what each pair is asked, by an exponential mechanism on minus its risk."""
        candidates = [(pair, resolution) for pair, options in self._found.items() for resolution in options]

        def score(number: int, counts: NDArray[np.int64]) -> int:
            return -self._risk(*candidates[number], counts)

        changes = GRID * RISK_SENSITIVITY * (2 if self._run.table.privacy.total_is_public else 1)
        selector = self._run.table.selector([pair for pair, _ in candidates], score, sensitivity=changes)
        numbers: dict[Clique, list[int]] = {}
        for number, (pair, _) in enumerate(candidates):
            numbers.setdefault(pair, []).append(number)
        each = rho / len(numbers)
        return _asked({pair: candidates[selector.select(among, rho=each)][1] for pair, among in numbers.items()})

    def suggested(self, model: GraphicalModel | RegionGraphModel) -> dict[Clique, tuple[Resolution, float]]:
        """Return what each pair would best be asked if a model were right, and how much of its risk is due to noise."""
        best: dict[Clique, tuple[Resolution, float]] = {}
        tables = model.project_many(list(self._found))
        for (pair, options), table in zip(self._found.items(), tables, strict=True):
            counts = np.rint(table.datavector()).astype(np.int64)
            risks = [self._risk(pair, resolution, counts) for resolution in options]
            least = int(np.argmin(risks))
            chosen = options[least]
            if chosen.query is not None:
                without = risk(counts, self._start.counts(pair), chosen.query, 0.0)
                best[pair] = chosen, float(max(risks[least] - without, 1))
        return best

    def _risk(self, pair: Clique, resolution: Resolution, counts: NDArray[np.int64]) -> int:
        return risk(counts, self._start.counts(pair), resolution.query, self._noise[pair])


def _blind(options: Sequence[Resolution]) -> Resolution:
    named = {r.name: r for r in options}
    return named.get("groups") or named.get("cells") or named["nothing"]


def _asked(chosen: Mapping[Clique, Resolution]) -> dict[Clique, Resolution]:
    return {pair: r for pair, r in chosen.items() if r.query is not None}
