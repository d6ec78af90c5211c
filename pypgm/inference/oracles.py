"""Answers by any oracle, exact or approximate, given evidence."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field, replace
from functools import cached_property
from typing import Any, Literal, get_args

import numpy as np
from numpy.typing import NDArray

from pypgm._base.memory import check_fits
from pypgm._base.numeric import as_generator, check_choice
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Clique, Domain, Label
from pypgm.errors import ApproximationWarning, ImpossibleEvidenceError, ModelTooLargeError, warn_caller
from pypgm.factor import Factor
from pypgm.graphs.evidence import Evidence, LastEvidence
from pypgm.graphs.junction_tree import JunctionTree, check_possible
from pypgm.inference._variable_elimination import variable_elimination
from pypgm.inference.approximate import FEWEST, N_DRAWS, Approximated, approximated, best_found, drawn
from pypgm.inference.conditioned import ExactAnswers, Rest, named
from pypgm.inference.mini_buckets import min_fill_order

Oracle = Literal["exact", "region_graph", "sampling", "auto"]
_CODE_BYTES = 12  # of an attribute of a record: a code, and what it is drawn by
_MISSED = 0.05  # probability that an interval misses log Z


@dataclass(frozen=True, eq=False)
class Approximation:
    """Answers of a model given evidence, with what is known of their error.

    Attributes
    ----------
    oracle : {"exact", "region_graph", "sampling"}
        What the answers come from. By "auto" the parts of a model that nothing connects are answered one by one; this
        is that of the part which is known least.
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

    def __repr__(self) -> str:
        low, high = self.log_z_interval
        known = f"{self.effective_size:.3g} effective draws, converged={self.converged}"
        log_z = f"log_z {self.log_z:.6g}, 95 % in [{low:.6g}, {high:.6g}]"
        return f"Approximation({self.oracle}: {len(self.marginals)} marginals, {log_z}, {known})"

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

    def log_z(self, oracle: Oracle, evidence: Evidence | None) -> float:
        """Return log Z by an oracle; -inf if the evidence has probability zero."""
        try:
            return self.by(oracle, evidence).log_z
        except ImpossibleEvidenceError:
            return -math.inf

    def records(
        self, rows: int, rng: np.random.Generator, evidence: Evidence, oracle: Literal["exact", "sampling", "auto"]
    ) -> dict[str, NDArray[np.integer]]:
        """Return codes of records given evidence: independent ones or, where no junction tree fits, by weights."""
        check_choice("oracle", oracle, ("exact", "sampling", "auto"))
        n = len(self.domain)
        check_fits(_CODE_BYTES * rows * n, None, f"{rows} records of {n} attributes", "ask for fewer")
        if oracle == "exact":
            return self.draw(rows, rng, evidence)
        if oracle == "auto":
            with suppress(ModelTooLargeError):
                return self.draw(rows, rng, evidence)
        with named(evidence):
            rest, parts = self.parts(evidence, connected=oracle == "auto")
            check_possible(rest.constant, None)
            columns = {a: np.full(rows, c, np.min_scalar_type(c)) for a, c in rest.codes.items()}
            for part, tree in parts:
                if tree is None:
                    columns |= _weighted_records(part, rows, rng)
                else:
                    columns |= tree.draw(part.potentials, rows, rng, part.evidence)
        return {a: columns[a] for a in self.domain}

    def map_by(self, oracle: Oracle, evidence: Evidence | None) -> tuple[dict[str, Label], float]:
        """Return the most probable values, or the best that mini-buckets find, with a warning and the bound."""
        check_choice("oracle", oracle, ("exact", "auto"))
        try:
            return self.map(evidence)
        except ModelTooLargeError:
            if oracle == "exact":
                raise
        with named(evidence):
            rest, parts = self.parts(evidence)
            check_possible(rest.constant, None)
            log_weight = most = rest.constant
            labels = self.domain.project(tuple(rest.codes)).labelled(rest.codes.values())
            for part, tree in parts:
                values, weight, bound = _best_values(part, tree)
                labels, log_weight, most = {**labels, **values}, log_weight + weight, most + bound
        if most > log_weight + 1e-9 * (1 + abs(most)):
            text = f"the values found have log-weight {log_weight:.6g}, and none has more than {most:.6g}"
            warn_caller(f"the values may not be the most probable ones: {text}", ApproximationWarning)
        return {a: labels[a] for a in self.domain}, log_weight


def _weighted_records(part: Rest, rows: int, rng: np.random.Generator) -> dict[str, NDArray[np.intp]]:
    """Return codes of weighted draws, drawn again by their weights."""
    potentials = with_likelihoods(part)
    order = min_fill_order(len(potentials.domain), potentials.scopes)
    draws = drawn(potentials, order, max(rows, N_DRAWS), rng)
    check_possible(draws.log_z, None)
    if draws.effective_size < FEWEST:
        _doubt("sampling", draws.interval(), draws.effective_size, len(draws.log_weights))
    picked = draws.codes[:, rng.choice(draws.codes.shape[1], rows, p=draws.weights)]
    return dict(zip(potentials.domain, picked, strict=True))


