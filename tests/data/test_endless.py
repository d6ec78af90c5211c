"""Texts and values that look small and would take for ever: each is read, or refused, at once."""

from __future__ import annotations

import json
from decimal import Decimal
from fractions import Fraction

import numpy as np
import pytest

import pypgm
from pypgm._base.numeric import as_fraction, fraction_of, whole_of
from pypgm.bayes.bif import parse_bif
from pypgm.bayes.bif_words import items
from pypgm.cli import main
from pypgm.data.schema.rule_comparison import Comparison
from pypgm.privacy import Charge
from pypgm.privacy.laws import Stated

pytestmark = pytest.mark.usefixtures("ends_by_itself")

HUGE = ["1e999999999", "1e-999999999", "1E+0099999999", "-1e999999999", "1" * 20_000, "1/" + "3" * 20_000]
PAIR = "variable a { type discrete[2] { x, y }; } variable b { type discrete[2] { x, y }; } "


@pytest.mark.parametrize("text", [*HUGE, "1_0", "١", "0x10", "1/0", "nan", "inf", "", "1e", "e5"])
def test_no_number_is_read_that_cannot_be_worked_with(text):
    with pytest.raises(ValueError, match="no number"):
        fraction_of(text)
    with pytest.raises(ValueError, match="epsilon must be a number such as"):
        pypgm.Budget(epsilon=text)
    with pytest.raises(ValueError, match="share needs a part of the budget"):
        pypgm.Schema.from_dict({"a": {"kind": "open", "share": text}})


@pytest.mark.parametrize("text", ["0.1", " 1/3 ", "+1e-9", "1e0005", "5e-324", "123.456E+2"])
def test_numbers_are_exact(text):
    assert fraction_of(text) == as_fraction("a number", text) == Fraction(text)


def test_whole_numbers_are_bounded():
    assert [whole_of(text) for text in ("0", "007", "9" * 400)] == [0, 7, int("9" * 400)]
    assert [whole_of(text) for text in ("", "-1", "²", "1.0", "9" * 5000)] == [None] * 5


@pytest.mark.parametrize("value", [Decimal("1e999999999"), Decimal("1e-999999999"), Decimal("NaN"), Decimal("sNaN")])
def test_decimals_are_bounded_too(value):
    with pytest.raises(ValueError, match="rho must be"):
        pypgm.Budget(rho=value)


@pytest.mark.parametrize("epsilon", [10**400, Fraction(10**400, 3), "1e400"])
def test_budgets_are_doubles(epsilon):
    with pytest.raises(ValueError, match=r"epsilon must be at most 1.8e\+308"):
        pypgm.Budget(epsilon=epsilon)


@pytest.mark.parametrize("field", ["epsilon", "cost"])
def test_a_ledger_with_a_huge_number(field):
    stored = Charge("a step", "a", Stated(epsilon="1/2"), unit="epsilon").to_dict()
    (stored["parameters"] if field == "epsilon" else stored)[field] = "1e999999999"
    with pytest.raises(ValueError, match=f"{field} must be a number such as"):
        Charge.from_dict(stored)


@pytest.mark.parametrize(
    "arguments",
    [["--epsilon", "1e999999999", "--records", "5"], ["--epsilon", "1", "--records", "9" * 5000]],
)
def test_a_command_with_a_huge_number(arguments, tmp_path, capsys):
    (tmp_path / "s.json").write_text('{"a": 2, "b": 2}')
    assert main(["plan", str(tmp_path / "s.json"), "--delta", "1e-9", *arguments]) == 2
    assert "needs a number" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("text", "message"),
    [
        ("variable a { type discrete [2] " + '{"}{"' * 140, "must stand here in braces"),
        ("variable a { property " + '{"}{"' * 140, "must stand in this variable block"),
        (PAIR + "probability (a) " + '{"}{"' * 140, "the probabilities must stand here in braces"),
        (PAIR + "probability (a) { property " + "{}" * 300 + '"', "a quote must be closed"),
        (PAIR + "probability (a | b) { (x) 1, 0;" + " " * 300_000 + " z }", "must stand here, got 'z'"),
        (PAIR + "probability (a | b) { " + "(x" * 300_000 + " }", "must stand here, got '.x.x"),
        ("variable a { type discrete [" + "9" * 5000 + "] { x } }", "needs a number of values, 1 or more"),
        (
            "variable a { type discrete [60000] { " + ", ".join(["x", *map(str, range(59_999))][:-1]) + ", x } }",
            "twice",
        ),
    ],
)
def test_networks_are_read_in_linear_time(text, message):
    with pytest.raises(ValueError, match=message):
        parse_bif(text)


