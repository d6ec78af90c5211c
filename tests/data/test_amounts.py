"""Amounts as people write them: with currencies, percent signs, units and minuses of several forms."""

from __future__ import annotations

import random
from dataclasses import replace

import pytest

import pypgm
from pypgm.data import Integer, Real
from pypgm.data.columns.number_text import Spelling, parts_of
from pypgm.data.draft.draft import draft_schema
from pypgm.data.schema.schema import as_any_schema
from pypgm.data.sources import arrow_csv

AROUND = ["$", "£", "US$", "EUR ", "Rs.", "€ "], ["%", " %", " €", " kg", "kg", " mmol/l", " items", " CHF"]
MARKS = [(".", ""), (".", ","), (",", "."), (",", " "), (",", ""), (".", "'")]
MINUSES = ["-", "typographic", "inner", "trailing", "brackets"]


def spellings(n, seed):
    """Yield spellings, of which each has something around its numbers or a minus of its own."""
    draw = random.Random(seed)
    for _ in range(n):
        side = draw.randrange(3)
        prefix, suffix = draw.choice(AROUND[0]) if side == 0 else "", draw.choice(AROUND[1]) if side == 1 else ""
        minus = draw.choice(MINUSES if prefix else [form for form in MINUSES if form != "inner"])
        yield Spelling(*draw.choice(MARKS), prefix, suffix, minus), draw


def texts_of(spelling, draw, n, places):
    """Return distinct amounts of any sign, the digits of which need the marks."""
    return [spelling.marked(f"{draw.uniform(-9e6, 9e6):.{places}f}") for _ in range(n)]


def test_any_spelling_is_read_and_written_back_as_it_was():
    """A text comes back as it is, and its value is that of the bare number."""
    for spelling, draw in spellings(500, 1):
        for _ in range(20):
            bare = f"{draw.uniform(-9e6, 9e6):.{draw.choice([0, 1, 2, 5])}f}".replace("-0.0", "0.0")
            assert spelling.plain(spelling.marked(bare)) == bare, spelling


def test_a_draft_declares_any_spelling_as_it_is():
    """500 generated columns: the draft's declaration reads each text, and spells it so."""
    for spelling, draw in spellings(500, 2):
        places = draw.choice([0, 2]) if spelling.prefix != "EUR " else 2
        texts = texts_of(spelling, draw, 90, places)
        entry = draft_schema({"a": texts})["columns"]["a"]
        assert entry["kind"] == ("real" if places else "integer"), (spelling, texts[:3])
        names = ("decimal", "thousands", "prefix", "suffix", "minus")
        declared = Spelling(**{name: entry[name] for name in names if name in entry})
        assert [declared.marked(declared.plain(text)) for text in texts] == texts, (declared, spelling)


@pytest.mark.parametrize("library", ["pandas", "polars", "pyarrow"])
@pytest.mark.parametrize("spelling", [spelling for spelling, _ in spellings(3, 5)])
def test_every_door_reads_and_writes_it(spelling, library, tmp_path, monkeypatch):
    """Frames, files below and above the size that Arrow reads, Parquet, pieces, and an engine give the same codes."""
    module = pytest.importorskip(library)
    arrow, parquet = pytest.importorskip("pyarrow"), pytest.importorskip("pyarrow.parquet")
    texts = texts_of(spelling, random.Random(3), 3000, 2)
    column = replace(Real(-1e7, 1e7, bins=500, decimals=2), **spelling._asdict())
    schema = pypgm.Schema({"a": column})
    right = column.encode([float(spelling.plain(text)) for text in texts])[0].tolist()
    frame = module.table({"a": texts}) if library == "pyarrow" else module.DataFrame({"a": texts})
    assert schema.encode(frame).columns["a"].tolist() == right
    path = tmp_path / "t.csv"
    path.write_text("a\n" + "\n".join(f'"{text}"' for text in texts), encoding="utf-8")
    for least in (0, 1 << 40):
        monkeypatch.setattr(arrow_csv, "_MIN_BYTES", least)
        assert pypgm.read_table(path, schema).columns["a"].tolist() == right
    parquet.write_table(arrow.table({"a": texts}), tmp_path / "t.parquet")
    assert pypgm.read_table(tmp_path / "t.parquet", schema).columns["a"].tolist() == right
    counts = schema.encode({"a": texts}).count(["a"])[0].tolist()
    assert pypgm.data.scan(path, schema).count(["a"])[0].tolist() == counts
    release = pypgm.synthesize(frame, schema, epsilon=50, delta=1e-9)
    release.write(tmp_path / "out.csv", 300, rng=0)
    rows = (tmp_path / "out.csv").read_text(encoding="utf-8").splitlines()[1:]
    written = [row[1:-1] if row.startswith('"') else row for row in rows]
    assert [spelling.marked(spelling.plain(text)) for text in written] == written
    shown = list(release.to_frame(300, rng=0)["a"])
    assert [str(text) for text in shown] == written


