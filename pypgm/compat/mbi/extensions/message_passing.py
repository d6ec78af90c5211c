"""Exact inference with constraints, and tables between a fine attribute and a coarse one."""

from __future__ import annotations

from typing import Any

import numpy as np

from pypgm.compat.mbi import marginal_oracles
from pypgm.compat.mbi.constraint import Constraint
from pypgm.compat.mbi.domain import Domain
from pypgm.compat.mbi.factor import Factor

default_oracle = marginal_oracles.default_oracle
implicit = marginal_oracles.message_passing_implicit
shafer_shenoy = marginal_oracles.message_passing_shafer_shenoy


def DeterministicConstraint(fine: Any, coarse: Any, mapping: Any) -> Constraint:  # noqa: N802 - a class of mbi's
    """Return the constraint that one attribute is a function of another."""
    codes = np.asarray(mapping)
    return Constraint(Domain([fine, coarse], [codes.size, int(codes.max()) + 1]), mapping=codes)


def coarsen(factor: Factor, constraint: Constraint) -> Factor:
    """Return a table of logarithms over the coarse attribute: summed over its fine values."""
    top = factor.max()
    return project_to_coarse((factor - top).exp(), constraint).log() + top


def project_to_coarse(factor: Factor, constraint: Constraint) -> Factor:
    """Return a table of probabilities over the coarse attribute: summed over its fine values."""
    fine, coarse = constraint.domain.attributes
    groups = Factor(constraint.domain, np.isfinite(constraint.potential.values))
    names = [coarse if a == fine else a for a in factor.domain]
    return (factor * groups).project(names)


def refine(factor: Factor, constraint: Constraint) -> Factor:
    """Return a table over the fine attribute: each value has the entry of its coarse value."""
    fine, coarse = constraint.domain.attributes
    values = np.take(factor.values, constraint.mapping, axis=factor.domain.axes(coarse)[0])
    sizes: dict[Any, int] = {fine if a == coarse else a: n for a, n in factor.domain.config.items()}
    return Factor(Domain(sizes, values.shape), values)
