"""Cases of doors: one record more is counted by itself alone.

A case is a door, two declared columns, some records and an odd one. The exact counts that a door hands on, to a
mechanism or to the noise, are those of each record alone, added up; and it refuses records if it refuses one of them
alone. So one record changes each count by what a charge says, whatever it is. Doors that release are run again on one
run's noise.
"""

from __future__ import annotations

import datetime as dt
import importlib
import math
from collections.abc import Callable, Iterator
from decimal import Decimal
from fractions import Fraction
from functools import cache, partial
from typing import Any, NamedTuple

import numpy as np
from doors import FAMILIES, LABELS, NAMES, SIZES, Door, Raw
from raw_values import COLUMNS, ODD, VALUES
from selfcheck.cases import Outcome

import pypgm
from pypgm.audit.finding import finding
from pypgm.audit.mechanisms import Runs, check_calibration, check_charges, same_run
from pypgm.audit.pairs import Pair
from pypgm.audit.trace import observe
from pypgm.data import Schema
from pypgm.data.sources.encoding import columns_of
from pypgm.privacy import Budget, Privacy

SECRET = "zq7-of-one-person"


class Case(NamedTuple):
    """A door, what is declared, records, and another one with its place."""

    subject: str
    family: str
    schema: Schema
    raw: Raw
    odd: tuple[Any, ...]
    at: int

    def __str__(self) -> str:
        kinds = ", ".join(map(repr, self.schema.columns.values()))
        return f"{self.subject} of {kinds}: {self.raw.rows!r}, and {self.odd!r} at {self.at}"


@cache
def odd_values() -> list[Any]:
    """Return values of every kind, of pandas too; two are known again in a text."""
    pandas = importlib.import_module("pandas")
    more = [SECRET, " a ", "1e0", "01", "TRUE", "NA", dt.time(9, 30), np.str_("a"), np.float64("nan"), (1, 2), {1: 2}]
    more += [pandas.NaT, pandas.NA, pandas.Timestamp("2020-01-31 05:00", tz="Europe/Berlin"), pandas.Timedelta("1D")]
    more += [np.timedelta64(1, "D"), np.longdouble(1), np.uint64(2**63), 2**63, -(2**63), math.inf, -0.0, object()]
    return [*ODD, *more, *(value for values in VALUES.values() for value in values)]


def drawn(rng: np.random.Generator, pool: str) -> Any:
    """Return a value of a pool, one of those that stand there or another of the same type."""
    known = VALUES[pool]
    if rng.random() < 0.6:
        return known[int(rng.integers(len(known)))]
    n = int(rng.integers(-2, 12))
    made: dict[str, Callable[[], Any]] = {
        "int": lambda: n,
        "wide": lambda: 2**53 + n,
        "float": lambda: n / 4 if n % 3 else n * 1e-7,
        "decimal": lambda: Decimal(n) / 4,
        "boolean": lambda: n % 2 == 0,
        "text": lambda: [f"{n}", f"{n}.0", f"0{n}", f" {n / 4} ", SECRET, "yes", f"2020-01-{abs(n) + 1:02}"][n % 7],
        "date": lambda: dt.date(2020, 1, 30) + dt.timedelta(n),
        "time": lambda: dt.datetime(2020, 1, 30, 5) + dt.timedelta(hours=7 * n),
        "zone": lambda: dt.datetime(2020, 1, 30, 5, tzinfo=dt.timezone.utc) + dt.timedelta(hours=7 * n),
        "day": lambda: 20200100 + abs(n),
    }
    return made[pool]()


def case_of(family: str, choose: Any) -> Case:
    """Choose a door and records: most of what the columns take, and one of any kind that may come there."""
    takes, doors = FAMILIES[family]
    subject, rng = choose.one_of("door", tuple(doors)), choose.rng
    names = {name: choose.one_of("column", tuple(COLUMNS)) for name in NAMES}
    schema = Schema({name: COLUMNS[own] for name, own in names.items()})
    is_labelled = family in {"labels", "network"}
    among = ("text",) if takes == "texts" else ("text", "int", "float", "decimal") if is_labelled else tuple(VALUES)
    pools = {name: choose.one_of("pool", among) for name in NAMES}
    n = int(rng.integers(1, 7))
    columns = columns_of(SIZES if takes == "codes" else LABELS) if takes == "codes" or is_labelled else schema.columns
    values: dict[str, list[Any]] = {}
    odd = []
    for name in NAMES:
        made = [_given(rng, takes, pools[name]) for _ in range(9 * n)]
        fit = [value for value in made if columns[name].encode([value])[1] is None]
        known = (fit or made) if rng.random() < 0.97 else made
        values[name] = [known[i % len(known)] for i in range(n)]
        fits = rng.random() < (0.4 if takes == "any" and not is_labelled else 0.7)
        strange = _given(rng, takes, pools[name]) if takes in {"typed", "texts"} else _one_of(rng, odd_values())
        odd.append(_one_of(rng, [*known, None] if takes != "codes" else known) if fits else strange)
    return Case(subject, family, schema, Raw(values, pools), tuple(odd), int(rng.integers(n + 1)))


