"""What a draft says of a table, of whatever columns, dialect and kind, fits it, and records come back like it."""

from __future__ import annotations

import csv
import datetime
import random
from collections.abc import Callable

import pytest

import pypgm
from pypgm.data.columns.number_text import PLAIN, WRITTEN, marked_number

N = 60
TABLES = 520
DAY = datetime.datetime(1990, 1, 1)
FORMATS = ["%d.%m.%Y", "%m/%d/%Y", "%Y%m%d", "%d-%b-%Y", "%Y-%m-%d", "%Y-%m-%d %H:%M:%S", "%Y-%m-%dT%H:%M:%SZ"]
FORMATS += ["%d/%m/%y %H:%M"]
PAIRS = [("no", "yes"), ("FALSE", "TRUE"), ("0", "1"), ("n", "Y"), ("False", "True")]


def many(make):
    return [make() for _ in range(N)]


def whole(draw):
    width = 10 ** draw.randrange(1, 8)
    low = draw.choice([0, -width, 10**12])
    return many(lambda: low + draw.randrange(width))


def as_floats(draw):
    return [f"{n}.0" for n in many(lambda: draw.randrange(9))]


def reals(draw, marks=PLAIN):
    spread, places = draw.choice([1, 3]), draw.randrange(4)
    values = many(lambda: draw.choice([1, 1, -1]) * draw.lognormvariate(5, spread))
    return [marked_number(f"{value:.{places}f}", *marks) for value in values]


def scientific(draw):
    return many(lambda: f"{draw.uniform(-9, 9):.3e}")


def heap(draw):
    return many(lambda: "40.00" if draw.random() < 0.6 else f"{draw.uniform(0, 500):.2f}")


def dates(draw):
    form, days = draw.choice(FORMATS), draw.choice([1, 20, 400, 9000])
    return many(lambda: (DAY + datetime.timedelta(days=draw.random() * days)).strftime(form))


def nanoseconds(draw):
    return many(lambda: f"2024-01-{draw.randrange(1, 28):02} 10:00:00.123456789")


def booleans(draw):
    return many(lambda: draw.choice(draw.choice(PAIRS) if draw.random() < 0.02 else PAIRS[0]))


def words(draw):
    return many(lambda: draw.choice(["Köln", "NA", "a,b", "x;y", 'say "no"', "l\nf", "007", "1.50", " b ", "None"]))


def names(draw):
    return many(lambda: f"n {draw.randrange(10**6)}")


def codes(draw):
    return many(lambda: f"0{draw.randrange(30):04}")


def large(draw):
    return many(lambda: str(123456789012345670 + draw.randrange(9)))


def blank(_):
    return [""] * N


def mixed(draw):
    return many(lambda: draw.choice(["1", "1.5", "x", "2024-01-01", "true", "-"]))


KINDS: list[Callable] = [whole, as_floats, reals, scientific, heap, dates, nanoseconds, booleans, words, names, codes]
KINDS += [large, blank, mixed]


def made(draw):
    """Return a table of texts."""
    table = {}
    for i in range(draw.randrange(1, 5)):
        kind = draw.choice(KINDS)
        values = list(map(str, reals(draw, draw.choice(WRITTEN)) if draw.random() < 0.1 else kind(draw)))
        share = draw.choice([0, 0, 0.1, 0.9])
        null = draw.choice(["", "NA", "?"])
        table[f"c {i}{draw.choice(['', ' ü', '/x'])}"] = [null if draw.random() < share else v for v in values]
    return table | {"k": many(lambda: draw.choice("xyz"))}


def frames(draw, table):
    """Return the table as a frame, of texts or of types."""
    library = pytest.importorskip(draw.choice(["pandas", "polars", "pyarrow"]))
    made = {name: [typed(draw, v) for v in values] if draw.random() < 0.7 else values for name, values in table.items()}
    make = library.table if library.__name__ == "pyarrow" else library.DataFrame
    try:
        return make(made)
    except Exception:  # values of several types in one column
        return make(table)


def typed(draw, text):
    """Return the value that a text spells."""
    if text in {"", "NA"}:
        return None
    for read in (int, float, datetime.datetime.fromisoformat):
        try:
            return read(text)
        except ValueError:
            continue
    return text


def file(draw, table, tmp_path):
    """Return the path of the table in a CSV file of some dialect, and its marks."""
    how = {"delimiter": draw.choice(",;\t"), "encoding": draw.choice(["utf-8", "utf-8-sig", "utf-16"])}
    path = tmp_path / "t.csv"
    with path.open("w", newline="", encoding=how["encoding"]) as out:
        if draw.random() < 0.1 and how["encoding"] != "utf-16":
            out.write(f"sep={how['delimiter']}\n")
        writer = csv.writer(out, delimiter=how["delimiter"], lineterminator=draw.choice(["\n", "\r\n"]))
        writer.writerow(table)
        writer.writerows(zip(*table.values(), strict=True))
    return path, how


@pytest.mark.slow
@pytest.mark.parametrize("seed", range(8))
@pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning")
def test_what_is_drafted_is_taken(seed, tmp_path):
    for number in range(seed, TABLES, 8):
        check(random.Random(number), tmp_path)


@pytest.mark.filterwarnings("ignore::pypgm.errors.DraftWarning")
def test_what_is_drafted_is_taken_of_a_few(tmp_path):
    pytest.importorskip("pandas")
    for number in range(25):
        check(random.Random(number), tmp_path)


def check(draw, tmp_path):
    table = made(draw)
    source, how = (frames(draw, table), {}) if draw.random() < 0.4 else file(draw, table, tmp_path)
    schema = pypgm.Schema.draft(source, **how)
    schema.save(tmp_path / "s.json")
    assert pypgm.read_schema(tmp_path / "s.json") == schema
    options = {"mechanism": "hdmm", "workload": 1, "iterations": 1, "epsilon": 10, "delta": 1e-6}
    release = pypgm.synthesize(source, tmp_path / "s.json", **options, **how)
    kept = [name for name in table if name not in schema.drop]
    found = release.to_frame(20, rng=0)
    columns = found.column_names if hasattr(found, "column_names") else list(found.columns)
    assert columns == kept
    if not how:
        assert {name: type_of(found, name) for name in kept} == {name: type_of(source, name) for name in kept}
        return
    release.write(tmp_path / "out.csv", 20, rng=0)
    again = pypgm.read_table(tmp_path / "out.csv", release.schema.of_records(), **how)  # persons are not in it
    assert again.domain == release.model.domain
    with (tmp_path / "out.csv").open(newline="", encoding=how["encoding"]) as lines:
        assert next(csv.reader(lines, delimiter=how["delimiter"])) == kept


def type_of(frame, name):
    return str(getattr(frame[name], "type", None) or frame[name].dtype)
