"""Named attributes with sizes: the first word of the vocabulary."""

from __future__ import annotations

import math
import operator
from collections.abc import Hashable, Iterable, Iterator, Mapping, Sequence
from decimal import Decimal
from typing import Any, Protocol, TypeGuard, TypeVar

from pypgm._base.html import Shown
from pypgm._base.numeric import shown
from pypgm._base.terminal import escaped

Clique = tuple[str, ...]
Label = str | int | float | bool
_H = TypeVar("_H", bound=Hashable)


_MAX_VALUES = 1 << 1000  # of an attribute; Python may not even write larger numbers


def as_clique(attributes: str | Iterable[str]) -> Clique:
    """Return attribute names as a tuple; a single name stands for a clique of one, a mapping for none."""
    if type(attributes) is tuple:
        clique = attributes
    elif isinstance(attributes, Mapping) or not isinstance(attributes, Iterable):
        hint = "; what is known of attributes is evidence=" if isinstance(attributes, Mapping) else ""
        raise TypeError(f"a clique needs an attribute or a sequence of attributes, got {attributes!r}{hint}")
    else:
        clique = (attributes,) if isinstance(attributes, str) else tuple(attributes)
    try:
        hash(clique)
    except TypeError:
        raise TypeError(f"a clique needs names of attributes, got {attributes!r}") from None
    return clique


def as_cliques(cliques: Iterable[str | Iterable[str]]) -> list[Clique]:
    """Return several cliques as tuples; a string, which would be as many as it has letters, is refused."""
    if isinstance(cliques, str):
        raise TypeError(f"several cliques need a list, got the string {cliques!r}")
    return [as_clique(c) for c in cliques]


class _Labelled(Protocol):
    @property
    def labels(self) -> tuple[Label, ...] | None: ...


class LaterLabels:
    """Labels of an attribute that are made when they are first read: a million take a second.

    Parameters
    ----------
    source : object with labels
        Source of the labels; equal sources make equal ones. Labels are known to be distinct values.
    size : int
        Number of labels.
    """

    __slots__ = ("size", "source")

    def __init__(self, source: _Labelled, size: int) -> None:
        self.source, self.size = source, size

    @property
    def made(self) -> tuple[Label, ...]:
        """The labels themselves."""
        return self.source.labels or ()

    def __getitem__(self, code: int) -> Label:
        return self.made[code]

    def __eq__(self, other: object) -> bool:
        if isinstance(other, LaterLabels):
            return self.source == other.source or self.made == other.made
        return self.made == other

    def __hash__(self) -> int:
        return hash(self.size)


class _LabelsView(Mapping[str, tuple[Label, ...]]):
    """Labels of the attributes that have them, each made on request."""

    def __init__(self, labels: Mapping[str, tuple[Label, ...] | LaterLabels]) -> None:
        self._labels = labels

    def __getitem__(self, name: str) -> tuple[Label, ...]:
        labels = self._labels[name]
        return labels.made if isinstance(labels, LaterLabels) else labels

    def __contains__(self, name: object) -> bool:
        return name in self._labels

    def __iter__(self) -> Iterator[str]:
        return iter(self._labels)

    def __len__(self) -> int:
        return len(self._labels)

    def __repr__(self) -> str:
        return repr(dict(self))


