"""Exact inference with constraints, and tables between a fine attribute and a coarse one."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.compat.mbi.constraint import Constraint
from pypgm.compat.mbi.domain import Domain
from pypgm.compat.mbi.factor import Factor, log_sum
from pypgm.compat.mbi.marginal_oracles import message_passing_implicit as implicit
from pypgm.compat.mbi.marginal_oracles import message_passing_shafer_shenoy as shafer_shenoy

__all__ = ["coarsen", "implicit", "project_to_coarse", "refine", "shafer_shenoy"]


def coarsen(factor: Factor, constraint: Constraint) -> Factor:
    """Return a table of logarithms over the coarse attribute: summed over its fine values."""
    return _grouped(factor, constraint, lambda values: log_sum(values, (0,)), -np.inf)


def project_to_coarse(factor: Factor, constraint: Constraint) -> Factor:
    """Return a table of probabilities over the coarse attribute: summed over its fine values."""
    return _grouped(factor, constraint, lambda values: values.sum(axis=0), 0.0)


def refine(factor: Factor, constraint: Constraint) -> Factor:
    """Return a table over the fine attribute: each value has what its coarse one has."""
    fine, coarse = constraint.domain.attributes
    axis = factor.domain.attributes.index(coarse)
    values = np.take(factor.values, constraint.mapping, axis=axis)
    return Factor(_renamed(factor.domain, coarse, fine, constraint.domain[fine]), values)


def _grouped(
    factor: Factor, constraint: Constraint, how: Callable[[NDArray[np.float64]], NDArray[np.float64]], nothing: float
) -> Factor:
    fine, coarse = constraint.domain.attributes
    axis, size = factor.domain.attributes.index(fine), constraint.domain[coarse]
    first = np.moveaxis(factor.values, axis, 0)
    empty = np.full(first.shape[1:], nothing)
    groups = [first[constraint.mapping == code] for code in range(size)]
    grouped = np.stack([how(group) if len(group) else empty for group in groups])
    return Factor(_renamed(factor.domain, fine, coarse, size), np.moveaxis(grouped, 0, axis))


def _renamed(domain: Domain, old: Any, new: Any, size: int) -> Domain:
    return Domain.fromdict({new if a == old else a: size if a == old else n for a, n in domain.config.items()})
