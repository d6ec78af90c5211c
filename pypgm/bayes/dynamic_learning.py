"""Dynamic networks learned from sequences of records, without privacy."""

from __future__ import annotations

from collections.abc import Hashable, Iterable
from dataclasses import dataclass
from typing import Any, Literal

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.numeric import check_choice
from pypgm.bayes.dynamic import DynamicNetwork, before, slice_before
from pypgm.bayes.family_scores import FamilyScores, Score
from pypgm.bayes.frames import MISSING, Frame, as_codes, as_values, column_names, domain_of
from pypgm.bayes.learning import checked_weights, learn
from pypgm.bayes.structure import Structure, arc_of
from pypgm.bayes.structure_learning import LearnedStructure, learn_structure
from pypgm.data import Dataset
from pypgm.data.columns.values import as_list, bare
from pypgm.data.sources.frames import as_values as column_values
from pypgm.domain import Clique, Domain, check_domain, listed

_LATEST = 1 << 62  # differences of times are counted in 64 bits


@dataclass(frozen=True)
class DynamicStructure:
    """Parents of each attribute in the first slice, and in every later one, as those of a `DynamicNetwork`.

    Attributes
    ----------
    first : mapping of str to tuple of str
        Or any other form of a structure that `learn` takes.
    later : mapping of str to tuple of str
        The same, with attributes of the slice before as further parents.
    score : float
        Of a structure that was learned: in nats, the sum over both kinds of slices, larger is better.

    Examples
    --------
    >>> DynamicStructure({}, {"rain": ["rain[t-1]"]})
    DynamicStructure(first={}, later={'rain': ['rain[t-1]']}, score=nan)
    """

    first: Structure
    later: Structure
    score: float = np.nan


def learn_dynamic(
    data: Frame,
    structure: DynamicStructure | DynamicNetwork,
    *,
    time: str | None = None,
    sequence: str | None = None,
    domain: Domain | None = None,
    weights: ArrayLike | None = None,
    prior: Literal["k2", "bdeu"] | None = None,
    strength: float = 1.0,
) -> DynamicNetwork:
    """Learn the tables of a dynamic network from sequences of records. **Not private**: tables reveal the records.

    Tables of the first slice are those of the first records of all sequences; tables of later slices are those of all
    records whose sequence has a record at the time before, given that record.

    Parameters
    ----------
    data : Dataset, data frame, or mapping of str to sequence
        A record for each slice of each sequence, in any order, without missing values.
    structure : DynamicStructure or DynamicNetwork
        Tables of a network are ignored.
    time : str, optional
        Column of whole numbers, one more in each slice; a gap is no transition. Without it the records of a sequence
        lie in the order of time, one in each slice.
    sequence : str, optional
        Column of whatever tells sequences apart; without it there is one.
    domain : Domain, optional
        Attributes of a slice. By default those of the structure if it is a network, of a Dataset, or the values of the
        frame, in their order.
    weights : array_like of float, shape (n_rows,), optional
        Weights of the records, at least 0; a transition has that of its later record.
    prior : {"k2", "bdeu"}, optional
        See `learn`: without it a table is the maximum of the likelihood, and uniform where no record has these parents.
    strength : float
        See `learn`.

    Returns
    -------
    DynamicNetwork

    Raises
    ------
    ValueError
        If values are missing, two records of a sequence have one time, none has a predecessor, or a column, value,
        structure or option does not fit.
    TypeError
        If the argument for the records or for the structure is of another kind.

    Examples
    --------
    >>> frame = {"person": ["a"] * 4 + ["b"] * 3, "day": [1, 2, 3, 4, 1, 2, 3], "ill": [0, 0, 1, 0, 0, 1, 1]}
    >>> always = DynamicStructure({}, {"ill": ["ill[t-1]"]})
    >>> net = learn_dynamic(frame, always, time="day", sequence="person", prior="k2")
    >>> net.first.tables["ill"].values, net.tables["ill"].values
    (array([0.75, 0.25]), array([[0.4, 0.6],
           [0.5, 0.5]]))
    """
    if isinstance(structure, DynamicNetwork):
        domain = structure.domain if domain is None else domain
        structure = DynamicStructure(structure.first, structure.parents)
    elif not isinstance(structure, DynamicStructure):
        raise TypeError(f"a dynamic network needs a DynamicStructure or a DynamicNetwork, got {structure!r}")
    slices = _Slices.of(data, time, sequence, domain, weights)
    first = learn(slices.first, structure.first, prior=prior, strength=strength)
    later = learn(slices.later, structure.later, prior=prior, strength=strength)
    names = first.domain.attributes
    return DynamicNetwork(
        first, {a: later.parents[a] for a in later.domain}, {a: later.tables[a].values for a in names}
    )