class Domain(Shown):
    """Named attributes, each with a finite number of values, in a fixed order.

    Parameters
    ----------
    attributes : mapping of str to int or sequence, or sequence of str
        Either ``{name: size or labels}``, or the names alone with `shape` beside them.
    shape : sequence of int, optional
        Number of values of each attribute; only with a sequence of names.
    labels : mapping of str to sequence, optional
        Labels of some attributes, in the order of their codes; only with a sequence of names. `LaterLabels` are made
        when they are read.

    Raises
    ------
    ValueError
        If a name is repeated, a size is not at least 1, or labels repeat, do not fit the size, or are None or NaN.
    TypeError
        If a name is not a string, a size not an integer, or a label a collection.

    Examples
    --------
    >>> domain = Domain({"age": 85, "sex": ["F", "M"]})
    >>> domain.shape
    (85, 2)
    >>> domain.size(("age", "sex"))
    170
    """

    __slots__ = ("_index", "_labels", "attributes", "shape")

    attributes: Clique
    shape: tuple[int, ...]

    def __init__(
        self,
        attributes: Mapping[str, int | Sequence[Label]] | Iterable[str],
        shape: Iterable[int] | None = None,
        labels: Mapping[str, Sequence[Label] | LaterLabels] | None = None,
    ) -> None:
        labelled: dict[str, tuple[Label, ...] | LaterLabels]
        if isinstance(attributes, Mapping):
            if shape is not None or labels is not None:
                raise TypeError("shape and labels go with a sequence of names, not with a mapping")
            names = tuple(attributes)
            labelled = {n: tuple(v) for n, v in attributes.items() if _is_labels(v, n)}
            sizes: list[Any] = [len(v) if _is_labels(v, n) else v for n, v in attributes.items()]
        else:
            names = as_clique(attributes)
            if shape is None:
                raise TypeError("a domain from names needs their shape; pass shape=, or a mapping of name to size")
            sizes = list(shape)
            labelled = {n: v if isinstance(v, LaterLabels) else tuple(v) for n, v in (labels or {}).items()}
        if len(names) != len(sizes):
            raise ValueError(f"{len(names)} attributes need as many sizes, got {len(sizes)}")
        self.attributes = names
        self.shape = tuple(_check_size(n, s) for n, s in zip(names, sizes, strict=True))
        self._index = {name: i for i, name in enumerate(names)}
        if len(self._index) != len(names):
            raise ValueError(f"attribute {first_repeat(names)!r} comes more than once")
        for name, values in labelled.items():
            _check_labels(name, values, self.shape[self.index(name)])
        self._labels = labelled

    @property
    def labels(self) -> Mapping[str, tuple[Label, ...]]:
        """Labels of the attributes that have them, in the order of their codes; read-only."""
        return _LabelsView(self._labels)

    def labelled(self, codes: Iterable[int]) -> dict[str, Label]:
        """Return the label of each attribute's code, in order; the code itself where an attribute has no labels.

        Examples
        --------
        >>> Domain({"a": ["no", "yes"], "b": 3}).labelled([1, 2])
        {'a': 'yes', 'b': 2}
        """
        labels = self._labels  # not the view, where each look takes a call
        return {a: labels[a][c] if a in labels else c for a, c in zip(self.attributes, codes, strict=True)}

    def index(self, attribute: str) -> int:
        """Return an attribute's position; ``ValueError`` if the domain does not have it."""
        try:
            return self._index[attribute]
        except (KeyError, TypeError):
            near = nearest(str(attribute), self.attributes)
            message = f"unknown attribute {attribute!r}{near}; the domain has {listed(self.attributes)}"
            raise ValueError(message) from None

    def indices(self, attributes: str | Iterable[str]) -> tuple[int, ...]:
        """Return the positions of some attributes, in the order given.

        Raises
        ------
        ValueError
            If an attribute is unknown or repeated.
        """
        clique = attributes if type(attributes) is tuple else as_clique(attributes)
        positions = self._index
        try:
            indices = tuple([positions[a] for a in clique])
        except (KeyError, TypeError):
            indices = tuple(self.index(a) for a in clique)  # says which one is unknown
        if len(indices) > 1 and len(set(indices)) != len(indices):
            raise ValueError(f"clique {clique} names attribute {first_repeat(clique)!r} more than once")
        return indices

    def names(self, indices: Iterable[int]) -> Clique:
        """Return the attributes at some positions, in the order given."""
        attributes = self.attributes
        return tuple([attributes[i] for i in indices])

    def canonical(self, attributes: str | Iterable[str]) -> Clique:
        """Return some attributes in the domain's order."""
        return self.names(sorted(self.indices(attributes)))

    def sizes(self, attributes: str | Iterable[str]) -> tuple[int, ...]:
        """Return the number of values of some attributes, in the order given."""
        return tuple([self.shape[i] for i in self.indices(attributes)])

    def size(self, attributes: str | Iterable[str] | None = None) -> int:
        """Return the number of cells of the table over some attributes (all of them by default), exactly."""
        shape = self.shape
        return math.prod(shape if attributes is None else [shape[i] for i in self.indices(attributes)])

    def project(self, attributes: str | Iterable[str]) -> Domain:
        """Return the domain of some attributes, in the order given."""
        return self.part(self.indices(attributes))

    def part(self, indices: Sequence[int]) -> Domain:
        """Return the domain of the attributes at some positions, in the order given."""
        names = self.names(indices)
        shape, labels = tuple([self.shape[i] for i in indices]), self._labels
        index = {name: i for i, name in enumerate(names)}
        return _unchecked(names, shape, index, {n: labels[n] for n in names if n in labels} if labels else {})

    def singles(self) -> list[Domain]:
        """Return the domain of each attribute by itself, in order.

        Examples
        --------
        >>> Domain({"a": 2, "b": 3}).singles()
        [Domain(a: 2), Domain(b: 3)]
        """
        labels = self._labels
        return [
            _unchecked((name,), (size,), {name: 0}, {name: labels[name]} if name in labels else {})
            for name, size in zip(self.attributes, self.shape, strict=True)
        ]

    def __getitem__(self, attribute: str) -> tuple[Label, ...] | int:
        """Return the labels or the size that an attribute was declared by; ``KeyError`` if its name is unknown.

        Examples
        --------
        >>> domain = Domain({"age": 85, "sex": ["F", "M"]})
        >>> domain["age"], domain["sex"]
        (85, ('F', 'M'))
        """
        if not isinstance(attribute, str) or attribute not in self._index:
            raise KeyError(f"unknown attribute {attribute!r}{nearest(str(attribute), self.attributes)}")
        return self.labels[attribute] if attribute in self._labels else self.shape[self._index[attribute]]

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.attributes)

    def __contains__(self, attribute: object) -> bool:
        return attribute in self._index

    def __iter__(self) -> Iterator[str]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Domain):
            return NotImplemented
        mine = (self.attributes, self.shape, self._labels)
        return mine == (other.attributes, other.shape, other._labels)

    def __hash__(self) -> int:
        return hash((self.attributes, self.shape))

    def __repr__(self) -> str:
        shown = (f"{escaped(n)}: {s}" for n, s in zip(self.attributes, self.shape, strict=True))
        return f"Domain({listed(tuple(shown), 12)})"


