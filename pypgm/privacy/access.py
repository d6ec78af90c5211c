"""Access of selectors and learners to records, ledger and randomness: each step charges before it counts."""

from __future__ import annotations

import itertools
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, replace
from fractions import Fraction

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm._base.constraints import one_of
from pypgm.data import Schema
from pypgm.domain import Clique, Domain
from pypgm.privacy.counts import Counts, batches
from pypgm.privacy.laws import DiscreteGaussian, DiscreteLaplace, Noise
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.noise import drawable_variance
from pypgm.privacy.rational import EPSILON_BITS, Number, as_fraction, isqrt_down, significant_down
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sampler import Adder, Sampler
from pypgm.queries import LinearQuery

_COST_BITS = 32  # significant bits of a cost for which noise cannot be drawn exactly


@dataclass(frozen=True, slots=True)
class ChargedNoise:
    """Noise whose cost is in a ledger.

    Attributes
    ----------
    law : DiscreteGaussian or DiscreteLaplace
        The law that was charged.
    add : callable
        Draws from exactly that law: takes int64 counts and returns new ones with noise.
    """

    law: Noise
    add: Adder


@dataclass(frozen=True, slots=True, eq=False)
class Access:
    """Ledger and randomness for one step; only for the code of this package, which is trusted to charge first.

    Attributes
    ----------
    privacy : Privacy
        The neighbour relation.
    ledger : Ledger
        The ledger to which steps are charged.
    sampler : Sampler
        The source of their randomness.
    check_open : callable
        Raises ``ValueError`` where the records are gone; to be called before a charge.
    """

    privacy: Privacy
    ledger: Ledger
    sampler: Sampler
    check_open: Callable[[], object]

    def charge_noise(
        self,
        query: LinearQuery,
        what: str,
        on: str,
        *,
        rho: Number | None = None,
        variance: Number | None = None,
        scale: Number | None = None,
        delta: Number | None = None,
        privacy: Privacy | None = None,
    ) -> ChargedNoise:
        """Charge noise on the answers to a query by exactly one of its cost in rho, its variance and its Laplace scale.

        With a `delta`, the noise is for a histogram of unknown keys and comes with its threshold. If another relation
        is given, the charge is for that one.

        Raises
        ------
        BudgetError
            If the charge does not fit.
        ValueError
            If not exactly one parameter is given, it is out of range, or the noise is too small for its standard
            deviation to be a float above 0.
        ImportError
            If the backend that draws the noise is not installed.
        """
        law = self._law(query, on, rho=rho, variance=variance, scale=scale, delta=delta, privacy=privacy)
        noise = ChargedNoise(law, law.adder(self.sampler))
        self.ledger.charge(what, on, law)
        return noise

    def charge_gaussians(
        self, requests: Sequence[tuple[LinearQuery, str, Fraction]], what: str, *, within: str
    ) -> list[ChargedNoise]:
        """Charge Gaussian noise on the answers to many queries, each given with the clique it is on and its rho.

        Raises
        ------
        BudgetError
            If the charges do not fit; then nothing is entered.
        ValueError, ImportError
            See `charge_noise`.
        """
        made: dict[tuple[int, int], ChargedNoise] = {}
        each = []
        for query, on, rho in requests:
            noise = made.get((id(query), id(rho)))
            if noise is None:
                law = self._law(query, on, rho=rho)
                is_zcdp = self.ledger.budget.accounting == "zcdp"
                if is_zcdp and law.cost("rho") != rho:  # thousands of costs are summed fast if they share denominators
                    law = self._law(query, on, rho=significant_down(rho, _COST_BITS))
                noise = made[id(query), id(rho)] = ChargedNoise(law, law.adder(self.sampler))
            each.append(noise)
        laws = [(on, noise.law) for (_, on, _), noise in zip(requests, each, strict=True)]
        self.ledger.charge_many(what, laws, within=within)
        return each

    def _law(
        self,
        query: LinearQuery,
        on: str,
        *,
        rho: Number | None,
        variance: Number | None = None,
        scale: Number | None = None,
        delta: Number | None = None,
        privacy: Privacy | None = None,
    ) -> Noise:
        """Return the law that `charge_noise` charges."""
        one_of(f"noise on {on}", rho=rho, variance=variance, scale=scale)
        relation = self.privacy if privacy is None else privacy
        if rho is not None:
            variance = self.ledger.variance_of(rho, relation.squared_l2_sensitivity(query))
        parameters: dict[type[DiscreteGaussian | DiscreteLaplace], Number | None] = {
            DiscreteGaussian: variance,
            DiscreteLaplace: scale,
        }
        ((kind, parameter),) = [(kind, number) for kind, number in parameters.items() if number is not None]
        law = kind.for_query(parameter, query, relation)
        if not law.stddev > 0:
            raise ValueError(f"noise on {on} of stddev {law.stddev:.3g} is 0 in floating point; use more")
        if delta is not None:
            fails, k = as_fraction("delta", delta), relation.records_per_person
            law = replace(law, threshold=k + law.reach(fails / k), records_per_person=k, delta=fails)
        return law

    def charge_screen(self, changes: Sequence[int], what: str, on: str, rho: Number) -> ChargedNoise:
        """Charge discrete Gaussian noise on integers; `changes` holds the most that neighbours change each of them.

        All of them may change at once: the squared L2 sensitivity is the sum of squares.

        Raises
        ------
        BudgetError
            If the charge does not fit.
        ValueError
            If rho is not above 0, the noise is beyond what can be drawn, or the budget is pure.
        ImportError
            If the backend that draws the noise is not installed.
        """
        squared = sum(c * c for c in changes)
        law = DiscreteGaussian(drawable_variance(self.ledger.variance_of(rho, squared)), squared, max(changes))
        noise = ChargedNoise(law, law.adder(self.sampler))
        self.ledger.charge(what, on, law)
        return noise