def learn_dynamic_structure(
    data: Frame,
    method: Literal["hill_climbing", "exact"] = "hill_climbing",
    *,
    time: str | None = None,
    sequence: str | None = None,
    domain: Domain | None = None,
    score: Score = "bdeu",
    strength: float = 1.0,
    max_parents: int = 4,
    required: Iterable[tuple[str, str]] = (),
    forbidden: Iterable[tuple[str, str]] = (),
    restarts: int = 3,
    rng: np.random.Generator | int = 0,
) -> DynamicStructure:
    """Search for the structure of a dynamic network of the largest score. **Not private**: it reveals the records.

    The first slice and the later ones are searched apart, as `learn_structure` does; an arc of a later slice comes from
    the same slice or from the one before. What its arcs say is as `learn_dynamic` counts.

    Parameters
    ----------
    data, time, sequence, domain
        See `learn_dynamic`; records are not weighted.
    method, score, strength, max_parents, restarts, rng
        See `learn_structure`.
    required, forbidden : iterable of (parent, child)
        Arcs within each slice, or from the slice before, as ``("rain[t-1]", "rain")``.

    Returns
    -------
    DynamicStructure

    Raises
    ------
    ValueError
        As of `learn_dynamic` and `learn_structure`.
    ModelTooLargeError
        If there are too many attributes for "exact", which counts those of the slice before too.

    References
    ----------
    Friedman, Murphy and Russell 1998, "Learning the structure of dynamic probabilistic networks".

    Examples
    --------
    >>> rng = np.random.default_rng(0)
    >>> frame = {"day": range(400), "wind": rng.integers(0, 2, 400), "rain": np.repeat(rng.integers(0, 2, 100), 4)}
    >>> learn_dynamic_structure(frame, time="day").later
    {'wind': (), 'rain': ('rain[t-1]',)}
    """
    check_choice("method", method, ("hill_climbing", "exact"))
    slices = _Slices.of(data, time, sequence, domain, None)
    names = slices.first.domain.attributes
    earlier = [*map(before, names)]
    needed, unwanted = [*map(arc_of, required)], [*map(arc_of, forbidden)]
    options: dict[str, Any] = {"score": score, "strength": strength, "max_parents": max_parents}
    options |= {"restarts": restarts, "rng": rng}

    def within(arcs: list[tuple[str, str]]) -> list[tuple[str, str]]:
        return [arc for arc in arcs if arc[0] not in earlier]

    def search(records: Dataset, needed: list[tuple[str, str]], unwanted: list[tuple[str, str]]) -> LearnedStructure:
        return learn_structure(records, method, required=needed, forbidden=unwanted, **options)

    first = search(slices.first, within(needed), within(unwanted))
    # Nothing leads to the slice before: what its attributes depend on is what they do in their own slice.
    to_earlier = [(p, child) for child in earlier for p in (*earlier, *names) if p != child]
    later = search(slices.later, needed, [*unwanted, *to_earlier])
    scores = FamilyScores(slices.later.domain, slices.later.columns, score, strength)
    alone = sum(float(scores.of(i, [0])[0]) for i in range(len(earlier)))
    parents: dict[str, Clique] = {a: later.parents[a] for a in names}
    return DynamicStructure(dict(first.parents), parents, first.score + later.score - alone)