def _one_of(rng: np.random.Generator, values: list[Any]) -> Any:
    return values[int(rng.integers(len(values)))]


def _given(rng: np.random.Generator, takes: str, pool: str) -> Any:
    """Return a value of a pool, or a code."""
    whole = (int, np.int64, np.uint64, np.int8)
    return _one_of(rng, list(whole))(rng.integers(5)) if takes == "codes" else drawn(rng, pool)


# What a case comes to

Handed = tuple[list[Any] | None, str]
"""Counts that were handed on, None where the records were refused; and the refusal."""


def run_case(case: Case) -> Outcome:
    """Hand records to a door, with and without the odd one, and that one alone."""
    door = FAMILIES[case.family][1][case.subject]
    more = case.raw.inserted(case.at, case.odd)
    lone = case.raw._replace(values={name: [value] for name, value in zip(NAMES, case.odd, strict=True)})
    found: list[tuple[str, str]] = []
    if _releases(case):
        handed = _observed(door, case, (case.raw, more, lone), found)
    else:
        handed = [_handed(door, case.schema, raw, found) for raw in (case.raw, more, lone)]
    found += _wrong(case, handed)
    refused = handed[1][1]
    return Outcome(finding("doors", case.subject, found, "counted by themselves", exercised=True), refused)


def _releases(case: Case) -> bool:
    return case.family in {"release", "CSV released"} or case.subject.startswith(("synthesize", "SmartNoise"))


def _wrong(case: Case, handed: list[Handed]) -> Iterator[tuple[str, str]]:
    (base, _), (more, text), (lone, _) = handed
    if (more is None) != (base is None or lone is None):
        yield "exception tells", f"records are {'refused' if more is None else 'taken'}, and not each by itself"
    if SECRET in text or "np.timedelta64" in text:
        yield "exception tells", "a refusal tells a value"
    if more is None or base is None or lone is None:
        return
    for name, one, other, own in zip(NAMES, base, more, lone, strict=True):
        change = other.astype(np.int64) - one
        if not np.array_equal(change, own):
            yield (
                "sensitivity",
                f"column {name}: counts change by {change.tolist()}, {own.tolist()} for one alone",
            )
        elif int(np.abs(change).sum()) != 1 and case.subject != "parent_of":
            yield "sensitivity", f"column {name}: one record changes counts by {change.tolist()}"
    for name, column in _columns(case).items():
        every = case.raw.inserted(case.at, case.odd).values[name]
        codes = [int(column.encode([value])[0][0]) for value in every]
        if np.bincount(codes, minlength=column.size).tolist() != more[NAMES.index(name)].tolist():
            yield "wrong counts", f"column {name}: not the codes that values have alone"


def _columns(case: Case) -> dict[str, Any]:
    """Return the columns by which the values of a case are encoded; none where codes or keys are given."""
    if case.family in {"codes", "mbi", "keys", "network"}:
        return {}
    return dict(columns_of(LABELS) if case.family == "labels" else case.schema.columns)


def _handed(door: Door, schema: Schema, raw: Raw, found: list[tuple[str, str]]) -> Handed:
    try:
        return door(schema, raw), ""
    except (TypeError, ValueError) as error:
        return None, f"{type(error).__name__}: {error}"
    except Exception as error:
        found.append(("no release", f"{type(error).__name__} is raised"))
        return None, ""


def _observed(door: Door, case: Case, tables: tuple[Raw, ...], found: list[tuple[str, str]]) -> list[Handed]:
    """Observe releases, that of the second table on the noise of the first; return what they handed to the noise."""
    nobody, budget = pypgm.Dataset({"a": [0]}, pypgm.Domain({"a": 1})), Budget(epsilon=1, delta=Fraction(1, 10**9))
    traces: list[Any] = []
    for raw in tables:
        like = traces[0] if len(traces) == 1 and not traces[0].error else None
        traces.append(observe(lambda *_, raw=raw: door(case.schema, raw), nobody, budget, Privacy(), like=like))
    one, other = traces[:2]
    if not one.error and not other.error:
        runs = Runs(case.subject, budget, ((Pair("a record more", nobody, nobody, Privacy(), True), one, other),))
        for checked in (check_calibration(runs), check_charges(runs)):
            found += [(name, checked.detail) for name in checked.defects]
        found += same_run(one, other)
    found += [("charged for nothing", trace.error) for trace in traces if trace.error and trace.charges]
    return [(None, t.error) if t.error else ([d.private for d in t.draws], "") for t in traces]


def tried(family: str, choose: Any) -> tuple[Case, Outcome]:
    """Choose a case and run it."""
    case = case_of(family, choose)
    return case, run_case(case)


SUBJECTS = {family: partial(tried, family) for family in FAMILIES}
