"""Errors of counts: the larger of what made-up tables show, and of how far drawn true tables are from the answers."""

from __future__ import annotations

import copy
import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pypgm.factor import Factor
from pypgm.graphs.evidence import log_likelihoods
from pypgm.models.expected_error import SquaredErrors, expected_errors
from pypgm.student import upper_end

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pypgm.domain import Clique
    from pypgm.intervals.known import Known
    from pypgm.models.estimated_again import Simulation


def errors_of_counts(known: Known, asked: Simulation) -> list[Factor]:
    """Return a table of expected errors for each clique; see `Release.expected_error`.

    Raises
    ------
    TimeoutError
        If there is no time for the drawn tables and two made-up ones.
    """
    of_truths = errors_by_truths(known, asked)
    of_worlds = expected_errors(asked)
    return [Factor(w.domain, np.maximum(w.datavector(), t)) for w, t in zip(of_worlds, of_truths, strict=True)]


def errors_by_truths(known: Known, asked: Simulation) -> list[NDArray[np.float64]]:
    """Return how far the answers of each clique are from drawn true tables."""
    return [_by_truths(known, asked, c, t) for c, t in zip(asked.cliques, asked.answers(asked.model), strict=True)]


def _by_truths(known: Known, asked: Simulation, clique: Clique, answers: Factor) -> NDArray[np.float64]:
    own, done = SquaredErrors(answers.datavector().size), 0
    for true in _tables(known, asked, clique):
        if asked.clock.tick(partial("drawn tables of {}".format, ", ".join(clique))):
            told = "drawn tables and two estimates of made-up records"
            raise TimeoutError(f"{told} take longer than time_limit={asked.clock.time_limit:g}")
        own.add(answers.datavector(), true)
        done += 1
    if not done:  # no drawn table has records with the evidence
        return np.full(answers.datavector().size, np.inf)
    return upper_end(done) / upper_end(math.inf) * np.sqrt(own.squared(answers.datavector(), done))


def _tables(known: Known, asked: Simulation, clique: Clique) -> Iterator[NDArray[np.float64]]:
    """Yield drawn true tables of a clique: counts, given evidence shares of what agrees with it."""
    domain, pool = asked.model.domain, known.pool
    likelihoods = log_likelihoods(domain, asked.evidence)
    read = dict.fromkeys([*clique, *(domain.attributes[i] for i, _ in likelihoods)])
    truths = known.truths(read, asked.draws, asked.clock)
    rng = copy.deepcopy(asked.rng)  # made-up tables stay as they are
    codes = [np.asarray(pool.columns[a])[truths.first].astype(np.intp) for a in clique]
    cell = np.zeros(truths.first.size, dtype=np.intp)
    for own, size in zip(codes, domain.sizes(clique), strict=True):
        cell = cell * size + own
    weights = np.full(cell.size, known.model.total / known.rows)
    for i, logs in likelihoods:
        weights *= np.exp(logs - np.max(logs))[np.asarray(pool.columns[domain.attributes[i]])[truths.first]]
    for _ in range(asked.draws):
        table = np.asarray(np.bincount(cell, weights * truths.drawn(rng), domain.size(clique)), dtype=float)
        if not likelihoods:
            yield table
        elif table.sum() > 0:
            yield table / table.sum()
