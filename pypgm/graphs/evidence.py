"""What is known about single attributes, brought into one form."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Set
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

import numpy as np

from pypgm.data.evidence import read_evidence
from pypgm.domain import Domain, Label
from pypgm.numeric import float_array

if TYPE_CHECKING:
    from numpy.typing import ArrayLike, NDArray

__all__ = ["Evidence", "Likelihood", "LogLikelihood", "code_of", "log_likelihoods"]

Evidence = Mapping[str, Any]

_FEW = 16  # values that are looked up one by one


@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """How likely what was observed is under each value of an attribute.

    Parameters
    ----------
    values : array_like of float, shape (size of the attribute,)
        Finite, at least 0, not all 0; copied. Only their ratios matter, but to the probability of the evidence.

    Raises
    ------
    ValueError
        If the values are no such numbers.
    TypeError
        If they are complex or masked.

    Examples
    --------
    >>> import pypgm
    >>> model = pypgm.GraphicalModel(pypgm.CliqueVector(pypgm.Domain({"a": 2}), ["a"]), total=10.0)
    >>> model.query("a", {"a": Likelihood([1, 3])}).values
    array([0.25, 0.75])
    """

    values: NDArray[np.float64]

    def __init__(self, values: ArrayLike) -> None:
        own = np.array(float_array("a likelihood", values))
        if own.ndim != 1 or not own.size:
            raise ValueError(f"a likelihood needs one number for each value of an attribute, got shape {own.shape}")
        if not (np.isfinite(own).all() and (own >= 0).all() and own.any()):
            raise ValueError("a likelihood needs finite numbers of at least 0, not all 0")
        own.flags.writeable = False
        object.__setattr__(self, "values", own)


@dataclass(frozen=True, slots=True, eq=False)
class LogLikelihood:
    """A likelihood that was computed, as natural logs: the product of several may be no double."""

    logs: NDArray[np.float64]


def log_likelihoods(domain: Domain, evidence: Evidence | None) -> list[tuple[int, NDArray[np.float64]]]:
    """Return (attribute index, natural log of the likelihood of each value) for each attribute with evidence.

    Parameters
    ----------
    domain : Domain
        The attributes.
    evidence : mapping of attribute to value, values or likelihood vector
        A value is a label where the attribute has labels (an integer is a code only if no label is an
        integer), else a code: a plain number is never looked up in bins, as ``--given`` of the command does, for
        which ``age=35`` is the value 35. A text such as ``"30..40"`` is a range of labels or codes; that of a release
        is one of values, as its schema reads them. A list, tuple, range, set or NumPy array of integers allows each
        of its values. A `Likelihood`, or a NumPy float array of the attribute's size, holds the likelihood of each
        value.

    Raises
    ------
    ValueError
        If an attribute or value is unknown, a set of values is empty, or a likelihood vector has the wrong
        length or a negative, infinite or NaN entry.
    TypeError
        If a value is neither a label nor a code.
    """
    if not isinstance(evidence, Mapping | None):
        raise TypeError(_no_mapping(evidence))
    evidence = read_evidence(domain, evidence, None)
    return [(domain.index(a), _log_likelihood(domain, a, given)) for a, given in (evidence or {}).items()]


def _no_mapping(given: object) -> str:
    """Return what is wrong with evidence that is none; a text may be the second attribute of a clique."""
    needed = "evidence needs a mapping of attribute to value"
    if isinstance(given, str):
        return f"{needed}, got the text {given!r}; a clique of several attributes is one tuple of names"
    return f"{needed}, got {type(given).__name__}"


def _log_likelihood(domain: Domain, attribute: str, given: object) -> NDArray[np.float64]:
    size = domain.shape[domain.index(attribute)]
    if isinstance(given, LogLikelihood):
        return given.logs
    given = given.values if isinstance(given, Likelihood) else given
    if isinstance(given, np.ndarray) and given.dtype.kind in "fc":
        given = float_array(f"a likelihood of {attribute!r}", given)
        if given.shape != (size,):
            raise ValueError(f"a likelihood of {attribute!r} needs shape ({size},), got {given.shape}")
        if not (np.isfinite(given).all() and (given >= 0).all()):
            raise ValueError(f"a likelihood of {attribute!r} needs finite entries of at least 0")
        with np.errstate(divide="ignore"):
            return np.log(given)
    several = given.tolist() if isinstance(given, np.ndarray) else given
    values: Collection[object] = several if isinstance(several, list | tuple | range | Set) else [several]
    if not values:
        raise ValueError(f"evidence on {attribute!r} needs at least one value, got none")
    known = np.full(size, -np.inf)
    codes = _codes(domain, attribute) if len(values) > _FEW else {}
    for value in values:  # a range may be longer than memory holds; its first value that is none ends it
        plain = value.item() if isinstance(value, np.generic) else value
        code = codes.get(plain) if isinstance(plain, str | float) or type(plain) is int else None
        known[code_of(domain, attribute, value) if code is None else code] = 0.0
    return known


def _codes(domain: Domain, attribute: str) -> dict[Label, int]:
    """Return the code of each value that `code_of` knows."""
    labels = domain.labels.get(attribute, ())
    numbers = {} if any(isinstance(x, int) for x in labels) else {i: i for i in range(domain.size(attribute))}
    return numbers | {label: code for code, label in enumerate(labels)}


def code_of(domain: Domain, attribute: str, value: object) -> int:
    """Return the code of one value, a label or a code; raise as `log_likelihoods` does."""
    labels = domain.labels.get(attribute)
    if isinstance(value, np.generic):
        value = value.item()
    if labels is not None and value in labels:
        return labels.index(value)
    if isinstance(value, bool) or not isinstance(value, int) or any(isinstance(x, int) for x in labels or ()):
        likely = "; likelihoods come in a pypgm.Likelihood" if isinstance(value, float) else ""
        if labels is None:
            raise TypeError(f"attribute {attribute!r} has no labels, so its values are codes, got {value!r}{likely}")
        shown = ", ".join(repr(x) for x in labels[:10]) + (", …" if len(labels) > 10 else "")
        raise ValueError(f"attribute {attribute!r} has no label {value!r}; its labels are {shown}{likely}")
    size = domain.shape[domain.index(attribute)]
    if not 0 <= value < size:
        why = "; a number is a code here, not a value as for --given of the command"
        or_label = f": pass a code, or a label such as {labels[0]!r}{why}" if labels else ""
        raise ValueError(f"codes of {attribute!r} are 0 to {size - 1}, got {value}{or_label}")
    return value