@dataclass(frozen=True, slots=True, eq=False)
class TableAccess(Access):
    """Access of a step to a private table, with its exact counts.

    Attributes
    ----------
    domain : Domain
        Attributes and sizes.
    schema : Schema, optional
        The schema of the records.
    records : callable
        Gives the records; raises ``ValueError`` if they are gone.
    """

    domain: Domain
    schema: Schema | None
    records: Callable[[], Counts]

    def is_closed(self) -> bool:
        """Return whether the records are gone."""
        try:
            self.check_open()
        except ValueError:
            return True
        return False

    def count(self, cliques: Sequence[Clique]) -> Iterator[NDArray[np.int64]]:
        """Yield exact tables of cliques, counted in batches; to be called after the charge."""

        def counted(batch: tuple[int, int]) -> Sequence[NDArray[np.int64]]:
            return self.records().count(cliques[slice(*batch)], self.sampler.n_threads)

        # Not a generator: closing one that Ctrl-C interrupted would run its code.
        return itertools.chain.from_iterable(map(counted, batches([self.domain.size(c) for c in cliques])))


@dataclass(frozen=True, slots=True, eq=False)
class ColumnAccess(Access):
    """Access of a step to a private column, with its exact values.

    Attributes
    ----------
    numbers : callable
        Takes rising points and gives numbers in rising order, and how many records each of them stands for: the points,
        and one for all between two of them. To be called only after the charge.
    histogram : callable
        Gives some keys at a time, in their order, numbers first, and how many records have each; to be called only
        after the charge.
    """

    numbers: Callable[[NDArray[np.float64]], tuple[NDArray[np.float64], NDArray[np.int64]]]
    histogram: Callable[[], Iterator[tuple[list[str | int], NDArray[np.int64]]]]


def selection_epsilon(
    ledger: Ledger, rho: Number | None, epsilon: Number | None, count: int = 1, *, has_range: bool = True
) -> Fraction:
    """Return the epsilon of each of `count` selections that together cost `epsilon`, or `rho`.

    See `Ledger.epsilon_of`; a pure ledger is charged the epsilon that a rho is worth in zCDP.

    Raises
    ------
    ValueError
        Unless exactly one of both is given, and is positive.
    """
    one_of("a selection", rho=rho, epsilon=epsilon)
    if epsilon is not None:
        exact = as_fraction("epsilon", epsilon)
        if exact <= 0:
            raise ValueError(f"a selection needs a rate of at least 2^-{_core.RATE_BITS - 1}, got epsilon {epsilon}")
        return exact / count
    exact = as_fraction("rho", rho if rho is not None else 0)
    if exact <= 0:
        raise ValueError(f"a selection needs a rho above 0, got {rho}")
    if ledger.budget.unit == "epsilon":
        return isqrt_down((8 if has_range else 2) * exact / count, EPSILON_BITS)
    return ledger.epsilon_of(exact, count, has_range=has_range)
