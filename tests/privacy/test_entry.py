"""One protocol for one call: every mechanism and learner enters its records, and is refused them, in the same way."""

from __future__ import annotations

import csv
import random
import traceback
from fractions import Fraction
from pathlib import Path

import pytest
from learners import LEARNERS, SUBJECTS, options_of

import pypgm
from pypgm import Budget, BudgetError, Dataset, Ledger, OpenSchema, PrivateTable, Schema
from pypgm.data import Integer, OpenSet, Person, QuantileBins
from pypgm.data.sources.opened import Opened
from pypgm.data.sources.source import Source
from pypgm.privacy import settle
from pypgm.privacy.entry import Entry, Handed

COLUMNS = {"age": Integer(0, 99, width=50), "sex": ["F", "M"], "job": ["cook", "nurse"]}
SCHEMA = Schema(COLUMNS, drop=["id"])
OPEN = OpenSchema(COLUMNS | {"age": QuantileBins(Integer(0, 99), 2, share="1/4")}, drop=["id"])
DELTA = 1e-9
NETWORK, STRUCTURE = "pypgm.bayes.learn_private", "pypgm.mrf.learn_structure"
PURE = sorted(LEARNERS) + sorted(name for name in SUBJECTS.keys() - LEARNERS if name in {"mwem", "privbayes"})
"""Those that take a budget without delta."""
NEED_SIZES = ["jam", "pypgm.mrf.learn_ising", "pypgm.mrf.learn_t_wise"]
"""Those that take tables of some sizes alone, which open columns have not yet."""


def people(n=60):
    draw = random.Random(0)
    return {
        "id": list(range(n)),
        "age": [draw.randrange(100) for _ in range(n)],
        "sex": [draw.choice(["F", "M"]) for _ in range(n)],
        "job": [draw.choice(["cook", "nurse"]) for _ in range(n)],
    }


DATA = SCHEMA.encode(people())


def call(name, data, **how):
    return SUBJECTS[name](data, **(options_of(name, DATA) | how))


def open_table(budget, data=DATA):
    return PrivateTable(data, None, Ledger(budget))


# --- tables that a caller opened ---


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_table_that_a_caller_opened_stays_open(name):
    table = open_table(Budget(rho=2))
    part = table.over(table.domain)
    release = call(name, table)
    assert not table.closed
    assert not part.closed
    assert release.ledger.lines == table.ledger.snapshot().lines


@pytest.mark.parametrize("name", SUBJECTS)
def test_records_that_a_caller_hands_over_are_dropped(name, monkeypatch):
    entries = []
    kept = Entry.__init__
    monkeypatch.setattr(Entry, "__init__", lambda self, *a, **k: kept(self, *a, **k) or entries.append(self))
    call(name, DATA, budget=Budget(rho=2))
    assert [entry.whole.closed for entry in entries] == [True]


def spent(unit, left, **reserved):
    """Return an open table whose budget of 2 is spent but for some of it."""
    table, amount = open_table(Budget(**{unit: 2}, **reserved)), 2 - Fraction(left)
    table.measure("sex", **({"rho": amount} if unit == "rho" else {"scale": 1 / amount}))
    return table


UNITS = [*((name, "rho") for name in SUBJECTS), *((name, "epsilon") for name in PURE)]


@pytest.mark.parametrize(("name", "unit"), UNITS)
@pytest.mark.parametrize("left", ["0", "1/100000000"])
def test_a_table_whose_budget_is_spent_is_refused(name, unit, left):
    table = spent(unit, left)
    with pytest.raises(BudgetError, match=r"the ledger of this table: all of .* was spent"):
        call(name, table)
    assert len(table.ledger.lines) == 1
    assert not table.closed


def test_a_table_whose_budget_is_spent_has_none_for_a_stable_structure():
    with pytest.raises(BudgetError, match="was spent"):
        call(STRUCTURE, spent("rho", 0, reserved_delta=DELTA), method="stability", steps=None)


