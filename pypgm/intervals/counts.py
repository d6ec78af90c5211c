"""Errors of counts: the larger of those on made-up tables and the distance of drawn true tables from the answers."""

from __future__ import annotations

import copy
import math
from functools import partial
from typing import TYPE_CHECKING

import numpy as np

from pypgm._base.student import upper_end
from pypgm.factor import Factor
from pypgm.graphs.evidence import log_likelihoods
from pypgm.models.expected_error import SquaredErrors, expected_errors

if TYPE_CHECKING:
    from collections.abc import Iterator

    from numpy.typing import NDArray

    from pypgm.domain import Clique
    from pypgm.intervals.known import ReleaseErrors
    from pypgm.models.estimated_again import Simulation


def errors_of_counts(known: ReleaseErrors, simulation: Simulation) -> list[Factor]:
    """Return a table of expected errors for each clique; see `Release.expected_error`.

    Raises
    ------
    TimeoutError
        If there is no time for the drawn tables and two made-up ones.
    """
    of_truths = errors_by_truths(known, simulation)
    of_worlds = expected_errors(simulation)
    return [Factor(w.domain, np.maximum(w.datavector(), t)) for w, t in zip(of_worlds, of_truths, strict=True)]


def errors_by_truths(known: ReleaseErrors, simulation: Simulation) -> list[NDArray[np.float64]]:
    """Return the root mean square distance of the answers of each clique from drawn true tables."""
    return [
        _by_truths(known, simulation, c, t)
        for c, t in zip(simulation.cliques, simulation.answers(simulation.model), strict=True)
    ]


def _by_truths(known: ReleaseErrors, simulation: Simulation, clique: Clique, answers: Factor) -> NDArray[np.float64]:
    squares, done = SquaredErrors(answers.datavector().size), 0
    for true in _tables(known, simulation, clique):
        if simulation.clock.tick(partial("drawn tables of {}".format, ", ".join(clique))):
            steps = "drawn tables and two estimates of made-up records"
            raise TimeoutError(f"{steps} take longer than time_limit={simulation.clock.time_limit:g}")
        squares.add(answers.datavector(), true)
        done += 1
    if not done:  # no drawn table has records with the evidence
        return np.full(answers.datavector().size, np.inf)
    return upper_end(done) / upper_end(math.inf) * np.sqrt(squares.squared(answers.datavector(), done))


def _tables(known: ReleaseErrors, simulation: Simulation, clique: Clique) -> Iterator[NDArray[np.float64]]:
    """Yield drawn true tables of a clique: counts, or under evidence shares of the records that agree with it."""
    domain = simulation.model.domain
    likelihoods = log_likelihoods(domain, simulation.evidence)
    read = dict.fromkeys([*clique, *(domain.attributes[i] for i, _ in likelihoods)])
    truths = known.truths(read, simulation.draws, simulation.clock.n_threads)
    columns, rng = truths.weighted.columns, copy.deepcopy(simulation.rng)  # made-up tables stay as they are
    codes = [np.asarray(columns[a])[truths.first].astype(np.intp) for a in clique]
    cell = np.zeros(truths.first.size, dtype=np.intp)
    for column, size in zip(codes, domain.sizes(clique), strict=True):
        cell = cell * size + column
    weights = np.full(cell.size, known.model.total / known.rows)
    for i, logs in likelihoods:
        weights *= np.exp(logs - np.max(logs))[np.asarray(columns[domain.attributes[i]])[truths.first]]
    for number in range(simulation.draws):
        table = np.asarray(np.bincount(cell, weights * truths.drawn(number, rng), domain.size(clique)), dtype=float)
        if not likelihoods:
            yield table
        elif table.sum() > 0:
            yield table / table.sum()
