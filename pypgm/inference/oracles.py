"""Answers by any oracle, exact or approximate, given evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pypgm._base.numeric import check_choice
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Label
from pypgm.errors import ApproximationWarning, ModelTooLargeError, warn_caller
from pypgm.factor import Factor
from pypgm.graphs.evidence import Evidence, LastEvidence
from pypgm.graphs.junction_tree import check_possible
from pypgm.inference._variable_elimination import variable_elimination
from pypgm.inference.approximate import FEWEST, N_DRAWS, Approximated, approximated, best_found, drawn
from pypgm.inference.conditioned import ExactAnswers, named, with_known
from pypgm.inference.mini_buckets import Draws, min_fill_order

Oracle = Literal["exact", "region_graph", "sampling", "auto"]


@dataclass(frozen=True, eq=False)
class Approximation:
    """Answers of a model given evidence, with what is known of their error.

    Attributes
    ----------
    oracle : {"exact", "region_graph", "sampling"}
        What the answers come from.
    marginals : mapping of str to Factor
        Probabilities of each attribute, in the order of the domain.
    log_z : float
        Log Z, natural log; of a network, the log-probability of the evidence.
    log_z_bound : float
        Upper bound of log Z that always holds, by weighted mini-buckets.
    log_z_interval : tuple of float
        Interval that holds log Z with probability 95 %, by weighted draws; the wider, the harder the model.
    effective_size : float
        The number of independent draws that the weighted ones are worth; inf if the answer is exact.
    converged : bool
        Of a region graph: whether messages converged, to a log Z that the draws confirm. Of draws: whether they are
        worth at least a hundred. If not, the answer may be far off.
    regions : str
        Kind of the regions.

    Examples
    --------
    >>> import pypgm
    >>> pairs = [("a", "b"), ("b", "c"), ("a", "c")]
    >>> cycle = pypgm.CliqueVector(pypgm.Domain({"a": 2, "b": 2, "c": 2}), pairs, [1, 0, 0, 1] * 3)
    >>> found = pypgm.mrf.MarkovRandomField(cycle).approximation({"a": 1}, oracle="region_graph")
    >>> found.converged, found.marginals["b"].values.round(3)
    (True, array([0.193, 0.807]))
    """

    oracle: Literal["exact", "region_graph", "sampling"]
    marginals: Mapping[str, Factor]
    log_z: float
    log_z_bound: float
    log_z_interval: tuple[float, float]
    effective_size: float
    converged: bool
    regions: str = ""
    _joint: Factor | None = field(default=None, repr=False)

    def joint(self, clique: Clique) -> Factor:
        """Return the joint probabilities of the attributes that were asked for."""
        return self.marginals[clique[0]] if self._joint is None else self._joint


class Answers(ExactAnswers):
    """Answers of a model by any oracle; what was computed for the last evidence is kept.

    Parameters
    ----------
    potentials : CliqueVector
        Natural logs, which do not change.
    """

    @cached_property
    def _last(self) -> LastEvidence:
        return LastEvidence(self.domain)

    def by(
        self,
        oracle: Oracle,
        evidence: Evidence | None,
        clique: Clique | None = None,
        *,
        max_bytes: float | None = None,
        n_threads: int = 0,
    ) -> Approximation:
        """Return the answers by an oracle, those of the last call if it was the same."""
        what = f"{oracle} {clique} {max_bytes}"
        return self._last.recalled(
            what,
            evidence or {},
            lambda: approximation(self, evidence, oracle, clique, max_bytes=max_bytes, n_threads=n_threads),
        )

    def records(
        self, rows: int, rng: np.random.Generator, evidence: Evidence, oracle: Literal["exact", "sampling", "auto"]
    ) -> dict[str, NDArray[np.integer]]:
        """Return codes of records given evidence: independent ones or, where no junction tree fits, by weights."""
        check_choice("oracle", oracle, ("exact", "sampling", "auto"))
        if oracle == "exact":
            return self.draw(rows, rng, evidence)
        if oracle == "auto":
            with suppress(ModelTooLargeError):
                return self.draw(rows, rng, evidence)
        return self._weighted_records(rows, rng, evidence)

    def _weighted_records(
        self, rows: int, rng: np.random.Generator, evidence: Evidence | None
    ) -> dict[str, NDArray[np.integer]]:
        """Return codes of records given the evidence: weighted draws, drawn again by their weights."""
        _, rest = self.rest(evidence)
        codes = {a: np.full(rows, c, np.min_scalar_type(c)) for a, c in rest.codes.items()}
        if not rest.potentials.domain:
            self.marginals(evidence)  # impossible evidence is refused
            return dict(codes)
        with named(evidence):
            check_possible(rest.constant, None)
            potentials = with_likelihoods(rest.potentials, rest.evidence)
            order = min_fill_order(len(potentials.domain), potentials.scopes)
            draws = drawn(potentials, order, max(rows, N_DRAWS), rng)
            check_possible(draws.log_z, None)
        if draws.effective_size < FEWEST:
            warn_caller(_doubt(draws, "sampling"), ApproximationWarning)
        picked = draws.codes[:, rng.choice(draws.codes.shape[1], rows, p=draws.weights)]
        return {**codes, **dict(zip(potentials.domain, picked, strict=True))}

    def map_by(self, oracle: Oracle, evidence: Evidence | None) -> tuple[dict[str, Label], float]:
        """Return the most probable values, or the best that mini-buckets find, with a warning and the bound."""
        check_choice("oracle", oracle, ("exact", "auto"))
        try:
            return self.map(evidence)
        except ModelTooLargeError:
            if oracle == "exact":
                raise
        _, rest = self.rest(evidence)
        with named(evidence):
            check_possible(rest.constant, None)
            potentials = with_likelihoods(rest.potentials, rest.evidence)
            codes, log_weight, bound = best_found(potentials)
            check_possible(log_weight, None)
        if bound > log_weight + 1e-9 * (1 + abs(bound)):
            result, most = log_weight + rest.constant, bound + rest.constant
            text = f"the values found have log-weight {result:.6g}, and none has more than {most:.6g}"
            warn_caller(f"the values may not be the most probable ones: {text}", ApproximationWarning)
        every = {**rest.codes, **dict(zip(potentials.domain, codes.tolist(), strict=True))}
        return self.domain.labelled([every[a] for a in self.domain]), log_weight + rest.constant


def approximation(
    exact: ExactAnswers,
    evidence: Evidence | None,
    oracle: Oracle,
    clique: Clique | None = None,
    *,
    n_draws: int = N_DRAWS,
    rng: np.random.Generator | int | None = 0,
    max_bytes: float | None = None,
    n_threads: int = 0,
) -> Approximation:
    """Return all answers by an oracle; warn if they may be far off.

    Parameters
    ----------
    exact : ExactAnswers
        The model.
    evidence : mapping, optional
    oracle : {"exact", "region_graph", "sampling", "auto"}
        "auto" is exact where that fits.
    clique : tuple of str, optional
        Attributes whose joint probabilities are wanted too.
    n_draws, rng, max_bytes, n_threads
        See `approximated`.

    Raises
    ------
    ImpossibleEvidenceError
        If the evidence has probability zero.
    ModelTooLargeError
        If the tables of the model themselves do not fit.
    """
    check_choice("oracle", oracle, get_args(Oracle))
    if oracle == "exact":
        return _exact(exact, evidence, clique, max_bytes, n_threads)
    if oracle == "auto":
        with suppress(ModelTooLargeError):
            return _exact(exact, evidence, clique, max_bytes, n_threads)
    _, rest = exact.rest(evidence)
    with named(evidence):
        check_possible(rest.constant, None)
        if not rest.potentials.domain:
            return _exact(exact, evidence, clique, max_bytes, n_threads)
        potentials = with_likelihoods(rest.potentials, rest.evidence)
        free = None if clique is None else tuple(a for a in clique if a not in rest.codes)
        options: dict[str, Any] = {"n_draws": n_draws, "rng": rng, "max_bytes": max_bytes, "n_threads": n_threads}
        result = approximated(potentials, oracle, [free] if free else [], **options)
    if not result.converged:
        warn_caller(_doubt(result.draws, result.oracle), ApproximationWarning)
    codes, domain = rest.codes, exact.domain
    tables = with_known(domain, {a: result.project((a,)) for a in potentials.domain}, codes)
    low, high = result.draws.interval
    return Approximation(
        result.oracle,
        {a: Factor.over(single, tables[a]) for a, single in zip(domain, domain.singles(), strict=True)},
        result.log_z + rest.constant,
        result.draws.log_bound + rest.constant,
        (low + rest.constant, high + rest.constant),
        result.draws.effective_size,
        result.converged,
        result.regions,
        None if clique is None or free is None else joint_of(exact, result, clique, free, codes),
    )


def _exact(
    exact: ExactAnswers, evidence: Evidence | None, clique: Clique | None, max_bytes: float | None, n_threads: int
) -> Approximation:
    tables = exact.marginals(evidence, n_threads=n_threads)
    domain, log_z = exact.domain, exact.log_partition(evidence)
    marginals = {a: Factor.over(single, tables[a]) for a, single in zip(domain, domain.singles(), strict=True)}
    targets = None
    if clique is not None:
        targets = variable_elimination(exact.potentials, clique, 1.0, evidence, max_bytes=max_bytes)
    return Approximation("exact", marginals, log_z, log_z, (log_z, log_z), math.inf, True, "", targets)


def joint_of(
    exact: ExactAnswers, result: Approximated, clique: Clique, free: Clique, codes: Mapping[str, int]
) -> Factor:
    """Return the joint probabilities of a clique, some of whose attributes are known."""
    inner = result.potentials.domain.canonical(free)
    table = Factor.over(exact.domain.project(inner), result.project(inner) if inner else np.ones(1)).transpose(free)
    whole = np.zeros(exact.domain.sizes(clique))
    whole[tuple(codes[a] if a in codes else slice(None) for a in clique)] = table.values
    return Factor(exact.domain.project(clique), whole)


def with_likelihoods(potentials: CliqueVector, likelihoods: Mapping[str, Any]) -> CliqueVector:
    """Return potentials with the likelihoods of single attributes as further tables."""
    cliques: Sequence[Clique] = (*potentials.cliques, *((a,) for a in likelihoods))
    values: list[NDArray[np.float64]] = [potentials.values, *(given.logs for given in likelihoods.values())]
    return CliqueVector(potentials.domain, cliques, np.concatenate(values))


def _doubt(draws: Draws, oracle: str) -> str:
    low, high = draws.interval
    worth = f"{len(draws.log_weights)} draws are worth {draws.effective_size:.3g}"
    known = f"log Z is known within {high - low:.3g}, and {worth}"
    if oracle == "sampling":
        return f"the draws may be far from the model: {known}"
    return f"no region graph that was tried agrees with independent draws, so the answer may be far off: {known}"