@pytest.mark.filterwarnings("ignore:fetch_arrow_table:DeprecationWarning")  # of Ibis
def test_an_engine_reads_it():
    pytest.importorskip("duckdb")
    ibis, arrow = pytest.importorskip("ibis"), pytest.importorskip("pyarrow")
    spelling = Spelling(thousands=",", prefix="$", minus="brackets")
    texts = texts_of(spelling, random.Random(3), 400, 2)
    schema = pypgm.Schema({"a": replace(Real(-1e7, 1e7, bins=9, decimals=2), **spelling._asdict())})
    connection = ibis.duckdb.connect()
    connection.con.register("records", arrow.table({"a": texts}))
    counts = schema.encode({"a": texts}).count(["a"])[0].tolist()
    assert pypgm.data.EngineTable(connection.table("records"), schema).count(["a"])[0].tolist() == counts


@pytest.mark.parametrize("text", ["PAT000123", "AAL123", "EUR750", "1.2M", "3 Mio", "12b", "5-", "Room 5", "$$5"])
def test_ids_and_multiples_are_no_amounts(text):
    parts = parts_of(text)
    assert parts is None or parts.minus == "trailing"
    assert Real(0, 1e6, bins=2, prefix="$", suffix=" kg").encode([text])[1] is not None


@pytest.mark.parametrize("text", ["--5", "-(5)", "($-5)", "$5$", "$", "", "5 kg kg", "$ kg", "(5", "5)", "-5-"])
def test_misplaced_signs_make_no_number(text):
    for minus in MINUSES:
        _, problem = Real(-9, 9, bins=2, prefix="$", suffix=" kg", minus=minus).encode([text])
        assert problem is not None, minus


def test_bare_numbers_and_other_spaces_are_read_too():
    codes, problem = Integer(-9, 9, prefix="$ ", minus="inner").encode(["$5", "$ 5", "5", 5, "$\u00a0-5", "-$ 5"])
    assert (codes.tolist(), problem) == ([14, 14, 14, 14, 4, 4], None)


@pytest.mark.parametrize(
    "wrong",
    [{"prefix": "-"}, {"suffix": "5 kg"}, {"prefix": " "}, {"suffix": '"'}, {"minus": "+"}],
)
def test_refusals(wrong):
    with pytest.raises(ValueError, match=f"{next(iter(wrong))} (needs|must be)"):
        Integer(0, 9, **wrong)


def test_quantile_bins_read_amounts_as_they_are_written():
    entry = {"kind": "real", "low": 0, "high": 9000, "decimals": 2, "prefix": "$", "thousands": ","}
    schema = as_any_schema({"a": entry | {"bins": {"quantiles": 4, "share": 0.5}}})
    draw = random.Random(1)
    texts = [f"${draw.uniform(1000, 9000):,.2f}" for _ in range(2000)]
    release = pypgm.synthesize({"a": texts}, schema, epsilon=50, delta=1e-9)
    assert min(release.schema.columns["a"].edges) > 1000
    assert all(text.startswith("$") for text in release.schema.columns["a"].texts([0, 1, 2], 0).tolist())
