"""Public calls that take raw records, in every container: a value of one record must not re-code another's."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from fractions import Fraction
from functools import partial
from itertools import pairwise
from typing import Any

import numpy as np

import pypgm
from pypgm import mrf
from pypgm.audit.finding import Finding, finding, skipped
from pypgm.audit.mechanisms import Runs, check_calibration, check_charges, check_noninterference, run_pairs
from pypgm.audit.pairs import DOMAIN, Pair, far_pairs, neighbour_pairs
from pypgm.audit.subjects import FIELD_RADIUS, SPELLED
from pypgm.audit.tiers import check_claims
from pypgm.audit.trace import Mechanism
from pypgm.bayes import learn_private
from pypgm.data import Dataset, EngineTable, Schema, read_table, scan
from pypgm.domain import listed
from pypgm.integrations import sdv, smartnoise
from pypgm.mechanisms.tables import mechanism_names
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy
from selfcheck.command import own_folder, run_command
from selfcheck.containers import ROWS, TYPED, UNTYPED, Columns, Container, Typed, is_there, reading_of, typed

_EPSILON, _DELTA = Fraction(9, 2), Fraction(1, 10**6)
_BUDGET = Budget(epsilon=_EPSILON, delta=_DELTA)

Release = Callable[[Any, dict[str, Any], Budget, Privacy], Any]
"""Called as release(source, fields of a schema, budget, privacy)."""


@dataclass(frozen=True, slots=True)
class Door:
    """Public call that takes raw records.

    Attributes
    ----------
    public : tuple of str
        The names under which users find it.
    release : callable
    containers : mapping of str to callable
        What holds the records that it takes.
    tables : sequence of str
        Which of `RAW` it is looked at with: of those that others read by the same reader a few.
    has_names : bool
        Whether its columns have names; else they are "0", "1" and on.
    """

    public: tuple[str, ...]
    release: Release
    containers: Mapping[str, Container]
    tables: Sequence[str] = ("typed", "whole floats and a text")
    has_names: bool = True

    @property
    def names(self) -> Mapping[str, str]:
        """Names of the columns, by attribute."""
        return _NAMES if self.has_names else _NUMBERED


@dataclass(frozen=True, slots=True)
class Raw:
    """Raw values of the codes in the audit's tables, and their schema.

    Attributes
    ----------
    values : mapping of str to sequence
        Of each attribute the raw value of each code.
    columns : mapping of str to object
        The declarations of a schema.
    is_typed : bool
        Whether the values of a column have one type.
    is_open : bool
        True if values are found privately; the mechanism then also runs on no records, which is not charged.
    is_checked : bool
        Whether the schema names the column of a person's key, instead of a number of records to be believed.
    privacy : Privacy
        With several records a person the neighbour is a whole person more, whose records have one key.
    """

    values: Mapping[str, Sequence[Any]]
    columns: Mapping[str, Any]
    is_typed: bool = False
    is_open: bool = False
    is_checked: bool = False
    privacy: Sequence[Privacy] = field(default=(Privacy(), Privacy("replace")))

    @property
    def is_keyed(self) -> bool:
        """True if a column names the person of each record."""
        return self.n_records > 1

    @property
    def n_records(self) -> int:
        """Largest number of records of a person."""
        return self.privacy[0].records_per_person

    def schema(self, names: Mapping[str, str]) -> dict[str, Any]:
        """Return the fields of a schema whose columns have other names."""
        fields: dict[str, Any] = {"columns": {names[a]: dict(c) for a, c in self.columns.items()}}
        if self.is_keyed:
            believed = {"drop": [names[_KEY]], "records_per_person": self.n_records}
            checked = {"person": {"column": names[_KEY], "at_most": self.n_records}}
            fields |= checked if self.is_checked else believed
        return fields

    def raw(self, data: Any, n_others: int, names: Mapping[str, str]) -> Columns:
        """Return the raw values of a table whose records after the first `n_others` are one person's."""
        codes = {a: data.unnoted(a).tolist() for a in DOMAIN}
        columns = {names[a]: typed((self.values[a][c] for c in codes[a]), self.values[a]) for a in DOMAIN}
        keys = Typed((f"p{min(i, n_others)}" for i in range(len(codes["a"]))), str)
        return columns | ({names[_KEY]: keys} if self.is_keyed else {})


