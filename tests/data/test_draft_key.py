"""Drafts find the key of a person, whatever its name and shape, and take no other column for one."""

from __future__ import annotations

import datetime
import json
import random

import pytest

import pypgm
from pypgm import cli
from pypgm.data.columns.number_text import sign_of
from pypgm.data.draft import draft_schema
from pypgm.data.draft.warnings import meaning

DAY = datetime.date(1930, 1, 1)
WORDS = ["stable", "pain", "home", "clear", "review", "bloods"]
AREAS = ["LS", "BD", "WF", "HX"]
CHARACTERS = "0123456789ABCDEFGHJKLMNPRTUVWXYZ"
NAMES = ["NHS Number", "MRN", "Hospital number", "case_no", "CPR", "passport", "msisdn", "caller", "enrolid", "account"]
NAMES += ["Kundennummer", "numero_client", "N° assuré", "paciente", "患者", "x", "column 7", "Spalte_3", "ref", "V12"]


def days(i):
    return DAY + datetime.timedelta(days=i * 7919 % 30_000)


KEYS = {  # of the person with a number from 0, for a draw of the whole column
    "ten digits": lambda draw: lambda i: 4_000_000_000 + i * 7 + draw.randrange(7),
    "nine digits": lambda draw: lambda i: 10**8 + i * 10**6 + draw.randrange(10**6),
    "eight digits": lambda draw: lambda i: 20_000_000 + i,
    "seven digits": lambda draw: lambda i: 10**6 + i * 9000 + draw.randrange(9000),
    "six digits": lambda draw: lambda i: 100_000 + i * 100 + draw.randrange(100),
    "any digits": lambda draw: lambda i: 1000 * draw.randrange(10**6) + i,
    "padded": lambda draw: lambda i: f"{i * 3:07}",
    "lettered": lambda draw: lambda i: f"PAT{i:06}",
    "few digits": lambda draw: lambda i: f"u{i:04}",
    "grouped": lambda draw: lambda i: f"{draw.randrange(1000):03}-{draw.randrange(100):02}-{draw.randrange(10**4):04}",
    "born and serial": lambda draw: lambda i: f"{days(i):%d%m%y}-{draw.randrange(10**4):04}",
    "born, long": lambda draw: lambda i: f"{days(i):%Y%m%d}-{draw.randrange(10**4):04}",
    "site and serial": lambda draw: lambda i: f"01-{1 + i // 60:03}-{i:04}",
    "phone": lambda draw: lambda i: f"+4477{draw.randrange(10**8):08}",
    "passport": lambda draw: lambda i: "C" + "".join(draw.choices(CHARACTERS, k=8)),
    "hexadecimal": lambda draw: lambda i: f"{draw.getrandbits(64):016x}",
    "mail": lambda draw: lambda i: f"{draw.choice(['ann', 'bo', 'chris'])}{i}@{draw.choice(['a.org', 'mail.com'])}",
}


def weighted(draw, values, n, power):
    """Return values of which the first are frequent."""
    return draw.choices(values, [1 / (i + 1) ** power for i in range(len(values))], k=n)


def many(make, n):
    return [make() for _ in range(n)]