@dataclass(frozen=True)
class _Slices:
    """First records of sequences; and all records beside those of the slice before, over the attributes of both."""

    first: Dataset
    later: Dataset

    @classmethod
    def of(
        cls, data: Frame, time: str | None, sequence: str | None, domain: Domain | None, weights: ArrayLike | None
    ) -> _Slices:
        known, marks = _split(data, [name for name in (time, sequence) if name is not None])
        if domain is None:
            domain = known.domain if isinstance(known, Dataset) else domain_of(known)
        check_domain(domain)
        if not domain:
            raise ValueError("sequences need at least one attribute beside their marks, got none")
        earlier_names = slice_before(domain)
        n_rows, codes = as_codes(domain, known)
        if uneven := [name for name, values in marks.items() if len(values) != n_rows]:
            raise ValueError(f"columns need equal lengths: {uneven[0]!r} has {len(marks[uneven[0]])}, others {n_rows}")
        if absent := [a for a in domain if a not in codes or (codes[a] == MISSING).any()]:
            raise ValueError(f"sequences need a known value of each attribute; {listed(absent)} miss some: impute them")
        times = checked_weights(weights, data.weights if isinstance(data, Dataset) else None, n_rows)
        order, starts, follows = _order(n_rows, marks.get(time or ""), marks.get(sequence or ""), time)
        first, now, earlier = order[starts], order[follows], order[np.flatnonzero(follows) - 1]
        if not len(now):
            raise ValueError("a dynamic network needs a record whose sequence has one at the time before; none has")
        both: dict[str, Any] = {**earlier_names, **{a: domain[a] for a in domain}}
        columns = {**{before(a): codes[a][earlier] for a in domain}, **{a: codes[a][now] for a in domain}}
        return cls(
            Dataset({a: codes[a][first] for a in domain}, domain, None if times is None else times[first]),
            Dataset(columns, Domain(both), None if times is None else times[now]),
        )


def _split(data: Frame, names: list[str]) -> tuple[Frame, dict[str, list[Any]]]:
    """Return a frame without some columns, and the values of these."""
    columns = list(data.domain) if isinstance(data, Dataset) else column_names(data)
    if len(set(names)) < len(names):
        raise ValueError(f"time and sequence are both the column {names[0]!r}")
    if absent := [name for name in names if name not in columns]:
        raise ValueError(f"there is no column {absent[0]!r}; the columns are {listed([*map(str, columns)])}")
    kept = [name for name in columns if name not in names]
    if isinstance(data, Dataset):
        marks: dict[str, Any] = {a: as_values(data.domain, a, data.columns[a].astype(np.intp)) for a in names}
        known: Frame = Dataset({a: data.columns[a] for a in kept}, data.domain.project(kept))
    else:
        marks = {name: column_values(data[name]) for name in names}
        known = {name: data[name] for name in kept}
    values = {a: [bare(v.item() if isinstance(v, np.generic) else v) for v in as_list(c)] for a, c in marks.items()}
    for name, column in values.items():
        if None in column:
            raise ValueError(f"column {name!r} needs a value in every record; row {column.index(None)} has none")
        if not all(isinstance(value, Hashable) for value in column):
            raise ValueError(f"column {name!r} needs single values")
    return known, values


def _order(
    n_rows: int, times: list[Any] | None, sequences: list[Any] | None, name: str | None
) -> tuple[NDArray[np.intp], NDArray[np.bool_], NDArray[np.bool_]]:
    """Return rows by sequence and time; which of them begin a sequence, and which follow one at the time before."""
    numbers: dict[Any, int] = {}
    of = np.array([numbers.setdefault(s, len(numbers)) for s in sequences or [0] * n_rows], dtype=np.intp)
    if times is None:
        at = np.arange(n_rows)
    else:
        whole = [type(t) in {int, float} and abs(t) < _LATEST and t == int(t) for t in times]
        if not all(whole):
            raise ValueError(
                f"column {name!r} needs whole numbers, one for each slice; row {whole.index(False)} differs"
            )
        at = np.array([int(t) for t in times], dtype=np.int64)
    order = np.lexsort((at, of))
    of, at = of[order], at[order]
    same = np.zeros(n_rows, dtype=bool)
    same[1:] = of[1:] == of[:-1]
    step = np.diff(at, prepend=0)
    if times is None:
        return order, ~same, same
    if (twice := same & (step == 0)).any():
        row = int(order[twice.argmax()])
        raise ValueError(f"row {row} (the first is 0) has the time of another record of its sequence")
    return order, ~same, same & (step == 1)