def _unchecked(
    attributes: Clique,
    shape: tuple[int, ...],
    index: dict[str, int],
    labels: dict[str, tuple[Label, ...] | LaterLabels],
) -> Domain:
    """Return a part of a domain: nothing of it needs to be checked again."""
    part = object.__new__(Domain)
    part.attributes, part.shape, part._index, part._labels = attributes, shape, index, labels
    return part


def _is_labels(value: int | Sequence[Label], name: str) -> TypeGuard[Sequence[Label]]:
    if isinstance(value, str | bytes):
        raise TypeError(f"attribute {name!r} needs a size or a list of labels, got {value!r}")
    return isinstance(value, Sequence)


def _check_size(name: object, size: object) -> int:
    if not isinstance(name, str):
        raise TypeError(f"attribute names are strings, got {name!r}")
    if isinstance(size, bool) or not hasattr(size, "__index__"):
        raise TypeError(f"attribute {name!r} needs an integer size, got {size!r}")
    number = int(size.__index__())
    if number < 1:
        raise ValueError(f"attribute {name!r} needs at least one value, got size {number}")
    if number > _MAX_VALUES:
        raise ValueError(f"attribute {name!r} can have 2^1000 values at most, got {shown(number)}")
    return number


def _check_labels(name: str, labels: tuple[Label, ...] | LaterLabels, size: int) -> None:
    given = labels.size if isinstance(labels, LaterLabels) else len(labels)
    if given != size:
        raise ValueError(f"attribute {name!r} has {size} values, got {given} labels")
    if isinstance(labels, LaterLabels):
        return
    each: Sequence[object] = labels
    for label in each:
        # Evidence takes collections for several values, and files for lists.
        if isinstance(label, tuple | frozenset) or not isinstance(label, Hashable):
            raise TypeError(f"attribute {name!r}: a label must be a single value, got {label!r}")
        if label is None or _is_nan(label):  # a NaN, of whatever kind, differs from itself
            raise ValueError(f"attribute {name!r}: a label must be a value, got {label!r}, which means a missing one")
    if len(set(labels)) != size:
        raise ValueError(f"attribute {name!r}: label {first_repeat(labels)!r} comes more than once")


