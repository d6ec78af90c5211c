"""Domains: attributes, each with a number of values."""

from __future__ import annotations

import functools
import inspect
import math
from collections.abc import Callable, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Literal, TypeVar

Attribute = Any
"""A str or an int."""
Clique = tuple[Attribute, ...]
_Class = TypeVar("_Class", bound=type)
_SPELLINGS = {
    "attributes": ("attrs", "cols"),
    "data": ("df",),
    "N": ("records",),
}


def every_spelling(cls: _Class) -> _Class:
    """Let each method of a class take its parameters under the names of all of mbi's releases."""
    for name, member in list(vars(cls).items()):
        if isinstance(member, classmethod):
            setattr(cls, name, classmethod(spelled(member.__func__)))
        elif inspect.isfunction(member):
            setattr(cls, name, spelled(member))
    return cls


def spelled(function: Callable[..., Any]) -> Callable[..., Any]:
    """Let a function take its parameters under the names of all of mbi's releases, which are its ``spellings``."""
    signature = inspect.signature(function)
    spellings = {other: name for name, others in _SPELLINGS.items() if name in signature.parameters for other in others}
    if not spellings:
        return function

    @functools.wraps(function)
    def call(*arguments: Any, **named: Any) -> Any:
        return function(*arguments, **{spellings.get(name, name): value for name, value in named.items()})

    others = inspect.Parameter("other_spellings", inspect.Parameter.VAR_KEYWORD)
    call.__signature__ = signature.replace(parameters=[*signature.parameters.values(), others])  # type: ignore[attr-defined]
    call.spellings = spellings  # type: ignore[attr-defined]
    return call


def as_clique(attributes: object) -> Clique:
    """Return attributes as a tuple; a str, or any other value that is not a collection, is a clique of one."""
    if isinstance(attributes, tuple):
        return attributes
    if isinstance(attributes, str) or not isinstance(attributes, Iterable):
        return (attributes,)
    return tuple(attributes)


@every_spelling
@dataclass(frozen=True, init=False)
class Domain:
    """Attributes, named by str or int, with their sizes and labels, in a fixed order.

    Examples
    --------
    >>> domain = Domain(["a", "b"], [2, 3])
    >>> print(domain, domain.size(), domain.project("b"))
    Domain(a: 2, b: 3) 6 Domain(b: 3)
    """

    attributes: Clique
    shape: tuple[int, ...]
    labels: tuple[tuple[Any, ...], ...] | None = field(default=None, compare=False)

    def __init__(
        self, attributes: Iterable[Attribute], shape: Iterable[float], labels: Sequence[Sequence[Any]] | None = None
    ) -> None:
        names, sizes = as_clique(attributes), tuple(int(n) for n in as_clique(shape))
        if len(names) != len(sizes):
            raise ValueError(f"Dimensions must be equal. Got {len(names)} attributes and {len(sizes)} sizes.")
        if len(set(names)) != len(names):
            raise ValueError(f"Attributes must be unique. Got {names}.")
        named = None if labels is None else tuple(tuple(each) for each in labels)
        if named is not None and tuple(map(len, named)) != sizes:
            raise ValueError(f"labels must be as many as values, {sizes}; got {tuple(map(len, named))}")
        for name, value in (("attributes", names), ("shape", sizes), ("labels", named)):
            object.__setattr__(self, name, value)

    @classmethod
    def fromdict(cls, config: Mapping[Attribute, int]) -> Domain:
        """Return the domain of sizes by name."""
        return cls(config.keys(), config.values())

    @property
    def attrs(self) -> Clique:
        """The attributes, by their older name."""
        return self.attributes

    @property
    def config(self) -> dict[Attribute, int]:
        """Sizes by name."""
        return dict(zip(self.attributes, self.shape, strict=True))

    @property
    def labels_config(self) -> dict[Attribute, tuple[Any, ...]] | None:
        """Labels by name."""
        return None if self.labels is None else dict(zip(self.attributes, self.labels, strict=True))

    def project(self, attributes: object) -> Domain:
        """Return the domain of some attributes, in the given order."""
        names = as_clique(attributes)
        if not self.supports(names):
            raise ValueError(f"Cannot project {self} onto {names}.")
        labels = self.labels_config
        sizes = map(self.config.__getitem__, names)
        return type(self)(names, sizes, None if labels is None else [labels[a] for a in names])

    def marginalize(self, attributes: object) -> Domain:
        """Return the domain without some attributes; unknown ones are ignored."""
        return self.project(tuple(self.invert(attributes)))

    def invert(self, attributes: object) -> list[Attribute]:
        """Return all other attributes."""
        left_out = set(as_clique(attributes))
        return [a for a in self.attributes if a not in left_out]

    def canonical(self, attributes: object) -> Clique:
        """Return attributes in the domain's order, without unknown ones."""
        names = set(as_clique(attributes))
        return tuple(a for a in self.attributes if a in names)

    def axes(self, attributes: object) -> tuple[int, ...]:
        """Return positions of attributes."""
        return tuple(self.attributes.index(a) for a in as_clique(attributes))

    transpose = project

    def sort(self, how: Literal["size", "name"] = "size") -> Domain:
        """Return the domain with its attributes by size or by name."""
        return self.project(sorted(self.attributes, key=self.config.__getitem__ if how == "size" else None))

    def intersect(self, other: Domain) -> Domain:
        """Return the domain of the attributes that another one has as well."""
        return self.project(tuple(a for a in self.attributes if a in other))

    def merge(self, other: Domain) -> Domain:
        """Return the domain of all attributes of two domains, its own first."""
        sizes, theirs = self.config, other.config
        differ = [a for a in theirs if sizes.get(a, theirs[a]) != theirs[a]]
        if differ:
            raise ValueError(f"attributes {differ} have other sizes in {self} than in {other}")
        labels = None
        if self.labels_config is not None and other.labels_config is not None:
            both = other.labels_config | self.labels_config
            labels = [both[a] for a in sizes | theirs]
        return type(self)(sizes | theirs, (sizes | theirs).values(), labels)

    def contains(self, other: Domain) -> bool:
        """Return whether all attributes of another domain are among these."""
        return self.supports(other.attributes)

    def supports(self, attributes: object) -> bool:
        """Return whether all attributes are known."""
        return set(as_clique(attributes)) <= set(self.attributes)

    def size(self, attributes: object = None) -> int:
        """Return the number of cells of a table over some attributes, or over all."""
        return math.prod(self.shape if attributes is None else self.project(attributes).shape)

    def __contains__(self, attribute: Hashable) -> bool:
        return attribute in self.attributes

    def __getitem__(self, attribute: Attribute) -> int:
        return self.config[attribute]

    def __iter__(self) -> Iterator[Attribute]:
        return iter(self.attributes)

    def __len__(self) -> int:
        return len(self.attributes)

    def __str__(self) -> str:
        return f"Domain({', '.join(f'{a}: {n}' for a, n in self.config.items())})"
