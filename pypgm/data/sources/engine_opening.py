"""The first query of a table in an engine: it counts every column, and whatever has no code."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterable, Mapping, Sequence

import numpy as np
from numpy.typing import NDArray

from pypgm._base.memory import check_tables_fit
from pypgm.data.columns.bins import MOST_BINS
from pypgm.data.schema.person import NO_KEY
from pypgm.data.schema.schema import Schema
from pypgm.data.sources.encoding import refuse
from pypgm.data.sources.engine_codes import UnfitError
from pypgm.data.sources.engine_groups import Groups, Queries, covers
from pypgm.data.sources.engine_numbers import Expression
from pypgm.data.sources.engine_records import Codes
from pypgm.data.sources.engine_texts import MAX_TEXTS, Texts
from pypgm.data.sources.frames import imported
from pypgm.domain import Clique, Domain, listed

_RULE_CELLS = 1 << 16  # of a rule, at most, whose combinations are counted at once
_NOBODY = "nobody"


def columns_of(domain: Domain, clique: Clique) -> tuple[str, ...]:
    """Return the names of the columns of codes of some attributes, in a query."""
    return tuple(f"c{domain.index(a)}" for a in clique)


def sizes_of(domain: Domain) -> dict[str, int]:
    """Return the number of codes in each column of codes, by its name in a query."""
    return {f"c{i}": size for i, size in enumerate(domain.shape)}


def tables_of(
    domain: Domain, cliques: Iterable[Clique], codes: Mapping[str, NDArray[np.int64]], counts: NDArray[np.int64]
) -> dict[Clique, NDArray[np.int64]]:
    """Return the tables of cliques, in C order over each as given, from the codes of groups.

    Raises
    ------
    MisfitsError
        If values have no code.
    """
    unfit = [a for a, values in codes.items() if ((values < 0) | (values >= domain.size((a,)))).any()]
    if unfit:
        raise MisfitsError(unfit)
    tables = {}
    for clique in cliques:
        tables[clique] = np.zeros(domain.size(clique), dtype=np.int64)
        cells = np.zeros(len(counts), dtype=np.int64)
        for a in clique:
            cells = cells * domain.size((a,)) + codes[a]
        np.add.at(tables[clique], cells, counts)
    return tables


class MisfitsError(ValueError):
    """Some values of attributes have no code.

    Parameters
    ----------
    attributes : sequence of str
    """

    def __init__(self, attributes: Sequence[str]) -> None:
        super().__init__("values without a code")
        self.attributes = attributes


class Opening:
    """Counts of each attribute of a table, and the problem of each column with a value that has no code.

    Parameters
    ----------
    queries : Queries
    schema : Schema

    Attributes
    ----------
    n_records : int
    tables : dict from tuple of str to ndarray of int64
        Tables of cliques.
    problems : dict from str to str
    """

    def __init__(self, queries: Queries, schema: Schema) -> None:
        self._queries, self._schema, self._domain = queries, schema, schema.domain
        self.n_records = 0
        self.tables: dict[Clique, NDArray[np.int64]] = {}
        self.problems: dict[str, str] = {}
        self._of_persons: list[str] = []

    def count_first(self, table: Expression, codes: Codes, persons: Mapping[str, Expression]) -> None:
        """Count the attributes that need no text, and encode the texts of the others.

        Parameters
        ----------
        table : ibis.Table
        codes : Codes
        persons : mapping from str to ibis.Value
            Keys of persons.

        Raises
        ------
        ModelTooLargeError
            If the counts of a column do not fit in memory.
        """
        ways = "or declare fewer values"
        check_tables_fit(self._domain, [(a,) for a in self._domain], np.dtype(np.int64).itemsize, way_out=ways)
        attributes = {f"c{self._domain.index(a)}": codes.of(a)[0] for a in codes.direct}
        keys = {f"t{i}": key for i, key in enumerate(codes.texts.keys.values())}
        nobody = self._nobody(persons)
        coded = self._queries.query(table.select(**attributes, **keys, **nobody), {})
        ruled = [self._domain.canonical(rule.columns) for rule in self._schema.rules]
        small = [c for c in ruled if set(c) <= set(codes.direct) and self._domain.size(c) <= _RULE_CELLS]
        sets = covers(self._domain, [*((a,) for a in codes.direct), *small])
        # So many groups come only from a column with too many texts.
        rows = sum(math.prod(self._domain.size((a,)) + 2 for a in clique) for clique in sets)
        limit = rows + len(keys) * (MAX_TEXTS + MOST_BINS) + 3
        named = [columns_of(self._domain, clique) for clique in sets]
        every = [*named, *((name,) for name in (*keys, *nobody)), ()]
        sizes = {**sizes_of(self._domain), **dict.fromkeys(nobody, 2)}
        groups = self._queries.groups(coded, every, sizes, limit if keys else None)
        self.n_records = int(groups[()][1].sum())
        for clique, within in sets.items():
            self._add(clique, within, groups[columns_of(self._domain, clique)])
        for name, key in zip(codes.texts.keys, keys, strict=True):
            self._encode(codes.texts, name, groups[key,][0][key].tolist(), groups[key,][1])
        if nobody and groups[_NOBODY,][0][_NOBODY].any():
            self._of_persons.append(f"needs a value that names a person in each record, and has none in some{NO_KEY}")

    def count_rest(self, query: Callable[[list[str]], str]) -> None:
        """Count the attributes that are computed from columns with texts.

        Parameters
        ----------
        query : callable
            ``query(attributes)`` returns the query of the codes of some attributes.
        """
        counted = {a for clique in self.tables for a in clique}
        rest = [a for a in self._domain if a not in counted]
        sets = covers(self._domain, [(a,) for a in rest])
        named = [columns_of(self._domain, clique) for clique in sets]
        groups = self._queries.groups(query(rest), named, sizes_of(self._domain)) if sets else {}
        for clique, within in sets.items():
            self._add(clique, within, groups[columns_of(self._domain, clique)])

    def refuse(self) -> None:
        """Raise ``ValueError`` if there is a problem."""
        names = [name for name in {**self._schema.reading, **self.problems} if name in self.problems]
        keys = listed([repr(name) for name in self._schema.key_columns])
        of_columns = [f"column {name!r}: {self.problems[name]}" for name in names]
        refuse("the table", [*of_columns, *(f"column {keys}: {text}" for text in self._of_persons)])

    def _nobody(self, persons: Mapping[str, Expression]) -> dict[str, Expression]:
        """Return whether no person is named, if that is refused."""
        if self._schema.person is None or self._schema.person.null != "refuse":
            return {}
        ibis = imported("ibis", "a table of an engine", "ibis")
        return {_NOBODY: ibis.cases(*((key.isnull(), 1) for key in persons.values()), else_=0).cast("int64")}

    def _add(self, clique: Clique, within: Sequence[Clique], groups: Groups) -> None:
        """Take the tables of the cliques within another one from its groups."""
        codes, counts = groups
        try:
            self.tables |= tables_of(self._domain, within, dict(zip(clique, codes.values(), strict=True)), counts)
        except MisfitsError as error:
            for a in error.attributes:
                self.problems[a] = f"needs {self._schema.columns[a].allowed}, and has another value or none"

    def _encode(self, texts: Texts, name: str, keys: Sequence[str], counts: NDArray[np.int64]) -> None:
        """Encode the texts of a column, and count it if it is an attribute."""
        try:
            codes = texts.encode(name, keys)
        except UnfitError as error:
            self.problems[name] = str(error)
            return
        if name in self._domain:
            of_keys = np.array([codes[key] for key in keys], dtype=np.int64)
            self._add((name,), [(name,)], ({name: of_keys}, counts))
