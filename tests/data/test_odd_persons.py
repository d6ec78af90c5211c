"""Keys of persons in odd types, numbers and spellings: refused before a charge, or told apart as they are written."""

import numpy as np
import pytest
from selfcheck.person_keys import check_person_keys
from selfcheck.person_promises import check_promises

import pypgm
from pypgm.data import OpenSchema, OpenSet, Person, scan
from pypgm.privacy.settling import settle

SECRET = bytes(range(16))


def schema_of(null="refuse", column="id"):
    return pypgm.Schema({"a": 2}, person=Person(column, 1, null))


@pytest.mark.parametrize("check", [check_person_keys, check_promises])
def test_checks_of_the_audit(check):
    found = check()
    assert (found.result, found.detail) == ("ok", found.detail)


@pytest.mark.parametrize("given", [lambda keys: keys, lambda keys: {"id": keys}])
def test_keys_of_nobody_are_refused_where_each_record_needs_one(given):
    persons = schema_of("alone").encode({"id": [None, "x", None], "a": [0, 0, 1]}).persons
    with pytest.raises(ValueError, match=r"column 'id', row 0 .* has none"):
        pypgm.Dataset({"a": [0, 0, 1]}, pypgm.Domain({"a": 2}), schema=schema_of(), persons=given(persons))


def test_persons_are_read_as_columns_of_a_table_are():
    arrow = pytest.importorskip("pyarrow")
    with pytest.raises(ValueError, match=r"row 1 .* has none"):
        pypgm.Dataset({"a": [0, 0]}, schema_of().domain, schema=schema_of(), persons=arrow.array([1, None]))


@pytest.mark.parametrize("odd", ["ab", 5, iter([1, 2]), np.array(3), {1, 2}])
def test_what_is_no_column_names_nobody(odd):
    ledger = pypgm.Ledger(pypgm.Budget(epsilon=1, delta=1e-6, reserved_delta=1e-7))
    opened = OpenSchema({"a": OpenSet("1/4")}, person=Person("id", 1))
    for read in (
        lambda: pypgm.Dataset({"a": [0, 0]}, schema_of().domain, schema=schema_of(), persons={"id": odd}),
        lambda: schema_of().encode({"id": odd, "a": [0, 0]}),
        lambda: settle(opened, {"id": odd, "a": ["x", "y"]}, None, ledger),
        lambda: settle(opened, {"id": [1, 2], "a": odd}, None, ledger),
    ):
        with pytest.raises(TypeError, match="needs a list or an array, a value for each record"):
            read()
    assert not ledger.lines


def test_columns_of_unequal_lengths_are_refused_in_words():
    two = schema_of(column=("x", "y"))
    with pytest.raises(ValueError, match="columns 'x', 'y' need equal numbers of values"):
        pypgm.Dataset({"a": [0, 0]}, two.domain, schema=two, persons={"x": [1, 2], "y": [1]})
    ledger = pypgm.Ledger(pypgm.Budget(epsilon=1, delta=1e-6, reserved_delta=1e-7))
    opened = OpenSchema({"a": OpenSet("1/4")}, person=Person("id", 1))
    with pytest.raises(ValueError, match="column 'a' and 'id' need equal numbers of values"):
        settle(opened, {"id": [1, 2, 3], "a": ["x"] * 5}, None, ledger)
    assert not ledger.lines


@pytest.mark.parametrize(
    "floats", [[1.0, 2.0**53], np.array([1, 2**53], float), [1.0, -(2.0**60)], [1, np.float32(2**60)]]
)
@pytest.mark.parametrize("null", ["refuse", "alone"])
def test_a_float_that_stands_for_several_persons_is_refused(floats, null):
    with pytest.raises(ValueError, match=r"row 1 .* has a float of 2\^53 or more"):
        schema_of(null).encode({"id": floats, "a": [0, 0]})
    assert schema_of(null).encode({"id": [1.0, 2.0**53 - 1], "a": [0, 0]}).persons.tolist()[0] == b"1"


@pytest.mark.parametrize(
    ("kind", "keys", "wanted"),
    [
        ("VARCHAR", ["7", "7\u00a0", "\u20037", "\x1c7", "7\x85"], 1),
        ("DOUBLE", [0.0, -0.0], 1),
        ("DOUBLE", [float("nan")] * 3, 3),
        ("FLOAT", [float("nan"), 7.0, 7.0], 2),
    ],
)
def test_duckdb_knows_the_persons_that_columns_have(kind, keys, wanted):
    duckdb = pytest.importorskip("duckdb")
    pytest.importorskip("pyarrow")
    connection = duckdb.connect()
    connection.execute(f"CREATE TABLE t (id {kind}, a INTEGER)")
    connection.executemany("INSERT INTO t VALUES (?, 0)", [[key] for key in keys])
    schema = schema_of("alone")
    kept = scan(connection.table("t"), schema).kept(SECRET)
    own = schema.encode({"id": keys, "a": [0] * len(keys)}).kept(SECRET)
    assert (kept.n_records, own.n_records) == (wanted, wanted)


def test_a_relation_of_other_persons_is_refused():
    data, ledger = schema_of().encode({"id": [1], "a": [0]}), pypgm.Ledger(pypgm.Budget(rho=1))
    with pytest.raises(ValueError, match="identifies persons by 'id', and privacy by 'name'"):
        pypgm.PrivateTable(data, pypgm.Privacy("add-remove", 1, ["name"]), ledger)
    assert not ledger.lines
    assert ledger.privacy is None
    assert pypgm.PrivateTable(data, pypgm.Privacy("add-remove", 1, ["id"]), ledger).privacy.person == ("id",)