@pytest.mark.parametrize(("name", "unit"), UNITS)
@pytest.mark.parametrize("is_open", [False, True])
def test_a_budget_whose_noise_cannot_be_drawn_is_refused_before_anything_is_charged(name, unit, is_open, monkeypatch):
    monkeypatch.setattr(Ledger, "charge", lambda *_: pytest.fail("charged"))
    budget = Budget(**{unit: Fraction(1, 10**30)})
    with pytest.raises(
        ValueError, match=rf"of the parts (\w+\.)?{name.rpartition('.')[2]} takes is beyond what can be drawn"
    ):
        call(name, *([open_table(budget)] if is_open else [DATA]), **({} if is_open else {"budget": budget}))


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize(
    "more",
    [{"epsilon": 1}, {"budget": Budget(rho=1)}, {"neighbours": "replace"}, {"unsafe_seed": 1}, {"schema": SCHEMA}],
)
def test_an_open_table_has_all_of_it_already(name, more):
    table = open_table(Budget(rho=1))
    with pytest.raises(TypeError, match="an open table has its "):
        call(name, table, **more)
    assert not table.ledger.lines


# --- tables that are not encoded ---


def as_mapping(_):
    return people()


def as_csv(folder):
    path, table = folder / "t.csv", people()
    with path.open("w", newline="") as file:
        csv.writer(file).writerows([table, *zip(*table.values(), strict=True)])
    return path


def as_pandas(_):
    pytest.importorskip("narwhals")
    return pytest.importorskip("pandas").DataFrame(people()).astype({"age": "int16", "job": "category"})


def as_polars(_):
    pytest.importorskip("narwhals")
    polars = pytest.importorskip("polars")
    return polars.DataFrame(people()).cast({"age": polars.Int16})


def as_lazy(folder):
    return as_polars(folder).lazy()


def as_arrow(_):
    return pytest.importorskip("pyarrow").table(people())


def as_parquet(folder):
    pytest.importorskip("pyarrow.parquet").write_table(as_arrow(folder), folder / "t.parquet")
    return folder / "t.parquet"


def as_relation(folder):
    connection = pytest.importorskip("duckdb").connect()
    connection.register("people", as_arrow(folder))
    return connection.sql("select * from people")


def as_engine(folder):
    pytest.importorskip("duckdb")
    connection = pytest.importorskip("ibis").duckdb.connect()
    connection.con.register("given", as_arrow(folder))
    connection.raw_sql("create table people as select * from given")
    return connection.table("people")


def as_dataset(_):
    return Dataset(DATA.columns, DATA.domain)


SOURCES = [as_mapping, as_csv, as_pandas, as_polars, as_lazy, as_arrow, as_parquet, as_relation, as_engine, as_dataset]


def needs_rows(name):
    return name.startswith("pypgm.mrf.")


def fingerprint(release):
    """Return all that was drawn: what was charged, measured and learned."""
    release = getattr(release, "release", release)
    tables = [release.model.query([name]).values.tobytes() for name in DATA.domain]
    return [line.on for line in release.ledger.lines], [m.values.tobytes() for m in release.measurements], tables


def of_codes(name, **how):
    return call(name, DATA, budget=Budget(rho=2), unsafe_seed=1, n_threads=1, **how)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")  # of the engine's library
