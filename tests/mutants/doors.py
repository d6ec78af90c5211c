"""Public calls that take raw records, and read them, or the clock, in a way that one record decides for all."""

from __future__ import annotations

from functools import partial

from mutate import Mutant
from operators import instead
from selfcheck.declared import check_declared
from selfcheck.doors import check_door
from selfcheck.limits import check_time_limit

_ODD = ("whole floats and a text", "booleans and a number")
_RECORDS = "_PrivateTable__data"

_PLACES = [
    # name, module, function, change, check, defect
    (
        "columns are arrays of one type before they are encoded",
        "data.encoding",
        "encoded",
        instead("as_columns(table)", "{name: np.asarray(values) for name, values in as_columns(table).items()}"),
        partial(check_door, "synthesize", _ODD, ["lists"]),
        "sensitivity",
    ),
    (
        "a table of a mechanism is one array",
        "privacy.tables",
        "prepared",
        instead(
            "opened(source, schema, **reading or {})",
            "opened({n: v + [] if all((isinstance(x, type(v[0])) for x in v)) else [*map(str, v)] "
            "for n, v in source.items()}, schema, **reading or {})",
        ),
        partial(check_door, "mechanisms.mst", _ODD, ["lists"]),
        "sensitivity",
    ),
    (
        "records of a network are texts if one is",
        "privacy.tables",
        "prepared",
        instead(
            "opened(source, schema, **reading or {})",
            "opened({n: [*map(str, v)] if any((isinstance(x, str) for x in v)) else v for n, v in source.items()}, "
            "schema, **reading or {})",
        ),
        partial(check_door, "bayes.learn_private", _ODD, ["lists"]),
        "sensitivity",
    ),
    (
        "a frame has no type of its own where a value is none of the others' kind",
        "integrations.sdv",
        "Synthesizer.fit",
        instead("data", "data if len({*map(type, data.iloc[:, 0])}) == 1 else data.astype(str)"),
        partial(check_door, "sdv.Synthesizer", _ODD, ["pandas of objects"]),
        "sensitivity",
    ),
    (
        "a schema forgets how many records a person has",
        "privacy.tables",
        "prepared",
        instead(
            "held.pop().records(known)",
            "(lambda data: type(data)(data.columns, known.domain))(held.pop().records(known))",
        ),
        partial(check_door, "synthesize", ["several records a person"], ["lists"]),
        "lost user bound",
    ),
    (
        "a schema of types is a draft from the records",
        "data.schema",
        "Schema.from_types",
        instead("cls.from_dict(draft)", "cls.draft(source)"),
        check_declared,
        "domain from the data",
    ),
    (
        "a time limit ends no run of few records",
        "mechanisms.run",
        "Run.ended",
        instead("self.clock.is_past_limit", f"(self.clock.is_past_limit and self.table.{_RECORDS}.n_records > 20)"),
        partial(check_time_limit, "aim"),
        "records counted exactly",
    ),
]

MUTANTS = [Mutant(name, f"pypgm.{module}", at, by, check, defect) for name, module, at, by, check, defect in _PLACES]