_KEY = "who"
_ATTRIBUTES = (*DOMAIN.attributes, _KEY)
_NAMES = {a: a for a in _ATTRIBUTES}
_NUMBERED = {a: str(i) for i, a in enumerate(_ATTRIBUTES)}

_CLOSED = {
    "a": {"kind": "categorical", "values": ["x", "a long name"], "null": True},
    "b": {"kind": "integer", "low": 0, "high": 1 << 41, "edges": [9]},
    "c": {"kind": "boolean"},
}
_TYPED: dict[str, Sequence[Any]] = {"a": ["x", "a long name", None], "b": [7, 1 << 40], "c": [True, False]}
_OPEN = _CLOSED | {"b": {"kind": "integer", "low": 0, "high": 99, "bins": {"quantiles": 2, "share": "1/4"}}}


_ONE, _THREE = (Privacy(),), (Privacy(records_per_person=3),)


def _odd(values: Sequence[Any], labels: Sequence[str]) -> Raw:
    """Return a column of values of which the last has another type than the others, and is no label."""
    plain = {"b": {"kind": "categorical", "values": ["u", "v"]}, "c": {"kind": "boolean"}}
    fields = {"a": {"kind": "categorical", "values": list(labels), "other": True, "null": True}}
    return Raw({"a": values, "b": ["u", "v"], "c": [True, False]}, fields | plain)


RAW: dict[str, Raw] = {
    "typed": Raw(_TYPED, _CLOSED, is_typed=True, privacy=_ONE),
    "open": Raw(_TYPED | {"b": [7, 80]}, _OPEN, is_typed=True, is_open=True, privacy=_ONE),
    "several records a person": Raw(_TYPED, _CLOSED, is_typed=True, privacy=_THREE),
    "persons by their keys": Raw(_TYPED, _CLOSED, is_typed=True, is_checked=True, privacy=_THREE),
    "booleans and a number": _odd([True, False, 5], ["True", "False"]),
    "floats and a text": _odd([0.1, 1e-07, "x"], ["0.1", "0.0000001"]),
    "whole floats and a text": _odd([1.0, 2.0, "x"], ["1", "2"]),
    "large integers and a fraction": _odd([(1 << 53) + 1, (1 << 53) + 3, 0.5], [str((1 << 53) + i) for i in (1, 3)]),
    "larger integers and a negative one": _odd(
        [(1 << 63) + 5, (1 << 63) + 7, -1], [str((1 << 63) + i) for i in (5, 7)]
    ),
    "a boolean among texts and nulls": _odd([None, "yes", True], ["yes"]),
}
"""Tables of raw values, named by their first column."""


def _synthesized(source: Any, fields: dict[str, Any], budget: Budget, privacy: Privacy) -> Any:
    return pypgm.synthesize(
        source,
        fields,
        budget=budget,
        neighbours=privacy.neighbours,
        mechanism="mst",
        iterations=2,
        **reading_of(source),
    )


def _mechanism(name: str, source: Any, fields: dict[str, Any], budget: Budget, privacy: Privacy) -> Any:
    more: dict[str, Any] = {"schema": fields, "budget": budget, "neighbours": privacy.neighbours}
    function = SPELLED[name]
    if name == "jam":
        domain = Schema.from_dict(fields).provisional.domain
        public = Dataset({a: np.arange(7) % domain.size((a,)) for a in domain}, domain)
        function, more = pypgm.mechanisms.jam, more | {"public": public, "iterations": 2, "rounds": 3}
    return function(source, **more)


def _network(source: Any, fields: dict[str, Any], budget: Budget, privacy: Privacy) -> Any:
    edges = [*pairwise(DOMAIN.attributes)]
    return learn_private(source, edges, schema=fields, budget=budget, neighbours=privacy.neighbours, iterations=2)


def _encoded(
    encode: Callable[[Schema, Any], Any], source: Any, fields: dict[str, Any], budget: Budget, privacy: Privacy
) -> Any:
    return SPELLED["mst"](encode(_closed(fields), source), budget=budget, neighbours=privacy.neighbours)


