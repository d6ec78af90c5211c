"""Evidence on single attributes, brought into one form."""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Collection, Mapping, Set
from dataclasses import dataclass
from typing import Any, TypeVar

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.numeric import float_array
from pypgm._base.terminal import MISSING, missing_code
from pypgm.data.columns.values import is_missing
from pypgm.data.schema.evidence import read_evidence
from pypgm.data.sources.encoding import columns_of
from pypgm.domain import Domain

Evidence = Mapping[str, Any]
T = TypeVar("T")

_MAX_LOOKED_UP = 16  # values that are looked up one by one


@dataclass(frozen=True, slots=True, eq=False)
class Likelihood:
    """Likelihood of an observation under each value of an attribute.

    Parameters
    ----------
    values : array_like of float, shape (size of the attribute,)
        Finite, at least 0, not all 0; copied. Only their ratios matter, but to the probability of the evidence.

    Raises
    ------
    ValueError
        If the values are not such numbers.
    TypeError
        If the values are complex or masked.

    Examples
    --------
    >>> import pypgm
    >>> model = pypgm.GraphicalModel(pypgm.CliqueVector(pypgm.Domain({"a": 2}), ["a"]), total=10.0)
    >>> model.query("a", {"a": Likelihood([1, 3])}).values
    array([0.25, 0.75])
    """

    values: NDArray[np.float64]

    def __init__(self, values: ArrayLike) -> None:
        array = np.array(float_array("a likelihood", values))
        if array.ndim != 1 or not array.size:
            raise ValueError(f"a likelihood needs one number for each value of an attribute, got shape {array.shape}")
        if not (np.isfinite(array).all() and (array >= 0).all() and array.any()):
            raise ValueError("a likelihood needs finite numbers of at least 0, not all 0")
        array.flags.writeable = False
        object.__setattr__(self, "values", array)


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
        A value of the table, as the schema reads it: in a release, as for ``--given`` of the command, 35 stands for
        the bin that it lies in. Here there is no schema: a value is a label, matched as those of a table are, or a
        code of an attribute without labels; a number is never the code of a label. A text such as ``"30..40"`` is a
        range of values. A list, tuple, range, set or NumPy array of other than floats allows each of its values; a
        list that may hold likelihoods, such as ``[0, 1]`` for two values, is refused. A `Likelihood`, or a NumPy float
        array of the attribute's size, holds the likelihood of each value.

    Raises
    ------
    ValueError
        If an attribute or value is unknown, a set of values is empty, or a likelihood vector has the wrong
        length or a negative, infinite or NaN entry.
    TypeError
        If a value is neither a label nor a code.
    """
    return [
        (index, one_possible(domain.shape[index], known) if isinstance(known, int) else known)
        for index, known in codes_or_logs(domain, evidence)
    ]


def one_possible(size: int, code: int) -> NDArray[np.float64]:
    """Return the logs of likelihoods that are 1 for one value and 0 for all others."""
    known = np.full(size, -np.inf)
    known[code] = 0.0
    return known


def codes_or_logs(domain: Domain, evidence: Evidence | None) -> list[tuple[int, int | NDArray[np.float64]]]:
    """Return evidence as `log_likelihoods` does, but only the code for a plain label or a code.

    Examples
    --------
    >>> codes_or_logs(Domain({"a": ["x", "y"], "b": 2}), {"a": "y", "b": {0}})
    [(0, 1), (1, array([  0., -inf]))]
    """
    if evidence is None:
        return []
    check_evidence(evidence)
    return [(domain.index(a), _known(domain, a, given)) for a, given in evidence.items()]


def _known(domain: Domain, attribute: str, given: object) -> int | NDArray[np.float64]:
    kind = type(given)
    if kind is str or kind is int:
        labels = domain.labels.get(attribute)
        if labels is None:
            if isinstance(given, int) and 0 <= given < domain.shape[domain.index(attribute)]:
                return given
        else:
            code = labels.index(given) if given in labels else -1
            if code >= 0 and type(labels[code]) is kind:  # to Python 1, 1.0 and True are equal
                return code
    read = read_evidence(domain, {attribute: given}, None)
    return _log_likelihood(domain, attribute, (read or {})[attribute])


class LastEvidence:
    """Cache of the objects made for the last evidence, one of each kind.

    Examples
    --------
    >>> last = LastEvidence(Domain({"a": 2}))
    >>> [last.recalled("a number", {"a": code}, lambda: number) for code, number in [(1, 5), (1, 6), (0, 7)]]
    [5, 5, 7]
    """

    def __init__(self, domain: Domain) -> None:
        self._domain = domain
        self._kept: dict[str, tuple[object, Any]] = {}

    def recalled(self, what: str, evidence: Evidence, make: Callable[[], T]) -> T:
        """Return the answer of a kind to this evidence: the one kept, or a new one."""
        key = {index: logs.tobytes() for index, logs in log_likelihoods(self._domain, evidence)}
        kept = self._kept.get(what)
        if kept is None or kept[0] != key:
            kept = self._kept[what] = key, make()
        made: T = kept[1]
        return made


def check_evidence(given: object, name: str = "evidence") -> None:
    """Raise ``TypeError`` unless evidence is a mapping, or ``None``; a text may be the second attribute of a clique."""
    if given is None or isinstance(given, Mapping):
        return
    needed = f"{name} needs a mapping of attribute to value"
    if isinstance(given, str):
        raise TypeError(f"{needed}, got the text {given!r}; a clique of several attributes is one tuple of names")
    raise TypeError(f"{needed}, got {type(given).__name__}")


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
    labels = domain.labels.get(attribute, ()) if len(values) > _MAX_LOOKED_UP else ()
    codes = {(type(label), label): code for code, label in enumerate(labels)}
    for value in values:  # a range may be longer than memory holds; its first value that is none ends it
        code = codes.get((type(value), value)) if isinstance(value, str | int | float) else None
        known[code_of(domain, attribute, value) if code is None else code] = 0.0
    return known


def codes_of(domain: Domain, values: Mapping[str, Any], name: str) -> dict[str, int]:
    """Return the code of one value each of some attributes; raise ``TypeError`` naming them unless it is a mapping.

    Examples
    --------
    >>> codes_of(Domain({"a": ["x", "y"], "b": 2}), {"a": "y"}, "a query")
    {'a': 1}
    """
    check_evidence(() if values is None else values, name)
    return {a: code_of(domain, a, value) for a, value in values.items()}


def code_of(domain: Domain, attribute: str, value: object) -> int:
    """Return the code of one value; raise as `log_likelihoods` does.

    Where an attribute has labels, a value is matched with them as `Dataset.from_frame` matches those of a table: the
    number 1 is the label 1, or the text that reads so. Only an attribute without labels takes codes.

    Examples
    --------
    >>> code_of(Domain({"a": ["1", "0"]}), "a", 1), code_of(Domain({"a": 2}), "a", 1)
    (0, 1)
    """
    labels = domain.labels.get(attribute)
    value = value.item() if isinstance(value, np.generic) else value
    likely = "; likelihoods come in a pypgm.Likelihood" if isinstance(value, float) else ""
    if labels is None:
        size = domain.shape[domain.index(attribute)]
        if isinstance(value, bool) or not isinstance(value, int):
            raise TypeError(f"attribute {attribute!r} has no labels, so its values are codes, got {value!r}{likely}")
        if not 0 <= value < size:
            raise ValueError(f"codes of {attribute!r} are 0 to {size - 1}, got {value}")
        return value
    with contextlib.suppress(ValueError):
        code = labels.index(value)
        if type(labels[code]) is type(value):  # to Python 1, 1.0 and True are equal
            return code
    with contextlib.suppress(ValueError):  # of labels that one value would match two of
        codes, problem = columns_of(domain.project((attribute,)))[attribute].encode([value])
        if problem is None:
            return int(codes[0])
    is_none = is_missing(value) or (isinstance(value, str) and value == MISSING)
    if is_none and (blank := missing_code(labels)) is not None:
        return blank
    shown = ", ".join(repr(x) for x in labels[:10]) + (", …" if len(labels) > 10 else "")
    number = "; a number is a value here, not a code" if type(value) is int else ""
    raise ValueError(f"attribute {attribute!r} has no label {value!r}; its labels are {shown}{likely}{number}")
