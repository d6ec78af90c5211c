"""Exact answers given evidence: on one junction tree where it fits, else on that of what the evidence leaves."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from functools import cached_property
from typing import Any, TypeVar

import numpy as np
from numpy.typing import NDArray

from pypgm._base.memory import check_fits, fits
from pypgm.clique_vector import CliqueVector
from pypgm.domain import Domain, Label
from pypgm.errors import ImpossibleEvidenceError, ModelTooLargeError
from pypgm.graphs.evidence import Evidence, LogLikelihood
from pypgm.graphs.junction_tree import JunctionTree, check_logarithms, check_possible
from pypgm.inference._variable_elimination import ALL, Given, sliced

_PLANS_KEPT = 64

_K = TypeVar("_K")
_V = TypeVar("_V")


def keep(plans: dict[_K, _V], key: _K, plan: _V) -> _V:
    """Keep a plan, in place of the oldest one if there are many, and return it."""
    if len(plans) >= _PLANS_KEPT:
        plans.pop(next(iter(plans)), None)
    plans[key] = plan
    return plan


@dataclass(frozen=True, eq=False)
class Rest:
    """A model less the attributes that evidence determines.

    Attributes
    ----------
    potentials : CliqueVector
        Natural logs over the attributes that are not known for certain.
    evidence : dict of str to LogLikelihood
        Evidence on these attributes, which the potentials do not hold.
    codes : dict of str to int
        The only possible codes of the other attributes.
    constant : float
        Natural log of the weight that depends on no unknown attribute.
    """

    potentials: CliqueVector
    evidence: Mapping[str, Any]
    codes: Mapping[str, int]
    constant: float


@dataclass(frozen=True, eq=False)
class Component:
    """Attributes that tables connect with each other, and with no others.

    Attributes
    ----------
    frame : CliqueVector
        Of their tables, the cliques.
    tables : sequence of int
        Positions of these tables among those of the model.
    tree : JunctionTree or None
        None if it is too large to plan.
    """

    frame: CliqueVector
    tables: Sequence[int]
    tree: JunctionTree | None

    def of(self, rest: Rest) -> Rest:
        """Return the component's part of the model."""
        values = [rest.potentials.table(i) for i in self.tables]
        evidence = {a: given for a, given in rest.evidence.items() if a in self.frame.domain}
        return Rest(self.frame.like(np.concatenate(values) if values else np.zeros(0)), evidence, {}, 0.0)

    def fits(self, max_bytes: float | None) -> bool:
        """Return whether the junction tree may be held."""
        return self.tree is not None and fits(self.tree.cost.bytes, max_bytes)


class Slices:
    """Tables of a model cut by known attributes: made once, used for all values of these attributes.

    Parameters
    ----------
    potentials : CliqueVector
        Natural logs, which do not change.
    given : Given
        Evidence of this pattern, on no clique.

    Examples
    --------
    >>> potentials = CliqueVector(Domain({"a": 2, "b": 2}), [("a", "b"), ("b",)], [0.0, 1.0, 2.0, 3.0, 4.0, 5.0])
    >>> given = Given(potentials.domain, (), {"b": 1})
    >>> rest = Slices(potentials, given).at(given)
    >>> rest.potentials["a"].values, rest.codes, rest.constant
    (array([1., 3.]), {'b': 1}, 5.0)
    """

    def __init__(self, potentials: CliqueVector, given: Given) -> None:
        check_logarithms(potentials)
        domain = self._whole = potentials.domain
        self.domain = domain.part([i for i in range(len(domain)) if i not in given.codes])
        tables = enumerate(potentials.scopes)
        parts = [sliced(domain.shape, scope, potentials.table(i), given.codes) for i, scope in tables]
        self._known = [(cells, axes) for left, cells, axes in parts if not left]
        self._parts = [(cells, axes) for left, cells, axes in parts if left]
        self._frame = CliqueVector(self.domain, [domain.names(left) for left, _, _ in parts if left])

    @cached_property
    def tree(self) -> JunctionTree:
        """The junction tree of the attributes that are not known."""
        return JunctionTree.of(self._frame)

    @cached_property
    def components(self) -> list[Component]:
        """The connected components of the attributes that are not known."""
        domain, components = self.domain, list[Component]()
        for attributes, tables in connected(len(domain), self._frame.scopes):
            part = domain.part(attributes)
            frame = CliqueVector(part, [self._frame.cliques[i] for i in tables])
            tree: JunctionTree | None = None
            with suppress(ModelTooLargeError):
                tree = JunctionTree(part, frame.cliques, max_bytes=np.inf)
            components.append(Component(frame, tables, tree))
        return components

    def at(self, given: Given) -> Rest:
        """Return the tables at known values."""
        codes, names = given.codes, self._whole.attributes
        values = [_cut(cells, axes, codes).reshape(-1) for cells, axes in self._parts]
        constant = float(given.weight[0]) + sum(float(_cut(cells, axes, codes).item()) for cells, axes in self._known)
        return Rest(
            self._frame.like(np.concatenate(values) if values else np.zeros(0)),
            {names[i]: LogLikelihood(logs) for i, logs in given.logs.items()},
            {names[i]: code for i, code in codes.items()},
            constant,
        )


