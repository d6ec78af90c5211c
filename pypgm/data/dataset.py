"""Records as columns of codes."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence, Sized
from dataclasses import replace
from functools import partial
from typing import Any, Protocol

import numpy as np
from numpy.typing import ArrayLike, NDArray

from pypgm._base.html import Shown
from pypgm._base.numeric import float_array, is_masked, whole_array
from pypgm.data import tabulate
from pypgm.data.columns.values import Values
from pypgm.data.schema.person import KEY, Keys, Person
from pypgm.data.sources.encoding import columns_of, encoded
from pypgm.data.sources.foreign import guarded
from pypgm.data.sources.frames import Frame, Library, as_columns, as_frame
from pypgm.domain import Clique, Domain, as_clique, check_domain, listed, nearest
from pypgm.factor import Factor


class Encoder(Protocol):
    """Encoder of tables as records over a domain, as a `pypgm.Schema` is."""

    person: Person | None

    def check_domain(self, domain: Domain) -> None:
        """Raise ``ValueError`` unless the domain is the domain of its columns."""

    def encode(self, frame: Frame, *, ignore_extra: bool = False) -> Dataset:
        """Return the records of a frame."""


class Dataset(Shown):
    """Records of a domain: one column of integer codes for each attribute.

    Columns are kept as they are, of any integer type and stride, and not copied (one in foreign byte order or at odd
    addresses is). No records at all are a valid table.

    Parameters
    ----------
    columns : mapping of str to array_like of int, shape (n_records,)
        Codes ``0 .. size - 1`` of each attribute of the domain, and of nothing else.
    domain : Domain
    weights : array_like of float, shape (n_records,), optional
        Weight of each record, finite and not negative; 1 if left out.
    schema : Schema, optional
        The public schema that encoded the records; `pypgm.Schema.encode` and `pypgm.read_table` set it. Every private
        release of the records keeps its promises: records per person, rules, ordinal columns. A table made of some rows
        of another has them as long as it gets the other's schema:
        ``Dataset(columns, data.domain, schema=data.schema)``, with ``persons=data.persons[rows]`` if it names a person.
    persons : sequence of length n_records, or mapping of str to sequence, optional
        The person of each record, where the schema names a person: the values of the column it names, or of several by
        their names, or `persons` of another table. Without them no private release is made by such a schema.

    Attributes
    ----------
    persons : ndarray of bytes, shape (n_records,), or None
        The key of each record's person, equal only for the records of one.

    Raises
    ------
    ValueError
        If a column is missing, unknown, of another length or not one-dimensional, or a code or weight lies outside its
        range; the schema is of another domain; or persons come without a schema that names one, or are not one for each
        record. The message names the column, the row (the first is 0) and the range, never the value.
    TypeError
        If a column does not hold integers.

    Examples
    --------
    >>> domain = Domain({"age": 85, "sex": ["F", "M"]})
    >>> data = Dataset({"age": [30, 41, 30], "sex": [0, 1, 1]}, domain)
    >>> data
    Dataset(3 records; age: 85, sex: 2)
    >>> data.project("sex").values
    array([1., 2.])
    """

    __slots__ = ("columns", "domain", "persons", "schema", "weights")

    columns: dict[str, NDArray[Any]]
    domain: Domain
    persons: Keys | None
    schema: Any  # a `pypgm.Schema`, which makes datasets: its name is not known here
    weights: NDArray[np.float64] | None

    def __init__(
        self,
        columns: Mapping[str, ArrayLike],
        domain: Domain,
        weights: ArrayLike | None = None,
        *,
        schema: Encoder | None = None,
        persons: Values | Mapping[str, Values] | None = None,
    ) -> None:
        check_domain(domain)
        if schema is not None:
            schema.check_domain(domain)
        if not isinstance(columns, Mapping):
            raise TypeError(f"records need a mapping of names to columns of codes, got {type(columns).__name__}")
        _check_names(tuple(columns.keys()), domain)
        self.domain = domain
        self.schema = schema
        self.columns = {name: _as_codes(name, columns[name]) for name in domain}
        check_lengths(self.columns)
        tabulate.check_codes(self.columns, domain)
        self.weights = None if weights is None else _as_weights(weights, self._length(weights))
        self.persons = None if persons is None else self._keys_of(persons)

    @classmethod
    def _of_codes(cls, columns: dict[str, NDArray[Any]], domain: Domain) -> Dataset:
        """Return records whose columns were made in the order of the domain and of its codes, so that none is checked.

        Checks take longer than a single record of a network does to draw.
        """
        data = cls.__new__(cls)
        data.columns, data.domain = columns, domain
        data.schema = data.weights = data.persons = None
        return data

    @classmethod
    def from_frame(cls, frame: Frame, schema: Encoder | Domain, *, ignore_extra: bool = False) -> Dataset:
        """Return the records of a data frame; columns are matched by name, and labels become codes.

        Parameters
        ----------
        frame : data frame, or mapping of str to sequence
            A frame of pandas, polars, pyarrow, or any with the Arrow C stream; needs the extra ``[frames]``.
        schema : Schema or Domain
            With a schema, the same as `Schema.encode`. With a domain, a column of the frame holds labels where its
            attribute has them, else codes.
        ignore_extra : bool
            Leave out columns that the domain does not have, instead of refusing them.

        Raises
        ------
        ValueError
            With every fault: columns missing or unknown, and for each column the first row whose value does not
            fit, never the value.
        TypeError
            If it is not a frame.
        ImportError
            If narwhals is not installed.

        Examples
        --------
        >>> Dataset.from_frame({"sex": ["M", "F"], "age": [31, 7]}, Domain({"age": 85, "sex": ["F", "M"]}))
        Dataset(2 records; age: 85, sex: 2)
        """
        if isinstance(schema, Domain):
            return cls(encoded(columns_of(schema), frame, ignore_extra=ignore_extra), schema)
        if not hasattr(schema, "encode"):
            raise TypeError(f"schema needs a Schema or a Domain, got {type(schema).__name__}")
        return schema.encode(frame, ignore_extra=ignore_extra)

    def to_frame(self, library: Library = "pandas", *, value: str = "weight") -> Frame:
        """Return the records as a data frame of labels, or of codes where an attribute has no labels.

        Where records have a schema, ``schema.decode(data)`` returns the values of its columns instead of labels, and
        `pypgm.data.as_frame` a frame of those values.

        Parameters
        ----------
        library : {"pandas", "polars", "pyarrow"}
            Library of the frame; it must be installed.
        value : str
            Name of the column of weights, if records have weights.

        Raises
        ------
        ValueError
            If the library is another one, or an attribute has the name of the column of weights.
        ImportError
            If the library is not installed.

        Examples
        --------
        >>> Dataset({"sex": [1, 0]}, Domain({"sex": ["F", "M"]})).to_frame()  # doctest: +SKIP
          sex
        0   M
        1   F
        """
        columns, places = {}, {}
        for name, column in columns_of(self.domain).items():
            codes = self.columns[name]
            if len(codes) >= column.size:  # each value that occurs is converted once
                occurs = np.bincount(codes, minlength=column.size) > 0
                places[name] = (np.cumsum(occurs) - 1)[codes]
                codes = np.flatnonzero(occurs)
            columns[name] = column.decode(codes)
        if self.weights is not None:
            if value in columns:
                raise ValueError(f"the table has an attribute {value!r}; name the column of weights differently")
            columns[value] = self.weights
        return as_frame(columns, library, places=places)

    def head(self, rows: int = 5, library: Library = "pandas") -> Frame:
        """Return the first records as a data frame, see `to_frame`.

        Examples
        --------
        >>> Dataset({"sex": [1, 0]}, Domain({"sex": ["F", "M"]})).head(1)  # doctest: +SKIP
          sex
        0   M
        """
        columns = {name: codes[:rows] for name, codes in self.columns.items()}
        return Dataset(columns, self.domain, None if self.weights is None else self.weights[:rows]).to_frame(library)

    def __getitem__(self, name: str) -> NDArray[Any]:
        """Return the codes of an attribute; ``KeyError`` if there is none of that name.

        Examples
        --------
        >>> Dataset({"sex": [1, 0]}, Domain({"sex": ["F", "M"]}))["sex"].tolist()
        [1, 0]
        """
        if not isinstance(name, str) or name not in self.columns:
            raise KeyError(f"unknown attribute {name!r}{nearest(str(name), self.domain)}")
        return self.columns[name]

    def __iter__(self) -> Iterator[str]:
        return iter(self.columns)

    def __contains__(self, name: object) -> bool:
        return name in self.columns

    @property
    def n_records(self) -> int:
        """Number of records."""
        return self._length(() if self.weights is None else self.weights)

    def count(self, cliques: Sequence[str | Clique], n_threads: int = 0) -> list[NDArray[np.int64]]:
        """Count the records of each cell of some cliques' tables, exactly.

        Parameters
        ----------
        cliques : sequence of tuple of str
            The attributes of each table, in the order of its axes.
        n_threads : int, default 0
            Threads across cliques; 0 takes all the machine has. The counts are the same for any number.

        Returns
        -------
        list of ndarray of int64, shape (domain.size(clique),)
            Number of records of each cell, in C order over the clique as given.

        Raises
        ------
        ValueError
            If a clique does not fit the domain, or the records have weights (use `project`).
        ModelTooLargeError
            If the tables do not fit half of the memory available; it is raised before memory is taken.

        Examples
        --------
        >>> data = Dataset({"a": [0, 1, 1], "b": [1, 0, 1]}, Domain({"a": 2, "b": 2}))
        >>> data.count([("a", "b")])
        [array([0, 1, 1, 1])]
        """
        if self.weights is not None:
            raise ValueError("counts need records without weights; project() adds weights up")
        if isinstance(cliques, str):
            raise TypeError(f"count needs a sequence of cliques, got the name {cliques!r}; write [({cliques!r},)]")
        return tabulate.count(self.columns, self.domain, [as_clique(c) for c in cliques], n_threads)

    def kept(self, secret: bytes) -> Dataset:
        """Return the records that are kept of each person by a secret of 16 bytes, see `pypgm.data.Person`.

        Raises
        ------
        ValueError
            If the schema names no person.
        """
        return self.where(self.is_kept(secret))

    def is_kept(self, secret: bytes) -> NDArray[np.bool_]:
        """Return which records `kept` keeps, shape (n_records,).

        Raises
        ------
        ValueError
            If the schema names no person.
        """
        person = self._person()
        if self.persons is None:
            names = listed([repr(name) for name in person.columns])
            needed = f"at most {person.at_most} records of each person are kept, whom {names} names"
            raise ValueError(f"{needed}: these records need persons=, or to be read by the schema")
        return person.kept(self.persons, self.columns.values(), secret)

    def where(self, chosen: NDArray[np.bool_]) -> Dataset:
        """Return some of the records, in their order, with their weights and persons.

        Examples
        --------
        >>> data = Dataset({"a": [0, 1, 1]}, Domain({"a": 2}))
        >>> data.where(np.array([True, False, True])).columns["a"].tolist()
        [0, 1]
        """
        columns = {name: codes[chosen] for name, codes in self.columns.items()}
        weights = None if self.weights is None else self.weights[chosen]
        persons = None if self.persons is None else self.persons[chosen]
        return Dataset(columns, self.domain, weights, schema=self.schema, persons=persons)

    def _taken(self, rows: NDArray[np.integer[Any]], attributes: Clique | None = None) -> Dataset:
        """Return records by their places, each as often as it is named, with all attributes or some; no weights."""
        domain = self.domain if attributes is None else self.domain.project(self.domain.canonical(attributes))
        return Dataset._of_codes({a: np.asarray(self.columns[a])[rows] for a in domain}, domain)

    def _person(self) -> Person:
        person: Person | None = None if self.schema is None else self.schema.person
        if person is None:
            raise ValueError("persons need a schema that names the person of a record")
        return person

    def _keys_of(self, persons: Values | Mapping[str, Values]) -> Keys:
        """Return the keys of the records' persons."""
        person = self._person()
        is_made = isinstance(persons, np.ndarray) and persons.dtype == KEY  # one key, of however many columns
        one = replace(person, column=person.columns[0]) if is_made else person
        keys = one.keys(as_columns(persons if isinstance(persons, Mapping) else {person.columns[0]: persons}))
        if keys.shape != (len(self),):
            raise ValueError(f"persons need one value for each of {len(self)} records, got shape {keys.shape}")
        return keys

    def project(self, clique: str | Iterable[str]) -> Factor:
        """Return the table of some attributes: the records of each cell, or the sum of their weights.

        Parameters
        ----------
        clique : str or iterable of str
            Attributes, in the order of the table's axes.

        Returns
        -------
        Factor
            Counts over ``domain.project(clique)``.

        Raises
        ------
        ValueError
            If the clique does not fit the domain.
        ModelTooLargeError
            If the table does not fit half of the memory available.

        Examples
        --------
        >>> data = Dataset({"a": [0, 1, 1]}, Domain({"a": 2}), weights=[0.5, 1.0, 1.0])
        >>> data.project("a").values
        array([0.5, 2. ])
        """
        names = as_clique(clique)
        if self.weights is None:
            table = self.count([names])[0].astype(np.float64)
        else:
            table = tabulate.add_weights(self.columns, self.domain, names, self.weights)
        return Factor(self.domain.project(names), table)

    def _ipython_key_completions_(self) -> list[str]:
        return list(self.domain)

    def __len__(self) -> int:
        return self.n_records

    def __repr__(self) -> str:
        weighted = "" if self.weights is None else "weighted "
        inside = repr(self.domain).removeprefix("Domain(")
        return f"Dataset({self.n_records} {weighted}records; {inside}"

    def _length(self, otherwise: ArrayLike) -> int:
        """Return the length of the columns; a domain without attributes has that of `otherwise`."""
        return len(next(iter(self.columns.values()), np.atleast_1d(otherwise)))