ORDINARY = {
    "age": lambda draw, n: many(lambda: draw.randrange(18, 90), n),
    "height": lambda draw, n: many(lambda: round(draw.gauss(170, 9)), n),
    "height_m": lambda draw, n: many(lambda: f"{draw.gauss(170, 9) / 100:.2f}", n),
    "birth_g": lambda draw, n: many(lambda: round(draw.gauss(3300, 450)), n),
    "int_rate": lambda draw, n: many(lambda: f"{draw.uniform(5, 25):.2f}%", n),
    "revol_util": lambda draw, n: many(lambda: f"{draw.uniform(0, 100):.1f}", n),
    "pct_time": lambda draw, n: many(lambda: f"{draw.randrange(101)}%", n),
    "share": lambda draw, n: many(lambda: draw.randrange(101), n),
    "BP": lambda draw, n: many(lambda: f"{draw.gauss(125, 12):.0f}/{draw.gauss(80, 8):.0f}", n),
    "Umsatz": lambda draw, n: many(lambda: f"{draw.lognormvariate(8, 1):.2f} €".replace(".", ","), n),
    "cost": lambda draw, n: many(lambda: f"£{draw.lognormvariate(7, 1):,.2f}", n),
    "paid": lambda draw, n: many(lambda: f"{draw.lognormvariate(7, 1):.2f}", n),
    "income": lambda draw, n: many(lambda: int(draw.lognormvariate(10, 0.8)), n),
    "earned": lambda draw, n: many(lambda: int(draw.lognormvariate(10.5, 0.3)), n),
    "house": lambda draw, n: many(lambda: round(draw.lognormvariate(12.7, 0.4), -3), n),
    "lent": lambda draw, n: many(lambda: draw.randrange(1000, 35_001, 25), n),
    "fnlwgt": lambda draw, n: many(lambda: int(draw.lognormvariate(12.1, 0.5)), n),
    "zip": lambda draw, n: weighted(draw, [f"{z:05}" for z in draw.sample(range(10**5), 3000)], n, 0.7),
    "district": lambda draw, n: weighted(draw, [f"{a}{i}" for a in AREAS for i in range(1, 29)], n, 0.6),
    "postcode": lambda draw, n: many(lambda: f"{draw.choice('ABCE')}{draw.randrange(10)}A {draw.randrange(10)}B1", n),
    "diagnosis": lambda draw, n: weighted(draw, [f"{a}{i:02}.{i % 10}" for i in range(80) for a in "ACEIJ"], n, 1.1),
    "procedure": lambda draw, n: many(lambda: f"{draw.choice('ABC')}{draw.randrange(1, 40):02}.{draw.randrange(9)}", n),
    "specialty": lambda draw, n: many(lambda: draw.choice(["ENT", "Renal", "Stroke", "Surgery"]), n),
    "flag": lambda draw, n: many(lambda: draw.choice("YN"), n),
    "town": lambda draw, n: weighted(draw, [f"town of {i}" for i in range(80)], n, 0.9),
    "note": lambda draw, n: many(lambda: " ".join(draw.choices(WORDS, k=4)), n),
    "born": lambda draw, n: many(lambda: f"{DAY + datetime.timedelta(days=draw.randrange(30_000)):%d/%m/%Y}", n),
    "day": lambda draw, n: many(lambda: f"{DAY + datetime.timedelta(days=draw.randrange(30_000)):%Y%m%d}", n),
    "month": lambda draw, n: many(lambda: f"{draw.randrange(1, 13):02}/{draw.randrange(2000, 2020)}", n),
    "visit": lambda draw, n: many(lambda: f"{draw.randrange(2015, 2020)}-{draw.randrange(1, 13):02}", n),
    "seen": lambda draw, n: many(lambda: f"2024-03-{draw.randrange(1, 29):02} {draw.randrange(24):02}:00:00 UTC", n),
    "epoch": lambda draw, n: many(lambda: 1_700_000_000 + 60 * draw.randrange(5000), n),
    "minute": lambda draw, n: many(lambda: draw.randrange(1440), n),
    "duration": lambda draw, n: many(lambda: f"00:{draw.randrange(60):02}:{draw.randrange(60):02}", n),
    "span": lambda draw, n: many(lambda: int(draw.expovariate(1 / 90)), n),
    "year": lambda draw, n: many(lambda: draw.randrange(1900, 2024), n),
    "blank": lambda draw, n: [""] * n,
}


def ordinary(draw, n, k=5):
    """Return columns of which none is a key."""
    return {name: ORDINARY[name](draw, n) for name in draw.sample(sorted(ORDINARY), k)}


def keyed(draw, shape, name):
    """Return a table of persons with up to 20 records each, and the most that one has."""
    n_persons, most = draw.choice([25, 60, 250, 800]), draw.choice([2, 3, 20])
    counts = [1 + min(int(draw.expovariate(2 / most)), most - 1) for _ in range(n_persons - 1)] + [most]
    make = KEYS[shape](draw)
    column = [value for i, count in enumerate(counts) for value in [make(i)] * count]
    draw.shuffle(column)
    first, others = {name: column}, ordinary(draw, len(column))
    return first | others if draw.random() < 0.5 else others | first, most


@pytest.mark.parametrize("shape", KEYS)
def test_a_draft_offers_the_key_of_persons_and_no_other_column(shape):
    for seed in range(4):
        draw = random.Random(f"{shape} {seed}")
        name = draw.choice(NAMES)
        table, most = keyed(draw, shape, name)
        draft = draft_schema(table)
        person = draft["person"]
        assert (person["column"], person["at_most"]) == (name, most), (shape, seed)
        assert "at_most is the largest number of records with one value of it" in meaning(person["warning"])
        assert meaning(draft["drop"][name]).startswith("its values look like a key")
        assert name not in draft["columns"]
        assert "records_per_person" not in draft
        assert "further columns that look like" not in meaning(person["warning"])
        assert json.dumps(draft, ensure_ascii=False).count("looks like the key of a person") == 1
        schema = pypgm.Schema.draft(table)
        assert schema.person.to_dict() == person
        assert schema.records_per_person == most
        assert schema.provisional.encode(table).n_records == len(table[name])