def test_properties_may_have_braces_and_quotes():
    text = 'variable a { property p = { x; "}" {y} } "; }" z ; property q; type discrete[2] { "x}", y }; property r }'
    found = parse_bif(
        f'network n {{ property "{{" ; }} {text} probability (a) {{ property "}}"; table 1, 0; property s }}'
    )
    assert found.labels == {"a": ("x}", "y")}
    assert found.tables["a"].tolist() == [1, 0]


def test_lists_with_quotes_are_split_in_linear_time():
    assert items('"a, b" ,' + " " * 50_000 + "c d", 2) == ["a, b", "c d"]
    assert items('"a"' + " " * 50_000 + '"b"', 2) == ["a", "b"]


def test_rules_are_split_in_linear_time():
    with pytest.raises(ValueError, match="a comparison needs"):
        Comparison(" " * 100_000 + "<" + " " * 100_000)
    assert Comparison(" a b" + " " * 100_000 + "<= c ").columns == ("a b", "c")


LABELLED = pypgm.Domain({"a": 2, "b": 3, "c": [f"v{i}" for i in range(20_000)]})


@pytest.fixture(scope="module")
def model():
    return pypgm.GraphicalModel(pypgm.CliqueVector(LABELLED, [("a", "b"), ("c",)]), 10.0)


@pytest.mark.parametrize("given", [range(10**12), range(-1, 10**12), range(10**12, 0, -1)])
def test_an_endless_range_of_evidence(model, given):
    with pytest.raises(ValueError, match="codes of 'b' are 0 to 2, got"):
        model.query("a", {"b": given})
    with pytest.raises(ValueError, match=r"'c' has no label -?\d+; .*a number is a value here, not a code"):
        model.query("a", {"c": given})


def test_many_labels_of_evidence(model):
    some = LABELLED.labels["c"][:15_000]
    every = [some, list(some), np.array(some), np.array(some, dtype=object), set(some)]
    answers = [model.query("c", {"c": given}).values for given in every]
    assert all((answer == answers[0]).all() for answer in answers)
    with pytest.raises(ValueError, match="has no label 'w'"):
        model.query("a", {"c": [*some, "w"]})


def test_names_that_come_twice_among_many(tmp_path):
    names = [f"n{i}" for i in range(200_000)]
    (tmp_path / "s.json").write_text("{" + ", ".join(f'"{n}": 2' for n in [*names, names[-1]]) + "}")
    for read in (pypgm.read_schema, pypgm.read_domain):
        with pytest.raises(ValueError, match="'n199999' comes more than once"):
            read(tmp_path / "s.json")
    with pytest.raises(ValueError, match="label 'n5' comes more than once"):
        pypgm.Schema.from_dict({"a": [*names, "n5"] * 2})


@pytest.mark.parametrize("text", ["1" * 5000, "[" * 100_000, '{"a": ' + "9" * 4000 + "}", json.dumps({"a": 10**399})])
def test_json_of_huge_numbers(tmp_path, text):
    (tmp_path / "s.json").write_text(text)
    with pytest.raises(ValueError, match=r"s\.json"):
        pypgm.read_schema(tmp_path / "s.json")


def test_numbers_beyond_doubles_are_refused_like_infinite_ones():
    potentials = pypgm.CliqueVector(pypgm.Domain({"a": 2}), ["a"])
    for total in (10**400, -(10**400), Fraction(10**400, 3)):
        with pytest.raises(ValueError, match="total must be positive and finite"):
            pypgm.GraphicalModel(potentials, total)


def test_more_records_than_can_be_counted():
    with pytest.raises(ValueError, match=r"at most 2147483647 records can be drawn, got 1e\+300$"):
        pypgm.GraphicalModel(pypgm.CliqueVector(pypgm.Domain({"a": 2}), ["a"]), 1e300).synthetic_data(rng=0)