def _closed(fields: dict[str, Any]) -> Schema:
    made = Schema.from_dict(fields)
    return made if isinstance(made, Schema) else made.provisional


def _field(source: Any, fields: dict[str, Any], budget: Budget, privacy: Privacy) -> Any:
    records = _closed(fields).encode(source)
    return mrf.learn_pairwise(records, budget=budget, neighbours=privacy.neighbours, radius=FIELD_RADIUS, steps=2)


def _graph(source: Any, fields: dict[str, Any], budget: Budget, privacy: Privacy) -> Any:
    records = _closed(fields).encode(source)
    how: dict[str, Any] = {"radius": FIELD_RADIUS, "eta": 0.1, "steps": 2}
    return mrf.learn_structure(records, budget=budget, neighbours=privacy.neighbours, **how)


def _fitted(synthesizer: Any, source: Any) -> Any:
    synthesizer.fit(source)
    return synthesizer.release_


def _synthesizer(source: Any, fields: dict[str, Any], _: Budget, privacy: Privacy) -> Any:
    options: dict[str, Any] = {"mechanism": "mst", "iterations": 2, "neighbours": privacy.neighbours}
    return _fitted(pypgm.Synthesizer(_EPSILON, _DELTA, schema=fields, **options), source)


def _smartnoise(source: Any, fields: dict[str, Any], _: Budget, privacy: Privacy) -> Any:
    options: dict[str, Any] = {"mechanism": "mst", "iterations": 2, "neighbours": privacy.neighbours}
    return _fitted(smartnoise.Synthesizer(float(_EPSILON), float(_DELTA), schema=fields, **options), source)


def _sdv(source: Any, fields: dict[str, Any], _: Budget, privacy: Privacy) -> Any:
    metadata = {"columns": {name: {"sdtype": "categorical"} for name in fields["columns"]}}
    options: dict[str, Any] = {"mechanism": "mst", "iterations": 2, "neighbours": privacy.neighbours}
    return _fitted(sdv.Synthesizer(metadata, float(_EPSILON), float(_DELTA), schema=fields, **options), source)


def _command(source: Any, fields: dict[str, Any], budget: Budget, privacy: Privacy) -> Any:
    with own_folder() as folder:
        (folder / "schema.json").write_text(json.dumps(fields), encoding="utf-8")
        arguments = ["synth", str(source), "--schema", "schema.json", "--out", "synthetic.csv", "--mechanism", "mst"]
        arguments += ["--epsilon", str(budget.epsilon), "--delta", str(budget.delta)]
        status = run_command([*arguments, "--neighbours", privacy.neighbours, "--model", "people.pgm"])
        if status != 0:
            raise RuntimeError(f"the command ends with {status}")
        return {path.name: path.read_bytes() for path in sorted(folder.iterdir())}


_COLUMNS = {**TYPED, **UNTYPED}
_FRAMES = {name: _COLUMNS[name] for name in ("pandas", "pandas of objects", "polars", "Arrow")}
_LISTS = {"lists": UNTYPED["lists"]}
_CSV = {name: TYPED[name] for name in ("CSV", "CSV in blocks")}

_OF_SMARTNOISE = tuple(f"pypgm.integrations.smartnoise.Synthesizer.{name}" for name in ("fit", "fit_sample"))

