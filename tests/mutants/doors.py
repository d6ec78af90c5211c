"""Public calls that take raw records, and read them, or the clock, in a way that one record decides for all."""

from __future__ import annotations

from functools import partial

from mutate import at
from selfcheck.declared import check_declared
from selfcheck.doors import check_door
from selfcheck.limits import check_time_limit

_ODD = ("whole floats and a text", "booleans and a number")

MUTANTS = {
    "columns are arrays of one type before they are encoded": at(
        "data.sources.encoding:encoded", partial(check_door, "synthesize", _ODD, ["lists"]), "sensitivity"
    )("as_columns(table)", "{name: np.asarray(values) for name, values in as_columns(table).items()}"),
    "a table of a mechanism is one array": at(
        "privacy.tables:prepared", partial(check_door, "mechanisms.mst", _ODD, ["lists"]), "sensitivity"
    )(
        "opened(source, ...)",
        "opened(open_source({n: v + [] if all((isinstance(x, type(v[0])) for x in v)) else [*map(str, v)] for n, "
        "v in source.frame.items()}), schema)",
    ),
    "records of a network are texts if one is": at(
        "privacy.tables:prepared", partial(check_door, "bayes.learn_private", _ODD, ["lists"]), "sensitivity"
    )(
        "opened(source, ...)",
        "opened(open_source({n: [*map(str, v)] if any((isinstance(x, str) for x in v)) else v for n, "
        "v in source.frame.items()}), schema)",
    ),
    "a frame has no type of its own where a value is none of the others' kind": at(
        "integrations.sdv:Synthesizer.fit",
        partial(check_door, "sdv.Synthesizer", _ODD, ["pandas of objects"]),
        "sensitivity",
    )("data", "data if len({*map(type, data.iloc[:, 0])}) == 1 else data.astype(str)"),
    "a schema forgets how many records a person has": at(
        "privacy.tables:prepared",
        partial(check_door, "synthesize", ["several records a person"], ["lists"]),
        "lost user bound",
    )(
        "_records(held.pop(), known)",
        "(lambda data: type(data)(data.columns, known.domain))(_records(held.pop(), known))",
    ),
    "a schema of types is a draft from the records": at(
        "data.schema.schema:Schema.from_types", check_declared, "domain from the data"
    )("cls.from_dict(draft)", "cls.draft(source)"),
    "a time limit ends no run of few records": at(
        "mechanisms.run:Run.ended", partial(check_time_limit, "aim"), "records counted exactly"
    )("self.clock.is_past_limit", "(self.clock.is_past_limit and self.table._PrivateTable__data.n_records > 20)"),
}
