"""The text of a release fits a screen, however many columns it has; its long form names them all."""

from __future__ import annotations

import numpy as np
import pytest

import pypgm
from pypgm.reporting.facts import Facts
from pypgm.reporting.text import release_lines

LOSSES = ("coarsened", "in one bin", "beyond their bounds", '"other"', "missing", "left out")


def release_of(n_columns, mechanism):
    """Categories, some with missing values, coarse numbers, open texts, and amounts with quantiles, in turn."""
    rng, n = np.random.default_rng(n_columns), 600
    table, columns = {}, {}
    for i in range(n_columns):
        name = f"{('Ward', 'Length of stay', 'Procedure', 'Creatinine')[i % 4]} {i}"
        if i % 4 == 0:
            table[name] = rng.choice(["north", "south", ""], n)
            columns[name] = {"kind": "categorical", "values": ["north", "south"], "null": [""]}
        elif i % 4 == 1:
            table[name] = rng.integers(0, 1000, n)
            columns[name] = {"kind": "integer", "low": 0, "high": 999, "width": 100, "outside": "clip"}
        elif i % 4 == 2:
            table[name] = rng.choice([f"c{i}" for i in range(200)], n)
            columns[name] = {"kind": "open", "share": 0.2 / n_columns}
        else:
            table[name] = rng.lognormal(7, 1, n).round(2)
            bins = {"quantiles": 5, "share": 0.2 / n_columns}
            columns[name] = {"kind": "real", "low": 0, "high": 10**6, "decimals": 2, "bins": bins, "outside": "clip"}
    schema = {"columns": columns, "drop": [f"note {i}" for i in range(n_columns)]}
    table |= {name: ["x"] * n for name in schema["drop"]}
    return pypgm.synthesize(table, schema, epsilon=1, delta=1e-9, mechanism=mechanism)


@pytest.mark.parametrize(("n_columns", "mechanism"), [(3, "wide"), (30, "wide"), (30, "mst"), (300, "wide")])
def test_a_report_is_25_lines_of_100_columns(n_columns, mechanism):
    release = release_of(n_columns, mechanism)
    facts = Facts(release)
    short, long = ("\n".join(release_lines(facts, model=ledger, ledger=ledger)) for ledger in (False, True))
    lines = short.splitlines()
    assert len(lines) <= 25
    assert max(map(len, lines)) <= 100
    assert long.startswith(short)
    told, whole = (" ".join(text.split()) for text in (short, long))
    names = [*release.model.domain, *release.schema.drop]
    assert [name for name in names if name not in whole] == []
    assert [word for word in LOSSES if word in whole and word not in told] == []
    warnings = told.split("warning: ")[1:]
    assert len(warnings) == len(set(warnings))
    assert told.count("never counted: ") <= 1
    if n_columns == 3:
        assert (release.report(), release.report(ledger=True)) == (short, long)
        assert [name for name in names if name not in told] == []
    else:
        assert " more" in told