@pytest.mark.parametrize("n", [30, 200, 1000, 5000])
def test_a_table_without_a_key_has_no_person_and_one_question(n):
    for seed in range(12 if n < 5000 else 5):
        draft = draft_schema(ordinary(random.Random(100 * n + seed), n, 8))
        assert "person" not in draft, (n, seed)
        assert "records_per_person" not in draft
        assert meaning(draft["warning"]).startswith("may one person have several records?")
        assert not any(why.startswith("a key") for why in draft.get("drop", {}).values())
        told = json.dumps(draft["columns"])
        assert "come again" not in told
        assert "records_per_person" not in told


@pytest.mark.parametrize("name", ["height", "int_rate", "BP", "pct_time", "revol_util", "Umsatz", "birth_g", "fnlwgt"])
@pytest.mark.parametrize("n", [300, 3000])
def test_a_quantity_is_no_key_whatever_its_name(name, n):
    """Nor is one whose name says that it is the number of a person, unless it could be."""
    for seed in range(4):
        values = ORDINARY[name](random.Random(seed), n)
        for called in (name, "ref"):
            draft = draft_schema({called: values, "k": ["x", "y"] * (n // 2)})
            assert "person" not in draft
            assert not draft.get("drop", {}).get(called, "").startswith("a key")
            assert "come again" not in json.dumps(draft)


def few(shape, n):
    """Return the values of `n` records that are all different."""
    draw = random.Random(n)
    surnames = ["Ali", "Brown", "Díaz", "Evans", "Fischer", "Green", "Hall"]
    make = {
        "names": lambda i: f"{surnames[i % 7]}, {'ABCDEFGHIJ'[i // 7]}.",
        "security numbers": lambda i: f"{draw.randrange(100, 999)}-{draw.randrange(10, 99)}-{1000 + i}",
        "as numbers": lambda i: 100_000_000 + draw.randrange(10**6) * 100 + i,
        "running": lambda i: i + 1,
        "lettered": lambda i: f"PAT{i + 120:06}",
        "short": lambda i: f"S{i + 1}",
    }[shape]
    return [make(i) for i in range(n)]


@pytest.mark.parametrize("shape", ["names", "security numbers", "as numbers", "running", "lettered", "short"])
@pytest.mark.parametrize("n", [10, 30, 60, 61])
def test_what_is_all_different_is_an_identifier_however_few_records_there_are(shape, n):
    """A draft that lists them publishes the names of all."""
    values = few(shape, n)
    for column in (values, [*values[:-1], values[0]], [*values, *[""] * 40]):  # one comes twice, many are missing
        draft = draft_schema({"a": column, "k": ["x", "y", "z"] * (len(column) // 3) + ["x"] * (len(column) % 3)})
        assert list(draft["columns"]) == ["k"], (shape, n)
        told = json.dumps(draft, ensure_ascii=False)
        assert not {str(value) for value in values if len(str(value)) > 3 and str(value) in told}
        assert "currency" not in draft["drop"]["a"]


@pytest.mark.parametrize("n", [9, 10, 30, 60])
def test_quantities_that_are_all_different_are_no_identifiers(n):
    columns = {
        "age": [20 + 44 * i // max(n - 1, 44) if n > 45 else 20 + i for i in range(n)],
        "paid": [f"{17.25 + i * 1.75:.2f}" for i in range(n)],
        "born": [f"{DAY + datetime.timedelta(days=i * 311)}" for i in range(n)],
        "year": [1950 + i for i in range(n)],
        "wage": [20_000 + 1500 * i for i in range(n)],
        "height": [f"{1.5 + i / 100:.2f}" for i in range(n)],
    }
    assert list(draft_schema(columns)["columns"]) == list(columns)


@pytest.mark.parametrize("texts", [["PAT000123", "PAT000007"], ["USR000012"], ["INV 0001"], ["MAC000131"], ["AAL123"]])
def test_ids_of_three_capitals_are_no_currency(texts):
    assert not any(sign_of(text) is not None for text in texts)
    assert all(sign_of(text) == sign_of("$7") for text in ("EUR 7", "USD1,200.50", "1200 SEK", "7€", "GBP0.50"))


def test_of_several_keys_the_one_that_looks_most_like_a_person_is_offered():
    draw = random.Random(5)
    persons = [draw.randrange(10**9, 10**10) for _ in range(300)]
    visits = [(draw.randrange(10**9, 10**10), person) for person in persons for _ in range(draw.randrange(1, 6))]
    rows = [visit for visit in visits for _ in range(draw.randrange(1, 4))]
    for names in (["visit", "x"], ["y", "MRN"]):
        table = {names[0]: [row[0] for row in rows], names[1]: [row[1] for row in rows], "k": ["x"] * len(rows)}
        draft = draft_schema(table)
        assert draft["person"]["column"] == names[1]
        assert meaning(draft["person"]["warning"]).endswith(f"look like keys of persons: {names[0]!r}")
        assert {*draft["drop"]} == {*names}


def test_a_name_tips_the_scales_where_values_alone_do_not():
    values = [100 + i % 300 for i in range(2400)]
    for name, is_key in (("patient", True), ("userId", True), ("Kundennr", True), ("rating", False), ("score", False)):
        assert ("person" in draft_schema({name: values, "k": ["x", "y"] * 1200})) == is_key


def test_records_without_a_key_are_taken_for_persons_of_their_own():
    keys = [f"PAT{i // 3:06}" if i % 10 else "" for i in range(600)]
    table = {"id": keys, "k": ["x", "y", "z"] * 200}
    person = draft_schema(table)["person"]
    assert (person["null"], person["at_most"]) == ("alone", 3)
    assert "each record without the key is taken for a separate person" in meaning(person["warning"])
    assert pypgm.Schema.draft(table).encode(table).n_records == 600
    assert "null" not in draft_schema({"id": [f"PAT{i // 3:06}" for i in range(600)], "k": table["k"]})["person"]


def test_a_filler_is_no_person_with_many_records():
    draw = random.Random(6)
    keys = [draw.randrange(10**9, 10**10) for _ in range(200)] * 3 + [9_999_999_999] * 90 + ["unknown"] * 60
    draft = draft_schema({"id": keys, "k": ["x"] * 750})
    assert (draft["person"]["column"], draft["person"]["at_most"]) == ("id", 3)
    assert "count as one person, of whom at most at_most are kept" in meaning(draft["person"]["warning"])
    assert "'9999999999', 'unknown': all records with" in meaning(draft["person"]["warning"])


@pytest.mark.parametrize("mark", ["NULL", "N/A", "0000000000", "not known"])
def test_what_is_read_as_a_person_and_looks_like_no_key_is_named(mark):
    """It has few records kept, and the others are left out without a word: only a draft can say so."""
    keys = [f"{4_000_000_000 + i // 3 * 7}" for i in range(600)]
    table = {"id": [mark if i % 4 == 0 else key for i, key in enumerate(keys)], "k": ["x", "y", "z"] * 200}
    person = draft_schema(table)["person"]
    assert f"{mark!r}: all records with the same one of these texts count as one person" in meaning(person["warning"])
    assert not any(key in meaning(person["warning"]) for key in keys)
    schema = pypgm.Schema({"k": ["x", "y", "z"]}, person=pypgm.data.Person("id", person["at_most"], null="alone"))
    release = pypgm.synthesize(table, schema, budget=pypgm.Budget(rho=20))
    assert abs(release.model.total - 450 - person["at_most"]) < 5
    table["id"] = [key if key != mark else "" for key in table["id"]]
    assert "count as one person" not in meaning(draft_schema(table)["person"]["warning"])


def test_of_more_values_than_are_told_apart_the_first_are_counted():
    keys = [4_000_000_000 + 7 * (i // 2) for i in range(240_000)]
    person = draft_schema({"MRN": keys, "k": ["x", "y"] * 120_000})["person"]
    assert (person["column"], person["at_most"]) == ("MRN", 2)
    assert "at_most was found among the first '100000' values" in meaning(person["warning"])


def test_the_command_says_which_column_is_the_person(tmp_path, monkeypatch, capsys):
    monkeypatch.chdir(tmp_path)
    lines = [f"{4_000_000_000 + i // 2 * 7},{'xyz'[i % 3]}" for i in range(200)]
    (tmp_path / "t.csv").write_text("NHS Number,k\n" + "\n".join(lines) + "\n")
    assert cli.main(["schema", "init", "t.csv", "--out", "s.json"]) == 0
    said = capsys.readouterr().err
    assert "person: NHS Number, at most 2 records of each: read from the records" in said
    assert "dropped: NHS Number, its values look like a key" in said
    assert not any(line[:10] in said for line in lines)
    assert pypgm.read_schema("s.json").person.at_most == 2
    (tmp_path / "t.csv").write_text("age,k\n" + "\n".join(f"{20 + i % 50},x" for i in range(200)) + "\n")
    assert cli.main(["schema", "init", "t.csv", "--out", "s2.json"]) == 0
    assert "warning: may one person have several records?" in capsys.readouterr().err


def test_a_draft_of_types_leaves_open_how_many_records_a_person_has():
    table = {"age": [31, 7], "job": ["cook", "clerk"]}
    with pytest.raises(ValueError, match="Their draft") as refused:
        pypgm.Schema.from_types(table)
    assert "records_per_person" not in str(refused.value)
    assert pypgm.Schema.from_types(table, {"age": (0, 120), "job": ["cook"]}).stated_records_per_person is None
