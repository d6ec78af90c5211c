"""Sequences of single questions to a private table, each for a part of the remaining budget."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Sequence
from fractions import Fraction
from types import SimpleNamespace
from typing import Any

import numpy as np

from pypgm.domain import Clique
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.quantiles import private_quantiles
from pypgm.privacy.relation import Privacy
from pypgm.queries import AllRange, Contrasts, Identity, LinearQuery, Matrix, Partition, Prefix

Ask = Callable[["_Asker"], Any]


def questions(data: Any, *, budget: Budget, privacy: Privacy, acts: Sequence[int]) -> Any:
    """Ask the questions that a sequence of numbers encodes; return measurements and all other answers."""
    asker = _Asker(PrivateTable(data, privacy, Ledger(budget)), sum(acts))
    answers = [asker.ask(_PURE if budget.unit == "epsilon" else _ALL, act) for act in acts]
    flat = list(itertools.chain.from_iterable(f if isinstance(f, list) else [f] for f in answers))
    measured = [m for m in flat if hasattr(m, "clique")]
    return SimpleNamespace(ledger=asker.table.ledger, measurements=measured, result=answers)


class _Asker:
    """Private table, with cliques and numbers that do not depend on it."""

    def __init__(self, table: PrivateTable, seed: int) -> None:
        self.table, self.rng = table, np.random.default_rng(seed)
        every = [c for k in (1, 2, 3) for c in itertools.combinations(table.domain, k)]
        chosen = self.rng.permutation(len(every))[:3]
        self.cliques: list[Clique] = [every[i] for i in chosen]

    def ask(self, ways: Sequence[Ask], act: int) -> Any:
        return ways[act % len(ways)](self)

    @property
    def amount(self) -> Fraction:
        return self.table.ledger.remaining() / 3

    @property
    def cost(self) -> dict[str, Any]:
        return {self.table.ledger.budget.unit: self.amount}

    @property
    def clique(self) -> Clique:
        return self.cliques[int(self.rng.integers(len(self.cliques)))]

    def size(self, clique: Clique) -> int:
        return self.table.domain.size(clique)

    def weights(self) -> list[int]:
        return [int(n) for n in self.rng.integers(1, 9, size=len(self.cliques))]

    def query(self, clique: Clique) -> LinearQuery:
        cells = self.size(clique)
        made: list[Callable[[], LinearQuery]] = [
            lambda: Identity(cells),
            lambda: Prefix(cells),
            lambda: AllRange(cells),
            lambda: Partition(np.sort(self.rng.integers(0, 2, size=cells)).tolist(), 2),
            lambda: Matrix(self.rng.integers(-3, 4, size=(2, cells))),
        ]
        if min(sizes := self.table.domain.sizes(clique)) > 1:
            made.append(lambda: Contrasts(sizes))
        return made[int(self.rng.integers(len(made)))]()


def _measured(asker: _Asker) -> Any:
    clique = asker.clique
    query = asker.query(clique)
    privacy = asker.table.privacy
    if privacy.squared_l2_sensitivity(query) == 0:
        return []
    if asker.table.ledger.budget.unit == "rho":
        return asker.table.measure(clique, query, rho=asker.amount)
    return asker.table.measure(clique, query, scale=privacy.l1_sensitivity(query) / asker.amount)


def _many(asker: _Asker) -> Any:
    cliques = [c for c in asker.cliques if asker.size(c) > 1]
    weights = asker.weights()[: len(cliques)]
    return asker.table.measure_many(cliques, rho=asker.amount, weights=weights) if cliques else []


def _off_grid(asker: _Asker) -> Any:
    """Compare with estimates off the grid, of about the size of counts."""
    estimates = {c: np.arange(asker.size(c)) * 1.37 % 5 - 1 for c in asker.cliques}
    return asker.table.l1_selector(asker.cliques, estimates.__getitem__)


def _selected(asker: _Asker) -> Any:
    offsets = asker.rng.normal(size=len(asker.cliques)).tolist()
    return _off_grid(asker).select(weights=asker.weights(), offsets=offsets, **asker.cost)


def _top(asker: _Asker) -> Any:
    return _off_grid(asker).select_top(None, min(2, len(asker.cliques)), **asker.cost)


def _flipped(asker: _Asker) -> Any:
    return _off_grid(asker).permute_and_flip(**asker.cost)


def _screened(asker: _Asker) -> Any:
    return _off_grid(asker).screen(rho=asker.amount, weights=asker.weights()).values.tolist()


def _stated(asker: _Asker) -> Any:
    selector = asker.table.selector(asker.cliques, lambda i, counts: 3 * int(counts[0]) * (-1) ** i, sensitivity=3)
    return selector.select(weights=asker.weights(), **asker.cost)


def _cell(asker: _Asker) -> Any:
    offsets = [asker.rng.normal(size=asker.size(c)) * 5 for c in asker.cliques]
    weight, draws = int(asker.rng.choice([-7, 1, 1000])), int(asker.rng.integers(1, 4))
    return asker.table.cell_selector(asker.cliques).draw(weight, offsets, 17.6, draws, **asker.cost)


def _quantiles(asker: _Asker) -> Any:
    column = asker.table.column(asker.clique[0])
    wanted = [Fraction(int(asker.rng.integers(0, 6)), 5), Fraction(1, 2)]
    return private_quantiles(column, wanted, np.arange(-1, 5) + 0.5, **asker.cost).tolist()


_PURE: list[Ask] = [_measured, _selected, _flipped, _cell, _quantiles, _top, _stated]
_ALL: list[Ask] = [*_PURE, _many, _screened]
