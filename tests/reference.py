"""Slow, obvious NumPy answers that fast code is compared with."""

from __future__ import annotations

import itertools
from functools import reduce

import numpy as np


def log_joint(vector, dtype=float):
    """Return the sum of all potentials as one table over the whole domain."""
    domain = vector.domain
    total = np.zeros(domain.shape, dtype)
    for index, clique in enumerate(vector.cliques):
        shape = [domain.size(a) if a in clique else 1 for a in domain.attributes]
        total = total + vector.table(index).reshape(shape)
    return total


def with_evidence(domain, table, likelihoods):
    """Add log-likelihoods, a dict of attribute to a vector of them, to a table over the whole domain."""
    for attribute, likelihood in likelihoods.items():
        shape = [domain.size(a) if a == attribute else 1 for a in domain.attributes]
        with np.errstate(divide="ignore"):
            table = table + np.log(np.asarray(likelihood, dtype=float)).reshape(shape)
    return table


def log_sum_exp(table):
    top = np.max(table)
    return top if np.isinf(top) else top + np.log(np.sum(np.exp(table - top)))


def joint(table, total=1.0):
    """Return the probabilities (or counts) of a table of logarithms."""
    return total * np.exp(table - log_sum_exp(table))


def project(domain, table, clique):
    """Sum a table over the whole domain onto a clique, axes in the order asked."""
    letters = {a: i for i, a in enumerate(domain.attributes)}
    return np.einsum(table, list(range(len(domain))), [letters[a] for a in clique])


def onto_simplex(point, total=1.0):
    """Return the nearest non-negative vector of a given sum, in the Euclidean norm."""
    point = np.asarray(point, dtype=float).ravel()
    descending = np.sort(point)[::-1]
    thresholds = (np.cumsum(descending) - total) / np.arange(1, point.size + 1)
    last = np.nonzero(descending > thresholds)[0][-1]
    return np.maximum(point - thresholds[last], 0.0)


def fitted(domain, marginals, total, sweeps=500):
    """Return the table of largest entropy with given marginals (clique -> table), by iterative proportional fitting."""
    table = np.full(domain.shape, total / domain.size())
    for _ in range(sweeps):
        for clique, target in marginals.items():
            current = project(domain, table, domain.canonical(clique))
            wanted = np.einsum(
                np.asarray(target), [domain.index(a) for a in clique], sorted(domain.index(a) for a in clique)
            )
            shape = [domain.size(a) if a in clique else 1 for a in domain.attributes]
            table = table * np.divide(wanted, current, out=np.zeros_like(current), where=current > 0).reshape(shape)
    return table


def query_matrix(domain, measurement):
    """Return the dense matrix that maps the whole joint table to a measurement's answers."""
    query = measurement.query
    cells = domain.size(measurement.clique)
    own_matrix = np.eye(cells) if query is None else np.stack([query.matvec(unit) for unit in np.eye(cells)], axis=1)
    shape = domain.sizes(measurement.clique)
    positions = [domain.index(a) for a in measurement.clique]
    matrix = np.zeros((measurement.values.size, domain.size()))
    for column, cell in enumerate(itertools.product(*map(range, domain.shape))):
        codes = [cell[p] for p in positions]
        matrix[:, column] = own_matrix[:, np.ravel_multi_index(codes, shape) if codes else 0]
    return matrix


def loss(measurements, matrices, table):
    """Return half the weighted sum of squared differences of a joint table of counts."""
    return sum(
        0.5 * np.sum(((q @ table.ravel() - m.values) / m.stddev) ** 2)
        for m, q in zip(measurements, matrices, strict=True)
    )


def least_loss(domain, measurements, total, steps=20000):
    """Return the least loss over all distributions, by accelerated projected gradients on the joint table."""
    spreads = [np.broadcast_to(m.stddev, m.values.shape) for m in measurements]
    stacked = np.vstack([query_matrix(domain, m) / s[:, None] for m, s in zip(measurements, spreads, strict=True)])
    answers = np.concatenate([m.values / s for m, s in zip(measurements, spreads, strict=True)])
    smoothness = np.linalg.norm(stacked, 2) ** 2
    here = ahead = np.full(domain.size(), total / domain.size())
    momentum = 1.0
    for _ in range(steps):
        there = onto_simplex(ahead - stacked.T @ (stacked @ ahead - answers) / smoothness, total)
        faster = (1 + np.sqrt(1 + 4 * momentum**2)) / 2
        ahead = there + (momentum - 1) / faster * (there - here)
        here, momentum = there, faster
    return 0.5 * np.sum((stacked @ here - answers) ** 2)


def total_by_least_squares(matrix, answers, variances):
    """Return the best linear unbiased estimate of the sum of all cells, and its variance, by dense algebra."""
    inverse = np.diag(1.0 / variances)
    combination = inverse @ matrix @ np.linalg.pinv(matrix.T @ inverse @ matrix) @ np.ones(matrix.shape[1])
    assert np.allclose(matrix.T @ combination, 1.0, atol=1e-8)
    return combination @ answers, combination @ (variances * combination)


def forward(initial, transition, likelihoods):
    """Return log P(observations) of a hidden Markov model, scaled at each step."""
    state = np.log(initial)
    for step, likelihood in enumerate(likelihoods):
        if step:
            state = reduce(np.logaddexp, (state[i] + np.log(transition[i]) for i in range(len(state))))
        state = state + np.log(likelihood)
    return log_sum_exp(state)
