"""Structural zeros and attributes that are functions of others, as constraints of an estimate."""

from __future__ import annotations

import copy
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.constraints import one_of
from pypgm._base.terminal import escaped
from pypgm.clique_vector import CliqueVector
from pypgm.data import Schema
from pypgm.domain import Clique, Domain, as_clique
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.graphs.evidence import code_of
from pypgm.inference.folding import Folding
from pypgm.queries.folded import folded

Masks = Sequence[tuple[Clique, "NDArray[np.bool_]"]]
"""Cliques in the domain's order, and whether each of their cells may hold records."""


class Constraint:
    """Public knowledge of impossible records: structural zeros, exact in the model and in its records.

    It must come from the meaning of the attributes, never from the records.

    Parameters
    ----------
    clique : str or sequence of str
        The attributes concerned; with `mapping` two, the fine one first.
    allowed : ndarray or nested lists of bool, shape of the clique's table, or sequence of cells
        The cells that may hold records: a mask, or cells as tuples of labels or codes (plain values where the clique is
        one attribute). Lists of truth values are cells where each attribute has truth values among its labels.
    forbidden : the same
        Instead of `allowed`: the cells that may not.
    mapping : array_like of int, shape (fine values,), or mapping
        Instead of both: the second attribute is a function of the first. Coarse codes in the order of the fine ones,
        or a dict of a coarse label or code for each fine one. The coarse attribute then costs nothing: an estimate
        runs without it, and no table over both is made unless it is requested.

    Raises
    ------
    ValueError
        If not exactly one of the three is given, or, once it meets a domain, it does not fit.

    Examples
    --------
    >>> import pypgm
    >>> domain = pypgm.Domain({"age": ["child", "adult"], "married": ["no", "yes"], "zip": 4, "state": ["A", "B"]})
    >>> single = Constraint(("age", "married"), forbidden=[("child", "yes")])
    >>> inside = Constraint(("zip", "state"), mapping=[0, 0, 1, 1])
    >>> pair = pypgm.LinearMeasurement([[9, 3], [20, 30]], ("age", "married"))
    >>> model = pypgm.estimate(
    ...     domain, [pair, pypgm.LinearMeasurement([31, 31], "state")], constraints=[single, inside]
    ... )
    >>> float(model.project(("age", "married")).values[0, 1])
    0.0
    >>> model.project(("state", "zip")).values.round(1)
    array([[15.5, 15.5,  0. ,  0. ],
           [ 0. ,  0. , 15.5, 15.5]])
    """

    __slots__ = ("_given", "clique", "kind")

    def __init__(
        self,
        clique: str | Iterable[str],
        *,
        allowed: NDArray[np.bool_] | Sequence[Any] | None = None,
        forbidden: NDArray[np.bool_] | Sequence[Any] | None = None,
        mapping: ArrayLike | Mapping[Any, Any] | None = None,
    ) -> None:
        options = {"allowed": allowed, "forbidden": forbidden, "mapping": mapping}
        self.clique = as_clique(clique)
        self.kind = one_of(f"the constraint on {self.clique}", **options)
        if self.kind == "mapping" and len(self.clique) != 2:
            raise ValueError(f"a mapping needs a clique of a fine and a coarse attribute, got {self.clique}")
        self._given: Any = copy.copy(options[self.kind])

    @classmethod
    def of_rules(cls, schema: Schema) -> tuple[Constraint, ...]:
        """Return the rules of a schema in which nothing is open."""
        return tuple(cls(rule.columns, forbidden=rule.mask(schema.columns)) for rule in schema.rules)

    def mask(self, domain: Domain) -> NDArray[np.bool_]:
        """Return whether each cell of the clique, as it is written, may hold records, shape (cells,)."""
        shape = domain.sizes(self.clique)
        truths = self._truths(domain)
        if truths is not None:
            if truths.shape != shape:
                raise ValueError(f"the mask of clique {self.clique} needs shape {shape}, got {truths.shape}")
            named: NDArray[np.bool_] = truths
        elif len(shape) > 1 and getattr(self._given, "shape", None) == shape:
            raise TypeError(f"the mask of clique {self.clique} needs truth values, got {self._given.dtype}")
        else:
            named = np.zeros(shape, dtype=bool)
            for cell in self._given:
                named[self._codes(domain, cell)] = True
        mask: NDArray[np.bool_] = named if self.kind == "allowed" else ~named
        return mask.reshape(-1)

    def codes(self, domain: Domain) -> NDArray[np.int64]:
        """Return the coarse code of each fine code of a mapping."""
        fine, coarse = self.clique
        rows, columns = domain.sizes(self.clique)
        if isinstance(self._given, Mapping):
            codes = np.full(rows, -1, dtype=np.int64)
            for value, image in self._given.items():
                codes[code_of(domain, fine, value)] = code_of(domain, coarse, image)
            if (codes < 0).any():
                missing = int((codes < 0).sum())
                raise ValueError(
                    f"the mapping needs a {coarse!r} for each of {rows} values of {fine!r}; {missing} have none"
                )
            return codes
        codes = np.asarray(self._given)
        if codes.dtype.kind not in "iu" or codes.shape != (rows,):
            came = f"{codes.dtype} of shape {codes.shape}"
            raise ValueError(f"the mapping of {fine!r} to {coarse!r} needs {rows} integer codes, got {came}")
        if codes.min() < 0 or codes.max() >= columns:
            came = f"{codes.min()} to {codes.max()}"
            raise ValueError(f"codes of {coarse!r} are 0 to {columns - 1}, got {came} for {fine!r}")
        return codes.astype(np.int64)

    def _truths(self, domain: Domain) -> NDArray[np.bool_] | None:
        """Return a copy of a mask, an array or nested lists of truth values; None where cells are given."""
        given = self._given
        if not isinstance(given, np.ndarray):
            first = given
            while isinstance(first, list) and first:
                first = first[0]
            named = all(any(isinstance(x, bool) for x in domain.labels.get(a, ())) for a in self.clique)
            if not isinstance(first, bool | np.bool_) or (named and len(self.clique) <= 2):
                return None
            try:
                given = np.array(given)
            except ValueError:  # rows of different lengths
                return None
        return given.copy() if given.dtype == bool else None

    def _codes(self, domain: Domain, cell: Any) -> tuple[int, ...]:  # noqa: ANN401 - labels or codes
        values = (cell,) if len(self.clique) == 1 and not isinstance(cell, tuple) else tuple(cell)
        if len(values) != len(self.clique):
            raise ValueError(f"a cell of clique {self.clique} needs {len(self.clique)} values, got {cell!r}")
        return tuple(code_of(domain, a, v) for a, v in zip(self.clique, values, strict=True))

    def __repr__(self) -> str:
        return f"Constraint({escaped(', '.join(self.clique))}: {self.kind})"