@pytest.mark.parametrize("name", SUBJECTS)
def test_every_learner_takes_every_table_with_a_schema(name, tmp_path):
    expected = fingerprint(of_codes(name))
    for make in SOURCES:
        source, how = make(tmp_path), {"budget": Budget(rho=2), "unsafe_seed": 1, "n_threads": 1, "schema": SCHEMA}
        if needs_rows(name) and make is as_engine:
            with pytest.raises(TypeError, match="need the records of a Dataset, a table of counts is not enough"):
                call(name, source, **how)
            continue
        release = call(name, source, **how)
        assert fingerprint(release) == expected, make
        assert getattr(release, "release", release).schema == SCHEMA


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("make", [as_pandas, as_polars, as_arrow])
def test_records_come_back_as_those_of_the_frame(name, make, tmp_path):
    source = make(tmp_path)
    release = call(name, source, budget=Budget(rho=2), unsafe_seed=1, schema=SCHEMA)
    found = getattr(release, "release", release).to_frame(7, rng=0)
    assert type(found) is type(source)
    assert list(types(found).items()) == list(types(source).items())[1:]


def types(frame):
    """Return the names and types of a frame's columns."""
    if hasattr(frame, "column_names"):
        return dict(zip(frame.column_names, map(str, frame.schema.types), strict=True))
    return {name: str(frame[name].dtype) for name in frame.columns}


SCHEMES = {
    "sampled": {"paper": True},
    "two stages": {"allocation": "data-dependent"},
    "unknown structure": {"structure": pypgm.bayes.PrivateStructure(max_parents=1)},
}


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("scheme", SCHEMES)
def test_every_scheme_of_a_network_takes_every_table(scheme, tmp_path):
    how = SCHEMES[scheme] | {"budget": Budget(epsilon=2), "unsafe_seed": 1, "n_threads": 1}
    expected = fingerprint(call(NETWORK, DATA, **how))
    for make in SOURCES:
        for schema in (SCHEMA,) if make is as_dataset else (SCHEMA, OPEN):
            if scheme == "sampled" and make is as_engine:
                with pytest.raises(TypeError, match="only records can be sampled"):
                    call(NETWORK, make(tmp_path), schema=schema, **how)
                continue
            release = call(NETWORK, make(tmp_path), schema=schema, **how)
            assert schema is OPEN or fingerprint(release) == expected


def test_a_relation_of_no_records_and_one_that_names_persons_have_rows():
    duckdb = pytest.importorskip("duckdb")
    relation = duckdb.sql("select i // 2 as id, i * 7 % 100 as age, ['F', 'M'][1 + i % 2] as sex from range(60) t(i)")
    columns, how = {"age": COLUMNS["age"], "sex": ["F", "M"]}, {"epsilon": 1, "delta": DELTA}
    person = Schema(columns, person=Person("id", at_most=1))
    for source, schema in (
        (relation, person),
        (relation.limit(0), person),
        (relation.limit(0), Schema(columns, drop=["id"])),
    ):
        call("pypgm.mrf.learn_pairwise", source, schema=schema, **how)
        call(STRUCTURE, source, schema=schema, method="stability", steps=None, n_blocks=2, **how)
        call(NETWORK, source, schema=schema, paper=True, **how)


def test_a_file_of_records_is_never_written_over(tmp_path):
    path = as_csv(tmp_path)
    release = call(NETWORK, path, epsilon=1, schema=SCHEMA)
    with pytest.raises(ValueError, match=r"t\.csv"):
        release.write(path, 5)


def test_a_graph_without_a_field_takes_a_frame(tmp_path):
    how = {"method": "stability", "steps": None, "n_blocks": 3, "epsilon": 1, "delta": 9e-4}
    assert call(STRUCTURE, as_pandas(tmp_path), schema=SCHEMA, **how).n_blocks == 3


def test_what_a_network_is_of_needs_no_schema(tmp_path):
    net = pypgm.bayes.BayesianNetwork({"sex": ["F", "M"]}, [], {"sex": [0.5, 0.5]})
    net.write_bif(tmp_path / "net.bif")
    table = {"sex": ["F", "M"] * 50}
    for structure in (net, tmp_path / "net.bif"):
        release = pypgm.bayes.learn_private(table, structure, epsilon=1)
        assert release.schema.columns["sex"].labels == ("F", "M")


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_table_without_a_schema_is_refused(name, tmp_path, monkeypatch):
    monkeypatch.setattr(Ledger, "charge", lambda *_: pytest.fail("charged"))
    for make in (as_mapping, as_pandas, as_csv):
        with pytest.raises(TypeError, match="take frames and files with schema="):
            call(name, make(tmp_path), budget=Budget(rho=2))


