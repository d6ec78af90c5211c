"""Records drawn from a junction tree by randomised rounding."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm import _core
from pypgm.clock import Clock
from pypgm.domain import Clique, Domain
from pypgm.numeric import as_generator, checked_integer

if TYPE_CHECKING:
    from pypgm.factor import Factor
    from pypgm.graphs.junction_tree import JunctionTree

__all__ = ["Step", "draw_records", "steps_along"]


@dataclass(frozen=True, slots=True, eq=False)
class Step:
    """One clique of a rooted junction forest: what is drawn next, and given what.

    Attributes
    ----------
    clique : tuple of str
        Attributes in the domain's order.
    separator : tuple of str
        The attributes of the clique that earlier steps have drawn; empty for a root.
    table : ndarray of float64, shape (cells of the clique,)
        Belief over the clique, C order: non-negative, any positive sum. Zeros are structural.
    """

    clique: Clique
    separator: Clique
    table: ArrayLike


def steps_along(tree: JunctionTree, tables: Sequence[Factor]) -> list[Step]:
    """Return the steps through a junction tree whose cliques have some tables."""
    return [Step(n.clique, n.separator, t.datavector()) for n, t in zip(tree.nodes, tables, strict=True)]


def draw_records(
    domain: Domain,
    steps: Sequence[Step],
    rows: int,
    rng: np.random.Generator | int | None = None,
    *,
    clock: Clock | None = None,
) -> dict[str, NDArray[np.signedinteger]]:
    r"""Draw records whose marginals are as close to a model's as integers can be.

    The model is the product over steps of table(clique) / table(separator). Attributes are drawn step by step: the
    table over separator and new attributes, scaled to `rows`, is rounded at random to integers that keep its margins,
    and the new values are dealt in random order to the records that share a separator value. Expected counts are the
    model's to a fraction of a record. New attributes are independent of all others given the separator, as the model
    says.

    Where all cliques are single attributes or pairs, every count over a clique and every one-way count is less than 2
    from the model's, scaled to `rows`. In larger cliques every count over a clique is less than 2 from
    :math:`n_s\, p(\text{new} \mid s)`, with :math:`n_s` the records that have the separator value :math:`s`.
    Structural zeros stay zero, whatever becomes of the one-way counts.

    Parameters
    ----------
    domain : Domain
        The attributes of the records.
    steps : sequence of Step
        Cliques in an order in which each separator is drawn before it is needed, such as the preorder of a rooted
        junction forest. Every attribute of the domain is in one of them. Tables of neighbouring cliques should agree
        on their separator.
    rows : int
        Number of records, at least 0.
    rng : Generator, int or None, optional
        Source of the one 64-bit seed on which, with the steps, the records depend.
    clock : Clock, optional
        Shows the steps; records are never half drawn, so that they take the time they take.

    Returns
    -------
    dict of str to ndarray of int8, int16 or int32, shape (rows,)
        Codes of each attribute, in the domain's order; the smallest type that holds them.

    Raises
    ------
    ValueError
        If a clique is not in the domain's order or a separator not a part of its clique; if an attribute is drawn
        twice, used before it is drawn or never drawn; if a table has the wrong length, a negative, infinite or NaN
        entry or no positive sum, or gives probability 0 to a separator value that an earlier step has drawn; if
        `rows` is negative, or rows or the cells of a table exceed 2,147,483,647.
    TypeError
        If `rows` is not an integer.

    References
    ----------
    L. H. Cox, A constructive procedure for unbiased controlled rounding, J. Amer. Statist. Assoc. 82 (1987).

    Examples
    --------
    >>> domain = Domain({"a": 2, "b": 2})
    >>> records = draw_records(domain, [Step(("a", "b"), (), [0.1, 0.2, 0.3, 0.4])], 1000, rng=0)
    >>> np.bincount(2 * records["a"] + records["b"]).tolist()
    [100, 200, 300, 400]
    """
    n_rows = checked_integer("rows", rows)
    _check_order(domain, steps)
    seed = int(as_generator(rng).integers(2**64, dtype=np.uint64))
    sampler = _core.RecordSampler(n_rows, len(domain), seed)
    watch = clock or Clock()
    for i, (step, margin) in enumerate(zip(steps, _margins(domain, steps), strict=True)):
        watch.tick(partial("{}/{} cliques of records".format, i, len(steps)))
        table = _checked_table(domain, step)
        if step.separator or margin == step.clique:
            _draw(sampler, domain, step, table, margin)
        else:
            # The rest first, so that its counts are next to their expectations as well.
            rest = tuple(a for a in step.clique if a not in margin)
            kept = [a in rest for a in step.clique]
            small = _core.reduce_sum(table, list(domain.sizes(step.clique)), kept, 1)
            _draw(sampler, domain, Step(rest, (), small), small, rest)
            _draw(sampler, domain, Step(step.clique, rest, table), table, margin)
    return {
        name: sampler.take_column(i).astype(np.min_scalar_type(-size))
        for i, (name, size) in enumerate(zip(domain.attributes, domain.shape, strict=True))
    }


def _draw(sampler: _core.RecordSampler, domain: Domain, step: Step, table: NDArray[np.float64], margin: Clique) -> None:
    clique, separator = step.clique, step.separator
    if len(separator) == len(clique):
        return
    given = [a in separator for a in clique]
    kept = [a in margin for a in clique]
    try:
        sampler.draw(table, domain.indices(clique), domain.sizes(clique), given, kept)
    except ValueError as error:
        raise ValueError(f"clique {clique} with separator {separator}: {error}") from None


def _check_order(domain: Domain, steps: Sequence[Step]) -> None:
    """Raise unless each attribute is drawn once, after what its step is conditioned on."""
    drawn: set[str] = set()
    for step in steps:
        if domain.canonical(step.clique) != step.clique:
            raise ValueError(f"clique {step.clique} must stand in the domain's order {domain.canonical(step.clique)}")
        for name in step.separator:
            if name not in step.clique:
                raise ValueError(f"separator attribute {name!r} must belong to its clique {step.clique}")
            if name not in drawn:
                raise ValueError(f"separator attribute {name!r} of clique {step.clique} is drawn by no earlier step")
        for name in step.clique:
            if name not in step.separator and name in drawn:
                raise ValueError(f"attribute {name!r} of clique {step.clique} is drawn already but not in separator")
        drawn.update(step.clique)
    for name in domain.attributes:
        if name not in drawn:
            raise ValueError(f"attribute {name!r} must be in the clique of a step, but is in none")


def _margins(domain: Domain, steps: Sequence[Step]) -> list[Clique]:
    """Choose for each step the margin whose counts are kept close to their expectation.

    It is the largest separator that becomes complete with the step, since the counts of a separator are what the next
    step starts from. Without one it is the new attributes, and in a root the largest attribute alone.
    """
    position: dict[str, int] = {}
    largest: dict[int, tuple[int, Clique]] = {}
    for i, step in enumerate(steps):
        if 0 < len(step.separator) < len(step.clique):
            owner = max(position[a] for a in step.separator)
            cells = domain.size(step.separator)
            inside = all(a in steps[owner].clique for a in step.separator)
            if inside and cells > largest.get(owner, (0,))[0]:
                largest[owner] = (cells, step.separator)
        for name in step.clique:
            position.setdefault(name, i)
    margins = []
    for i, step in enumerate(steps):
        fresh = tuple(a for a in step.clique if a not in step.separator)
        if i in largest:
            margins.append(largest[i][1])
        elif step.separator:
            margins.append(fresh)
        else:
            margins.append(tuple(sorted(fresh, key=domain.sizes, reverse=True)[:1]))
    return margins


def _checked_table(domain: Domain, step: Step) -> NDArray[np.float64]:
    table = np.ascontiguousarray(step.table, dtype=np.float64).reshape(-1)
    cells = domain.size(step.clique)
    if table.size != cells:
        raise ValueError(f"the table of clique {step.clique} needs {cells} entries, got {table.size}")
    with np.errstate(over="ignore"):
        total = float(table.sum())
    if not (np.isfinite(total) and total > 0 and table.min() >= 0):
        raise ValueError(
            f"the table of clique {step.clique} needs finite entries >= 0 with a positive, finite sum; "
            f"got the least entry {table.min()} and the sum {total}"
        )
    return table