def connected(n_attributes: int, scopes: Sequence[Sequence[int]]) -> list[tuple[list[int], list[int]]]:
    """Return the connected components of a model: their attributes and their tables, ascending.

    Examples
    --------
    >>> connected(4, [(0, 2), (3,), (2,)])
    [([0, 2], [0, 2]), ([1], []), ([3], [1])]
    """
    part = [[a] for a in range(n_attributes)]
    for scope in scopes:
        for a in scope[1:]:
            small, large = sorted((part[scope[0]], part[a]), key=len)
            if small is not large:
                large += small
                for b in small:
                    part[b] = large
    tables: dict[int, list[int]] = {id(attributes): [] for attributes in part}
    for i, scope in enumerate(scopes):
        tables[id(part[scope[0]])].append(i)
    return [(sorted(part[a]), tables[id(part[a])]) for a in range(n_attributes) if a == min(part[a])]


def _cut(cells: NDArray[np.float64], axes: list[int], codes: Mapping[int, int]) -> NDArray[np.float64]:
    return cells[tuple([ALL if a < 0 else codes[a] for a in axes])] if axes else cells


class ExactAnswers:
    """Exact answers of a model, given evidence.

    The junction tree of all attributes is compiled once. Where it does not fit, known values are taken out of the
    tables first, and there is a tree for each set of known attributes.

    Parameters
    ----------
    potentials : CliqueVector
        Natural logs, which do not change.
    tree : JunctionTree, optional
        Their junction tree, if there is one already.

    Examples
    --------
    >>> answers = ExactAnswers(CliqueVector(Domain({"a": 2, "b": 2}), [("a", "b")], np.log([1.0, 2.0, 3.0, 4.0])))
    >>> round(float(np.exp(answers.log_partition({"b": 1}))), 6), answers.marginals({"b": 1})["b"]
    (6.0, array([0., 1.]))
    """

    def __init__(self, potentials: CliqueVector, tree: JunctionTree | None = None) -> None:
        self.potentials = potentials
        self.domain: Domain = potentials.domain
        if tree is not None:
            self.tree = tree
        self._plans: dict[tuple[tuple[int, ...], tuple[int, ...]], Slices] = {}

    @cached_property
    def tree(self) -> JunctionTree:
        """The junction tree of all attributes."""
        return JunctionTree.of(self.potentials)

    @cached_property
    def fits(self) -> bool:
        """Whether the junction tree of all attributes fits."""
        try:
            return bool(self.tree)
        except ModelTooLargeError:
            return False

    def rest(self, evidence: Evidence | None) -> tuple[Slices, Rest]:
        """Return what evidence leaves of the model, and its plan."""
        given = Given(self.domain, (), evidence)
        plan = self._plans.get(given.pattern) or keep(self._plans, given.pattern, Slices(self.potentials, given))
        return plan, plan.at(given)

    def parts(
        self, evidence: Evidence | None, max_bytes: float | None = None, *, connected: bool = True
    ) -> tuple[Rest, list[tuple[Rest, JunctionTree | None]]]:
        """Return what evidence leaves, whole and in connected parts, each with its junction tree if that fits.

        Unless they are to be connected, the attributes that are not known are one part, without a tree.
        """
        plan, rest = self.rest(evidence)
        if connected:
            return rest, [(c.of(rest), c.tree if c.fits(max_bytes) else None) for c in plan.components]
        return rest, [(rest, None)] if rest.potentials.domain else []

    def check_fits(self, evidence: Evidence | None, max_bytes: float | None) -> None:
        """Raise ModelTooLargeError if the tree of an answer takes more memory than is allowed."""
        tree, _ = self._joint(evidence)
        check_fits(tree.cost.bytes, max_bytes, "the junction tree is too large")

    def _joint(self, evidence: Evidence | None) -> tuple[JunctionTree, Rest]:
        # Where every attribute is known no tree is needed: the weight is a sum of look-ups.
        if not evidence or (len(evidence) < len(self.domain) and self.fits):
            return self.tree, Rest(self.potentials, evidence or {}, {}, 0.0)
        plan, rest = self.rest(evidence)
        return plan.tree, rest

    def marginals(self, evidence: Evidence | None = None, *, n_threads: int = 0) -> dict[str, NDArray[np.float64]]:
        """Return the probabilities of each attribute, in the order of the domain."""
        tree, rest = self._joint(evidence)
        with named(evidence):
            check_possible(rest.constant, None)
            result = tree.attribute_marginals(rest.potentials, 1.0, rest.evidence or None, n_threads=n_threads)
        return result if tree.domain is self.domain else with_known(self.domain, result, rest.codes)

    def log_partition(self, evidence: Evidence | None = None) -> float:
        """Return the natural log of the sum of the weights that agree with the evidence; -inf if none does."""
        tree, rest = self._joint(evidence)
        return tree.log_partition(rest.potentials, rest.evidence or None) + rest.constant

    def map(self, evidence: Evidence | None = None) -> tuple[dict[str, Label], float]:
        """Return the most probable values of all attributes, and the natural log of their weight."""
        tree, rest = self._joint(evidence)
        with named(evidence):
            check_possible(rest.constant, None)
            result, log_weight = tree.map(rest.potentials, rest.evidence or None)
        known = {a: self.domain.labels[a][c] if a in self.domain.labels else c for a, c in rest.codes.items()}
        return {a: known[a] if a in known else result[a] for a in self.domain}, log_weight + rest.constant

    def draw(self, rows: int, rng: np.random.Generator, evidence: Evidence | None = None) -> dict[str, NDArray[Any]]:
        """Return codes of independent records given the evidence, in the order of the domain."""
        tree, rest = self._joint(evidence)
        with named(evidence):
            check_possible(rest.constant, None)
            drawn = tree.draw(rest.potentials, rows, rng, rest.evidence or None)
        known = {a: np.full(rows, code, np.int32) for a, code in rest.codes.items()}
        return {a: known[a] if a in known else drawn[a] for a in self.domain}


@contextmanager
def named(evidence: Evidence | None) -> Iterator[None]:
    """Name all the evidence where what is left of a model turns out to be impossible."""
    try:
        yield
    except ImpossibleEvidenceError:
        check_possible(-np.inf, evidence)


def with_known(
    domain: Domain, result: Mapping[str, NDArray[np.float64]], codes: Mapping[str, int]
) -> dict[str, NDArray[np.float64]]:
    """Return probabilities of all attributes: those found, and certainty of the others.

    Examples
    --------
    >>> with_known(Domain({"a": 2, "b": 2}), {"b": np.array([0.5, 0.5])}, {"a": 1})
    {'a': array([0., 1.]), 'b': array([0.5, 0.5])}
    """
    return {
        a: np.eye(1, n, codes[a])[0] if a in codes else result[a] for a, n in zip(domain, domain.shape, strict=True)
    }