DOORS: dict[str, Door] = {
    "synthesize": Door(("pypgm.synthesize",), _synthesized, _COLUMNS, tuple(RAW)),
    "Synthesizer": Door(("pypgm.Synthesizer.fit",), _synthesizer, _LISTS),
    **{
        f"mechanisms.{name}": Door((f"pypgm.mechanisms.{name}",), partial(_mechanism, name), _LISTS)
        for name in mechanism_names()
    },
    "bayes.learn_private": Door(("pypgm.bayes.learn_private",), _network, _LISTS),
    "mrf.learn_pairwise": Door(("pypgm.mrf.learn_pairwise",), _field, _LISTS),
    "mrf.learn_structure": Door(("pypgm.mrf.learn_structure",), _graph, _LISTS),
    "Schema.encode": Door(("pypgm.Schema.encode",), partial(_encoded, Schema.encode), UNTYPED),
    "Dataset.from_frame": Door(
        ("pypgm.Dataset.from_frame",), partial(_encoded, lambda s, f: Dataset.from_frame(f, s)), UNTYPED
    ),
    "read_table": Door(("pypgm.read_table",), partial(_encoded, lambda s, path: read_table(path, s)), _CSV),
    "data.scan": Door(
        ("pypgm.data.scan",),
        partial(_encoded, lambda s, path: scan(path, s)),
        {name: TYPED[name] for name in ("Parquet", "DuckDB relation")},
    ),
    "data.EngineTable": Door(
        ("pypgm.data.EngineTable.__init__",), partial(_encoded, lambda s, t: EngineTable(t, s)), {"Ibis": TYPED["Ibis"]}
    ),
    "pypgm synth": Door(("pypgm synth",), _command, _CSV),
    "sdv.Synthesizer": Door(
        tuple(f"pypgm.integrations.sdv.Synthesizer.{name}" for name in ("fit", "fit_sample")), _sdv, _FRAMES
    ),
    "smartnoise.Synthesizer, frames": Door(_OF_SMARTNOISE, _smartnoise, _FRAMES, tuple(RAW)),
    "smartnoise.Synthesizer, rows": Door(_OF_SMARTNOISE, _smartnoise, ROWS, tuple(RAW), has_names=False),
}
"""Public calls that take raw records."""


def check_door(name: str, tables: Sequence[str] = (), containers: Sequence[str] = ()) -> Finding:
    """Release tables of any kind through a public call: neighbours change hidden numbers by at most the charge.

    One record holds a value of another type than all others, or nulls and numbers of any size; or a person with
    several records comes. On the same noisy outcomes all that comes out is the same, byte by byte: how a table looks,
    what is printed and warned, too.

    Parameters
    ----------
    name : str
        Of `DOORS`.
    tables, containers : sequence of str, optional
        Some of those that it has; by default all.
    """
    door = DOORS[name]
    there = {
        h: container
        for h, container in door.containers.items()
        if (not containers or h in containers) and is_there(container)
    }
    if not there:
        return skipped(
            "doors", name, f"no package is installed that holds {listed(containers or list(door.containers))}"
        )
    cases = [
        (table, held) for table in tables or door.tables for held in there if RAW[table].is_typed or held not in TYPED
    ]
    defects = [wrong for table, held in cases for wrong in _through(door, RAW[table], there[held], f"{table}, {held}")]
    return finding("doors", name, defects, f"{len(cases)} tables in {len(there)} containers", exercised=len(cases))


def _through(door: Door, raw: Raw, container: Container, where: str) -> Iterator[tuple[str, str]]:
    traces = [
        each
        for pair in _pairs(raw, door.names)
        for each in run_pairs(where, _entered(door, raw, container, pair), _BUDGET, [pair]).traces
    ]
    runs = Runs(where, _BUDGET, tuple(traces))
    checks = (check_noninterference,) if raw.is_open else _CHECKS
    for made in (check(runs) for check in checks):
        yield from ((defect, f"{where}: {made.detail}") for defect in made.defects)


_CHECKS = (check_calibration, check_charges, check_noninterference, check_claims)


def _entered(door: Door, raw: Raw, container: Container, pair: Pair) -> Mechanism:
    """Return the call as a mechanism of the audit, with a table's raw values."""
    names = door.names
    n_others = min(pair.one.n_records, pair.other.n_records)

    def mechanism(data: Any, budget: Budget, privacy: Privacy) -> Any:
        with container(raw.raw(data, n_others, names)) as source:
            return door.release(source, raw.schema(names), budget, privacy)

    return mechanism


def _pairs(raw: Raw, names: Mapping[str, str]) -> list[Pair]:
    """Return pairs that add a person with a new value to records all alike; for typed values other pairs too."""
    wanted = ("constant, [2, 1, 1]", "crossed") if raw.is_typed else ("constant, [2, 1, 1]",)
    near = [pair for pair in neighbour_pairs(raw.privacy) if pair.name.startswith(wanted)]
    if raw.is_checked:  # the relation of a release then names the column
        near = [
            replace(pair, privacy=Privacy(records_per_person=raw.n_records, person=(names[_KEY],))) for pair in near
        ]
    return [*near, *(far_pairs([Privacy()]) if raw.is_typed and not raw.is_keyed else [])]