def _check_names(names: Sequence[object], domain: Domain) -> None:
    given = set(names)
    missing = [name for name in domain if name not in given]
    if missing:
        raise ValueError(f"the domain needs a column for each attribute; missing: {', '.join(map(repr, missing))}")
    extra = [name for name in names if name not in domain]
    if extra:
        raise ValueError(f"columns without an attribute in the domain: {', '.join(map(repr, extra))}")


def _as_codes(name: str, column: ArrayLike) -> NDArray[Any]:
    if is_masked(column):
        raise TypeError(f"column {name!r} needs plain integer codes, got a masked array; give missing values a code")
    codes = guarded(f"reading column {name!r}", partial(whole_array, column))
    if codes.size == 0 and not isinstance(column, np.ndarray):
        codes = codes.astype(np.int64)
    if codes.ndim != 1:
        raise ValueError(f"column {name!r} needs one dimension, got shape {codes.shape}")
    if codes.dtype.kind not in "iu":
        raise TypeError(f"column {name!r} needs integer codes, got dtype {codes.dtype}{_way_out(codes.dtype.kind)}")
    return np.require(codes.astype(codes.dtype.newbyteorder("="), copy=False), requirements="A")


def _way_out(kind: str) -> str:
    ways = {
        "b": "; pass column.astype('uint8')",
        "f": "; give missing values a code of their own, and pass integers",
    }
    texts = "; pypgm.Dataset.from_frame(columns, domain) takes labels, codes are numbers from 0 in the domain's order"
    return ways.get(kind, texts)


def check_lengths(columns: Mapping[str, Sized]) -> None:
    """Raise ``ValueError`` unless columns have equal numbers of values."""
    first = next(iter(columns), "")
    for name, column in columns.items():
        if len(column) != len(columns[first]):
            lengths = f"{len(columns[first])} for {first!r} and {len(column)} for {name!r}"
            raise ValueError(f"columns need equal lengths, got {lengths}")


def _as_weights(weights: ArrayLike, n_records: int) -> NDArray[np.float64]:
    values = np.ascontiguousarray(float_array("weights", weights))
    if values.shape != (n_records,):
        raise ValueError(f"weights need one entry for each of {n_records} records, got shape {values.shape}")
    bad = ~np.isfinite(values) | (values < 0)
    if bad.any():
        raise ValueError(f"weights must be finite and not negative; row {int(bad.argmax())} (the first is 0) is not")
    return values