def _is_nan(label: object) -> bool:
    """Return whether a label is a NaN of any kind: it differs from itself, if it can be compared."""
    return label.is_nan() if isinstance(label, Decimal) else bool(operator.ne(label, label))


def first_repeat(values: Iterable[_H]) -> _H:
    """Return the first of some values that was there before; one of them has to be."""
    seen: set[_H] = set()
    for value in values:
        if value in seen:
            return value
        seen.add(value)
    raise AssertionError("no value repeats")


def check_kind(name: str, value: object, kind: type, way_out: str) -> None:
    """Raise ``TypeError`` with the need, the type that came and the way out, unless a value is of a class."""
    if not isinstance(value, kind):
        raise TypeError(f"{name} needs a pypgm.{kind.__name__}, got {type(value).__name__}: {way_out}")


def check_domain(value: object) -> None:
    """Raise ``TypeError`` unless a value is a Domain."""
    check_kind("domain", value, Domain, 'pypgm.Domain({"age": 85, "sex": ["F", "M"]}) makes one')


def other_labels(needed: Domain, got: Domain) -> str:
    """Return the difference of labels between otherwise equal domains, as the end of a sentence, or nothing.

    Examples
    --------
    >>> other_labels(Domain({"a": 2, "b": ["x", "y"]}), Domain({"a": 2, "b": ["x", "z"]}))
    ", whose labels of 'b' differ: of code 1 'y' is needed, got 'z'"
    """
    if (needed.attributes, needed.shape) != (got.attributes, got.shape):
        return ""
    for name, size in zip(needed.attributes, needed.shape, strict=True):
        unlabelled = [None] * size
        for code, pair in enumerate(zip(*(d.labels.get(name, unlabelled) for d in (needed, got)), strict=True)):
            if pair[0] != pair[1]:
                mine, theirs = ("no label" if label is None else repr(label) for label in pair)
                return f", whose labels of {name!r} differ: of code {code} {mine} is needed, got {theirs}"
    return ""


def listed(values: Sequence[object], limit: int = 8) -> str:
    """Return the first few values as text, and how many are left out."""
    shown = ", ".join(map(escaped, values[:limit]))
    return shown if len(values) <= limit else f"{shown}, … ({len(values)} in all)"


def nearest(text: str, names: Iterable[object]) -> str:
    """Return the names that read most like a text, as the end of a sentence, or nothing.

    Examples
    --------
    >>> nearest("AGE", ["sex", "age"]), nearest("xyz", ["sex", "age"])
    ("; the nearest is 'age'", '')
    """
    import difflib

    folded: dict[str, list[str]] = {}
    for name in map(str, names):
        folded.setdefault(name.casefold(), []).append(name)
    close = difflib.get_close_matches(text.strip().casefold(), folded, n=3)
    matches = [repr(name) for fold in close for name in folded[fold]]
    return f"; the nearest {'are' if len(matches) > 1 else 'is'} {', '.join(matches)}" if matches else ""