@pytest.mark.parametrize("name", SUBJECTS)
def test_a_record_that_does_not_fit_is_named_by_its_row(name, monkeypatch):
    monkeypatch.setattr(Ledger, "charge", lambda *_: pytest.fail("charged"))
    table = people()
    table["age"][7] = 1234
    with pytest.raises(ValueError, match="column 'age', row 7") as refused:
        call(name, table, budget=Budget(rho=2), schema=SCHEMA)
    assert "1234" not in str(refused.value)


# --- open columns ---


@pytest.mark.parametrize("name", [name for name in SUBJECTS if name not in NEED_SIZES])
@pytest.mark.parametrize("seed", [None, 5])
def test_what_a_schema_leaves_open_is_found_first(name, seed, tmp_path):
    source = as_pandas(tmp_path)
    how = {"epsilon": 1, "delta": DELTA, "unsafe_seed": seed, "schema": OPEN, "n_threads": 1}
    one, two = (call(name, source, **how) for _ in range(2))
    assert one.ledger.lines[0].within.startswith("settle / age")
    assert one.ledger.not_private == ("noise drawn from a seed" if seed else "")
    release = getattr(one, "release", one)
    assert release.schema.columns["age"].size == 2
    assert type(release.to_frame(5, rng=0)) is type(source)
    if seed:
        assert release.schema == getattr(two, "release", two).schema
        assert fingerprint(one) == fingerprint(two)


@pytest.mark.parametrize("name", NEED_SIZES)
def test_who_needs_to_know_how_many_values_there_are_refuses_open_columns(name, monkeypatch):
    monkeypatch.setattr(Ledger, "charge", lambda *_: pytest.fail("charged"))
    with pytest.raises(ValueError, match=r"Domain\(age: 1, sex: 2, job: 2\)"):
        call(name, people(), epsilon=1, delta=DELTA, schema=OPEN)


def test_values_that_nobody_lists_are_drawn_from_the_seed():
    schema = OpenSchema({"x": OpenSet("1/2"), "sex": ["F", "M"]})
    table = {"x": [i % 40 for i in range(400)], "sex": ["F", "M"] * 200}
    found = [
        call("mst", table, epsilon=1, delta=9e-4, schema=schema, unsafe_seed=seed).schema.columns["x"].labels
        for seed in (1, 1, 2, 3, 4)
    ]
    assert found[0] == found[1]
    assert len(set(found)) > 1


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("change", [{"unsafe_seed": -1}, {"unsafe_seed": "1"}, {"n_threads": -1}])
def test_what_cannot_draw_is_refused_before_open_columns_are_paid_for(name, change, monkeypatch):
    monkeypatch.setattr(Ledger, "charge", lambda *_: pytest.fail("charged"))
    with pytest.raises((TypeError, ValueError)):
        call(name, people(), **({"epsilon": 1, "delta": DELTA, "schema": OPEN} | change))


@pytest.mark.parametrize("name", LEARNERS)
def test_options_of_learners_are_refused_before_open_columns_are_paid_for(name, monkeypatch):
    monkeypatch.setattr(Ledger, "charge", lambda *_: pytest.fail("charged"))
    wrong = {"structure": [("age", "job"), ("job", "age")]} if "bayes" in name else {"radius": -1}
    with pytest.raises(ValueError, match=r"circle|radius must be"):
        call(name, people(), epsilon=1, delta=DELTA, schema=OPEN, **wrong)
    with pytest.raises(TypeError, match=r"missing \d required"):
        SUBJECTS[name](people(), epsilon=1, delta=DELTA, schema=OPEN)


