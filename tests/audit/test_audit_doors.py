"""Every public call that takes raw records is a subject of the audit, or stands here as one that is not private."""

from __future__ import annotations

import fnmatch
import importlib
import inspect
import pkgutil
import re

import pytest
from selfcheck.containers import TYPED, UNTYPED, is_there
from selfcheck.declared import check_declared
from selfcheck.doors import DOORS, RAW, check_door
from selfcheck.everything import suite
from selfcheck.limits import LIMITED, SLOW, check_time_limit
from selfcheck.sources import check_sources

import pypgm
from pypgm.audit.tiers import NAMES

RECORDS = re.compile(r"\b(Frame|Dataset|PrivateTable|PrivateColumn|Values|Counts|StreamedTable|EngineTable|Table)\b")
ANYTHING = re.compile(r"\b(Any|object|ArrayLike|PathLike)\b")
CALLED = {"columns", "data", "frame", "parents", "children", "primary_keys", "foreign_keys", "real_data"}
CALLED |= {"records", "relation", "rows", "source", "table", "values", "path", "paths", "dataset"}

ELSEWHERE = {
    # by the check of the audit that looks at it
    "pypgm.Schema.from_types": "check_declared",
    "pypgm.mechanisms.synthesize_related": "check_related",
    "pypgm.mechanisms.parent_rows": "check_related",
    "pypgm.mrf.learn_ising": "check_calibration",
    "pypgm.mrf.learn_t_wise": "check_calibration",
    "pypgm.PrivateTable.__init__": "check_closed",
    "pypgm.PrivateColumn.__init__": "check_unknown_keys",
    "pypgm.privacy.settle": "check_open_sets",
    "pypgm.privacy.sparse_histogram": "check_unknown_keys",
    "pypgm.privacy.private_quantiles": "check_noninterference",
    "pypgm.privacy.private_bounds": "check_noninterference",
    "pypgm.privacy.measure_real": "check_noninterference",
}

NOT_PRIVATE = {
    # by why nothing of it is released
    "pypgm.Dataset.*": "codes: they are counted behind a ledger, or by the one whose they are",
    "pypgm.Schema.decode": "synthetic records",
    "pypgm.Schema.draft": "a draft is not private, and says so",
    "pypgm.OpenSchema.*": "as Schema",
    "pypgm.data.*.encode": "one column, behind what reads the table",
    "pypgm.data.*.steps_*": "one column, behind what reads the table",
    "pypgm.data.*.shown": "synthetic values",
    "pypgm.data.*.reads_as_null": "values to be drawn",
    "pypgm.data.*.written": "synthetic values",
    "pypgm.data.*.of_family": "synthetic values",
    "pypgm.data.as_frame": "synthetic values",
    "pypgm.data.Person.*": "keys, which stay with the records",
    "pypgm.data.Weight.*": "weights, which stay with the records",
    "pypgm.write_table": "synthetic records",
    "pypgm.*.card": "the file of synthetic records that it lies beside",
    "pypgm.bayes.learn_structure": "not private, and says so",
    "pypgm.bayes.learn_dynamic": "not private, and says so",
    "pypgm.bayes.learn_dynamic_structure": "not private, and says so",
    "pypgm.*read_domain": "a file of a domain",
    "pypgm.*read_schema": "a file of a schema",
    "pypgm.load": "a release",
    "pypgm.Account.keep": "a release",
    "pypgm.*.load": "a release or model",
    "pypgm.*.save": "a release or model",
    "pypgm.*read_*": "a model, network or potential of a file",
    "pypgm.*write_*": "a model, network or potential to a file",
    "pypgm.compare": "unsafe_data is named for what it is",
    "pypgm.*.report_html": "unsafe_data is named for what it is",
    "pypgm.plot.*": "unsafe_data is named for what it is",
    "pypgm.*.expected_error": "synthetic records",
    "pypgm.*.write": "synthetic records to a file",
    "pypgm.*.resume": "goes through PrivateTable, as the first run did",
    "pypgm.audit.*": "the audit itself",
    "pypgm.bayes.learn": "not private, and says so",
    "pypgm.bayes.fit_score": "not private, and says so",
    "pypgm.bayes.*.add": "a table of a network",
    "pypgm.bayes.*.do": "evidence",
    "pypgm.bayes.*.replace_table": "a table of a network",
    "pypgm.bayes.*.impute": "rows that are asked about",
    "pypgm.bayes.*.predict": "rows that are asked about",
    "pypgm.bayes.*.predict_proba": "rows that are asked about",
    "pypgm.bayes.*.log_likelihood": "rows that are asked about",
    "pypgm.integrations.opendp.measurements": "a release of OpenDP's",
    "pypgm.mechanisms.plan": "a domain",
    "pypgm.mrf.Sample.__init__": "synthetic records",
    "pypgm.mrf.fit_*": "not private, and says so",
    "pypgm.queries.*": "tables that a caller counted",
    "pypgm.Factor.*": "numbers of a model",
    "pypgm.CliqueVector.*": "numbers of a model",
    "pypgm.Likelihood.*": "evidence",
    "pypgm.LinearMeasurement.*": "noisy answers",
    "pypgm.RegionAnswer.*": "numbers of a model",
    "pypgm.reconstruction.*": "public records, or answers that were released",
}


