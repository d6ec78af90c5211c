"""Answers on derived columns, exactly, from those on the columns that they follow from."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable
from typing import Any

import numpy as np

from pypgm.data.columns.derived_images import image_of, read_names
from pypgm.data.schema.schema import Schema
from pypgm.domain import Clique, Domain, as_clique, listed
from pypgm.errors import ImpossibleEvidenceError
from pypgm.factor import Factor
from pypgm.graphs.evidence import Evidence, log_likelihoods


def check_read(schema: Schema | None, names: Iterable[str], what: str) -> None:
    """Raise ``ValueError`` if a column is derived."""
    for name in names:
        if schema is not None and name in schema.made:
            parents = listed([repr(parent) for parent in read_names(schema, name)]) or "no other column"
            raise ValueError(f"column {name!r} follows from {parents}: {what} is known only for measured attributes")


def answered(schema: Schema | None, clique: str | Iterable[str], ask: Callable[[Clique], Factor]) -> Factor:
    """Return an answer on columns, some of them derived.

    Parameters
    ----------
    schema : Schema or None
    clique : str or sequence of str
        Attributes in the order of the axes.
    ask : callable
        Function that returns an additive answer on columns that are read, such as counts or probabilities.

    Raises
    ------
    ValueError
        If a column is derived from columns that the answer does not cover.
    """
    names, made = as_clique(clique), {} if schema is None else schema.made
    if schema is None or not any(name in made for name in names):
        return ask(names)
    parents = read_names(schema, names)
    known = ask(parents)
    domain = known.domain
    sizes, places = {a: domain.size(a) for a in parents}, np.indices([domain.size(a) for a in parents])
    labels = {a: domain.labels[a] for a in parents if a in domain.labels}
    axes = dict(zip(parents, places.reshape(len(parents), -1), strict=True))
    for name in [n for n in names if n in made]:
        sources, cells = image_of(schema, name)
        flat = np.ravel_multi_index([axes[a] for a in sources], [sizes[a] for a in sources])
        axes[name], sizes[name] = np.asarray(cells.codes)[flat], cells.column.size
        labels[name] = cells.column.labels or ()
    shape = [sizes[a] for a in names]
    flat = np.ravel_multi_index([axes[a] for a in names], shape)
    values = np.bincount(flat, np.asarray(known.values, dtype=np.float64).ravel(), math.prod(shape))
    return Factor(Domain(names, shape, {a: labels[a] for a in names if a in labels}), values)


def conditioned(
    schema: Schema | None,
    targets: str | Iterable[str],
    evidence: Evidence | None,
    query: Callable[[Clique, Evidence | None], Factor],
) -> Factor:
    """Return the probabilities of columns given others, where any of them may be derived.

    Raises
    ------
    ImpossibleEvidenceError
        If the evidence on derived columns has probability zero.
    ValueError
        As in `answered`.
    """
    names, made = as_clique(targets), {} if schema is None else schema.made
    if not any(name in made for name in (*names, *(evidence or ()))):
        return query(names, evidence)
    given: dict[str, Any] = dict(evidence or {})
    derived = {name: given.pop(name) for name in list(given) if name in made}
    joint = answered(
        schema, (*names, *(n for n in derived if n not in names)), lambda clique: query(clique, given or None)
    )
    values = np.array(joint.values)
    for axis, logs in log_likelihoods(joint.domain, derived):
        values *= np.exp(logs).reshape([-1 if i == axis else 1 for i in range(values.ndim)])
    if not values.sum() > 0:
        raise ImpossibleEvidenceError(f"evidence on {listed([*map(repr, derived)])} has probability zero")
    return Factor(joint.domain, values / values.sum()).project(names)