def as_constraints(given: object) -> tuple[Any, ...]:
    """Return the constraints of a sequence, none for None; ``TypeError`` for a single constraint."""
    if isinstance(given, Constraint) or not isinstance(given, Iterable | None):
        raise TypeError(f"constraints needs a sequence of pypgm.Constraint, got one: [{given!r}]")
    return () if given is None else tuple(given)


def fold(domain: Domain, constraints: Iterable[Constraint]) -> tuple[Folding, Masks]:
    """Return the attributes that follow from others, and the masks over the remaining ones.

    Raises
    ------
    ValueError
        If a constraint does not fit the domain, an attribute follows from two others, or an attribute follows from
        itself in a circle.
    TypeError
        If something is not a constraint.
    """
    constraints = as_constraints(constraints)
    functions: dict[str, tuple[str, NDArray[np.int64]]] = {}
    masks = []
    for c in constraints:
        if not isinstance(c, Constraint):
            raise TypeError(f"constraints must be pypgm.Constraint, got {type(c).__name__}")
        domain.indices(c.clique)
        if c.kind != "mapping":
            masks.append(c)
            continue
        fine, coarse = c.clique
        if coarse in functions:
            raise ValueError(
                f"{coarse!r} follows from {functions[coarse][0]!r} already; it cannot follow from {fine!r} too"
            )
        functions[coarse] = fine, c.codes(domain)
    sources = {coarse: _followed(coarse, functions) for coarse in functions}
    folding = Folding(domain, sources)
    return folding, [(folding.clique(c.clique), c.mask(domain)[folding.cells(c.clique)]) for c in masks]


def _followed(coarse: str, functions: Mapping[str, tuple[str, NDArray[np.int64]]]) -> tuple[str, NDArray[np.int64]]:
    """Follow a chain of functions to the attribute it begins with."""
    fine, codes = functions[coarse]
    for _ in functions:
        if fine not in functions:
            return fine, codes
        fine, before = functions[fine]
        codes = codes[before]
    raise ValueError(f"{coarse!r} follows from itself in a circle of mappings")


def with_zeros(potentials: CliqueVector, masks: Masks) -> CliqueVector:
    """Return potentials with -inf in the cells that may not hold records; each mask's clique has a table."""
    if not masks:
        return potentials
    zeros = potentials.like(potentials.values.copy())
    for clique, mask in masks:
        zeros[clique].datavector()[~mask] = -np.inf
    return zeros


def folded_measurement(folding: Folding, m: LinearMeasurement) -> LinearMeasurement:
    """Return a measurement rewritten for the attributes that inference runs on."""
    if not any(a in folding.sources for a in m.clique):
        return m
    m.checked(folding.domain)
    cells = folding.cells(m.clique)
    query = folded(m.linear_map, cells)
    return LinearMeasurement(m.values, folding.clique(m.clique), m.stddev, query, m.noise, not_private=m.not_private)