def public_calls():
    """Yield each public function, method and constructor by its full name, where users find it first."""
    modules = [m.name for m in pkgutil.walk_packages(pypgm.__path__, "pypgm.") if "._" not in m.name]
    is_public = re.compile(r"pypgm\.(?!compat)(\w+|integrations\.\w+)")
    seen = set()
    for home in ["pypgm", *filter(is_public.fullmatch, modules)]:
        module = importlib.import_module(home)
        if not hasattr(module, "__path__") and "integrations" not in home:
            continue
        for name in getattr(module, "__all__", ()):
            thing = getattr(module, name)
            if id(thing) in seen or not getattr(thing, "__module__", "").startswith("pypgm"):
                continue
            seen.add(id(thing))
            if inspect.isfunction(thing):
                yield f"{home}.{name}", thing
            elif inspect.isclass(thing):
                members = {k: inspect.getattr_static(thing, k) for k in dir(thing) if k == "__init__" or k[0] != "_"}
                functions = {k: getattr(v, "__func__", v) for k, v in members.items()}
                yield from ((f"{home}.{name}.{k}", f) for k, f in functions.items() if inspect.isfunction(f))


def takes_records(function):
    """Return whether a parameter is of records by its type, or by its name where it may be of any type."""
    given = [p for p in inspect.signature(inspect.unwrap(function)).parameters.values() if p.name != "self"]
    kinds = {p.name: re.sub(r"Callable\[\[.*", "", str(p.annotation)) for p in given}
    return any(RECORDS.search(kind) or (name in CALLED and ANYTHING.search(kind)) for name, kind in kinds.items())


TAKING = {name for name, function in public_calls() if takes_records(function)}
SUBJECTS = {name for door in DOORS.values() for name in door.public} | ELSEWHERE.keys()


def test_every_public_call_that_takes_records_is_a_subject_or_named_as_not_private():
    left = {name for name in TAKING - SUBJECTS if not any(fnmatch.fnmatchcase(name, known) for known in NOT_PRIVATE)}
    assert left == set()
    assert len(TAKING) > 60
    assert {"pypgm.synthesize", "pypgm.integrations.smartnoise.Synthesizer.fit"} <= TAKING


def test_nothing_is_named_that_is_no_public_call():
    known = {name for name, _ in public_calls()}
    assert {name for name in SUBJECTS if " " not in name} <= known
    idle = [pattern for pattern in NOT_PRIVATE if not fnmatch.filter(TAKING - SUBJECTS, pattern)]
    assert idle == []


def test_every_subject_is_in_the_suite():
    made = list(map(repr, suite(0)))
    assert [name for name in DOORS if not any("check_door" in one and repr(name) in one for one in made)] == []
    assert [check for check in ELSEWHERE.values() if not any(check in one for one in made)] == []
    assert {name.removeprefix("mechanisms.") for name in DOORS} >= {
        name for name in NAMES if hasattr(pypgm.mechanisms, name)
    }


@pytest.mark.parametrize("name", [name for name in DOORS if not name.startswith(("synthesize", "smartnoise"))])
def test_a_door_lets_no_record_recode_another(name):
    finding = check_door(name)
    if finding.result == "skipped":
        pytest.skip(finding.detail)
    assert (finding.result, finding.defects) == ("ok", ()), finding.detail


@pytest.mark.parametrize("table", RAW)
def test_rows_of_any_kind_are_read_value_by_value(table):
    finding = check_door("smartnoise.Synthesizer, rows", [table])
    assert (finding.result, finding.defects) == ("ok", ()), finding.detail


@pytest.mark.parametrize("table", RAW)
def test_tables_of_any_kind_are_synthesized(table):
    finding = check_door("synthesize", [table], ["lists", "pandas of objects"])
    assert (finding.result, finding.defects) == ("ok", ()), finding.detail


@pytest.mark.parametrize("name", {**TYPED, **UNTYPED})
def test_what_holds_a_table_has_the_counts_of_its_codes(name):
    if not is_there({**TYPED, **UNTYPED}[name]):
        pytest.skip(f"{name} is not installed")
    finding = check_sources([name])
    assert (finding.result, finding.defects) == ("ok", ()), finding.detail


@pytest.mark.parametrize("how", [(), SLOW], ids=["looks", "records"])
@pytest.mark.parametrize("name", LIMITED)
def test_a_time_limit_ends_a_run_where_the_clock_says(name, how):
    finding = check_time_limit(name, *how)
    assert (finding.result, finding.defects) == ("ok", ()), finding.detail


def test_types_are_those_of_the_table_and_not_of_its_records():
    finding = check_declared()
    assert (finding.result, finding.defects) == ("ok", ()), finding.detail