def _best_values(part: Rest, tree: JunctionTree | None) -> tuple[dict[str, Label], float, float]:
    """Return values of large weight, their log-weight and a bound of all log-weights."""
    if tree is not None:
        values, log_weight = tree.map(part.potentials, part.evidence)
        return values, log_weight, log_weight
    codes, log_weight, bound = best_found(with_likelihoods(part))
    check_possible(log_weight, None)
    return part.potentials.domain.labelled(codes.tolist()), log_weight, bound


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
        "auto" is exact in each connected part of the model that fits.
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
    generator = as_generator(rng)
    with named(evidence):
        rest, parts = exact.parts(evidence, max_bytes, connected=oracle == "auto")
        check_possible(rest.constant, None)
        missed = _MISSED / max(1, sum(tree is None for _, tree in parts))
        answers = []
        for part, tree in parts:
            inner = tuple(a for a in clique or () if a in part.potentials.domain) or None
            if tree is not None:
                with suppress(ModelTooLargeError):  # of joint probabilities
                    whole = ExactAnswers(part.potentials, tree)
                    answers.append(_exact(whole, part.evidence, inner, max_bytes, n_threads))
                    continue
            targets = [] if inner is None else [inner]
            options: dict[str, Any] = {"n_draws": n_draws, "max_bytes": max_bytes, "n_threads": n_threads}
            result = approximated(with_likelihoods(part), oracle, targets, rng=generator, **options)
            answers.append(_of(result, inner, missed))
    together = _together(exact.domain, rest, clique, answers)
    if not together.converged:
        _doubt(together.oracle, together.log_z_interval, together.effective_size, n_draws)
    return together


def _of(result: Approximated, clique: Clique | None, missed: float) -> Approximation:
    """Return the approximation of a part, whose interval misses log Z with at most this probability."""
    domain, draws = result.potentials.domain, result.draws
    inner = None if clique is None else domain.canonical(clique)
    return Approximation(
        result.oracle,
        {a: Factor.over(single, result.project((a,))) for a, single in zip(domain, domain.singles(), strict=True)},
        result.log_z,
        draws.log_bound,
        draws.interval(missed),
        draws.effective_size,
        result.converged,
        result.regions,
        None if inner is None else Factor.over(domain.project(inner), result.project(inner)),
    )


def _together(domain: Domain, rest: Rest, clique: Clique | None, parts: Sequence[Approximation]) -> Approximation:
    """Return the answers of a model whose parts are independent, given what is known for certain."""
    tables = {a: Factor.over(domain.project(a), np.eye(1, domain.size(a), c)[0]) for a, c in rest.codes.items()}
    joint = None
    if clique is not None:
        joint = math.prod([part._joint for part in parts if part._joint], start=Factor(domain.project(()), 1.0))
        joint = math.prod([tables[a] for a in clique if a in tables], start=joint).transpose(clique)
    for part in parts:
        tables |= part.marginals
    least = min(parts, key=lambda part: part.effective_size, default=_EXACT)
    return replace(
        least,
        marginals={a: tables[a] for a in domain},
        log_z=rest.constant + sum(part.log_z for part in parts),
        log_z_bound=rest.constant + sum(part.log_z_bound for part in parts),
        log_z_interval=(
            rest.constant + sum(part.log_z_interval[0] for part in parts),
            rest.constant + sum(part.log_z_interval[1] for part in parts),
        ),
        converged=all(part.converged for part in parts),
        _joint=joint,
    )


def _exact(
    exact: ExactAnswers, evidence: Evidence | None, clique: Clique | None, max_bytes: float | None, n_threads: int
) -> Approximation:
    if max_bytes is not None:
        exact.check_fits(evidence, max_bytes)
    tables = exact.marginals(evidence, n_threads=n_threads)
    domain, log_z = exact.domain, exact.log_partition(evidence)
    marginals = {a: Factor.over(single, tables[a]) for a, single in zip(domain, domain.singles(), strict=True)}
    targets = None
    if clique is not None:
        targets = variable_elimination(exact.potentials, clique, 1.0, evidence, max_bytes=max_bytes)
    return Approximation("exact", marginals, log_z, log_z, (log_z, log_z), math.inf, True, "", targets)


_EXACT = Approximation("exact", {}, 0.0, 0.0, (0.0, 0.0), math.inf, converged=True)


def with_likelihoods(part: Rest) -> CliqueVector:
    """Return a part's potentials with the likelihoods of single attributes as further tables."""
    potentials, likelihoods = part.potentials, part.evidence
    cliques: Sequence[Clique] = (*potentials.cliques, *((a,) for a in likelihoods))
    values: list[NDArray[np.float64]] = [potentials.values, *(given.logs for given in likelihoods.values())]
    return CliqueVector(potentials.domain, cliques, np.concatenate(values))


def _doubt(oracle: str, interval: tuple[float, float], worth: float, n_draws: int) -> None:
    """Warn that an answer may be far off, and say what is known."""
    known = f"log Z is known within {interval[1] - interval[0]:.3g}, and {n_draws} draws are worth {worth:.3g}"
    if oracle == "sampling":
        text = f"the draws may be far from the model: {known}"
    else:
        text = f"no region graph that was tried agrees with independent draws, so the answer may be far off: {known}"
    warn_caller(text, ApproximationWarning)