@pytest.mark.filterwarnings("ignore::DeprecationWarning")
@pytest.mark.parametrize("name", [name for name in LEARNERS if needs_rows(name) and name not in NEED_SIZES])
def test_an_engine_without_rows_is_refused_before_open_columns_are_paid_for(name, tmp_path, monkeypatch):
    source = as_engine(tmp_path)
    monkeypatch.setattr(Ledger, "charge", lambda *_: pytest.fail("charged"))
    with pytest.raises(TypeError, match="a table of counts is not enough"):
        call(name, source, epsilon=1, delta=DELTA, schema=OPEN)


def test_a_stable_structure_of_open_columns_needs_delta_that_is_reserved():
    how = {"method": "stability", "steps": None, "n_blocks": 3, "schema": OPEN}
    release = call(STRUCTURE, people(), budget=Budget(epsilon=1, reserved_delta=DELTA), **how)
    assert [line.what for line in release.ledger.lines][-1] == "stability"
    with pytest.raises(ValueError, match="reserved by the budget"):
        call(STRUCTURE, people(), budget=Budget(epsilon=1), **how)


# --- frames of tracebacks ---


def frames_of(error):
    """Return the names and values of all that frames of the package hold."""
    home, found = str(Path(pypgm.__file__).parent), []
    for frame, _ in traceback.walk_tb(error.__traceback__):
        if frame.f_code.co_filename.startswith(home):
            found += [(frame.f_code.co_name, name, value) for name, value in frame.f_locals.items() if name != "public"]
    return found


class DefectError(Exception):
    """A defect after the records were entered."""


@pytest.mark.parametrize("name", SUBJECTS)
@pytest.mark.parametrize("make", [lambda _: DATA, as_mapping, as_pandas])
@pytest.mark.parametrize("where", ["charge", "noise", "option"])
def test_no_frame_of_a_traceback_holds_the_records(name, make, where, tmp_path, monkeypatch):
    source, how = make(tmp_path), {"budget": Budget(rho=Fraction(1, 10**30) if where == "noise" else 2)}
    how |= {} if isinstance(source, Dataset) else {"schema": SCHEMA}
    how |= {"no_option": 1} if where == "option" else {}
    for charge in ("charge", "charge_many"):
        monkeypatch.setattr(Ledger, charge, refuse)
    with pytest.raises((DefectError, ValueError, TypeError)) as caught:
        call(name, source, **how)
    held = frames_of(caught.value)
    assert held
    assert not [where for *where, value in held if value is source or isinstance(value, Dataset | Source)]
    handed = [value for *_, value in held if isinstance(value, Handed)]
    assert handed
    assert not any(holds(value) for value in handed)


def refuse(*_, **__):
    raise DefectError


def holds(handed):
    try:
        handed.take()
    except IndexError:
        return False
    return True


@pytest.mark.parametrize("schema", [SCHEMA, OPEN])
@pytest.mark.parametrize("run", [pypgm.synthesize, pypgm.mechanisms.mst])
def test_no_frame_of_a_traceback_holds_the_table_of_an_open_schema(run, schema, tmp_path, monkeypatch):
    def broken_once_settled(*arguments, **more):
        found = settle(*arguments, **more)
        monkeypatch.setattr(Ledger, "charge", refuse)
        return found

    if schema is OPEN:
        monkeypatch.setattr("pypgm.privacy.settling.settle", broken_once_settled)
    else:
        monkeypatch.setattr(Ledger, "charge", refuse)
    source, more = as_pandas(tmp_path), {"mechanism": "mst"} if run is pypgm.synthesize else {}
    with pytest.raises(DefectError) as caught:
        run(source, schema=schema, epsilon=1, delta=DELTA, **more)
    held = frames_of(caught.value)
    assert held
    assert not [where for *where, value in held if value is source or isinstance(value, Dataset | Opened | Source)]
