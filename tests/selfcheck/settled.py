"""Open columns of schemas: the values and bins found, and their cost."""

from __future__ import annotations

import datetime
from collections.abc import Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.audit.finding import Finding, finding
from pypgm.audit.laws import LAWS
from pypgm.audit.trace import core_with
from pypgm.data import Integer, OpenSchema, OpenSet, QuantileBins, Real, Schema
from pypgm.errors import BudgetError
from pypgm.privacy.budget import Budget
from pypgm.privacy.laws import DiscreteLaplace
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.relation import Privacy
from pypgm.privacy.settling import settle
from selfcheck.columns import lone_key_passes, scripted

_BUDGET = Budget(rho=8, reserved_delta=Fraction(1, 10**5))
_SCHEMA = OpenSchema(
    {
        "job": OpenSet("1/8", null="?"),
        "town": OpenSet("1/8"),
        "age": QuantileBins(Integer(0, 9), 2, "1/8"),
        "fee": QuantileBins(Integer(-99, 99, outside="clip"), 2, "1/8", find_bounds=True),
    }
)
_LARGE_SCHEMA = OpenSchema(
    {
        "job": OpenSet("1/8", null="-"),
        "age": QuantileBins(Integer(0, 5000, null="-1"), 3, "1/8"),
        "wage": QuantileBins(Real(0, 10, bins=1, null="-1"), 2, "1/8"),
        "fee": QuantileBins(Integer(-5000, 5000, outside="clip", null="-1"), 3, "1/8", find_bounds=True),
    }
)
_PRIVACIES = (Privacy(), Privacy("replace"), Privacy(records_per_person=3))


_TWICE = tuple(OpenSchema({"x": column}) for column in (OpenSet("1/4"), QuantileBins(Integer(0, 9), 2, "1/4")))
_KINDS: tuple[Any, ...] = (
    *(True, 1, 1.0, "1", " 1", Decimal("1.0"), Fraction(1), np.float32(1), np.bool_(True), "True", False, 0, -0.0, "0"),
    *(None, "", float("nan"), np.datetime64("2020-01-31"), datetime.date(2020, 1, 31), datetime.datetime(2020, 1, 31)),
    *(datetime.timedelta(hours=1), np.timedelta64(60, "m"), b"1", (1,), 1 << 53, float(1 << 53), 2.5, Decimal("2.50")),
)
"""Values of all kinds, some of them equal in Python."""


_ERRORS: tuple[type[BaseException], ...] = (
    *(ArithmeticError, AttributeError, ImportError, LookupError, MemoryError, OSError, OverflowError, RecursionError),
    *(RuntimeError, StopIteration, TypeError, UnicodeError, UserWarning, ValueError, GeneratorExit, SystemExit),
)
"""Errors that a value may raise when read; an interrupt is not one of them."""


class _Raising:
    """Value that raises an error, with a secret in its text, at any use."""

    def __init__(self, error: type[BaseException]) -> None:
        self._error = error

    def __getattribute__(self, name: str) -> Any:
        raise object.__getattribute__(self, "_error")(4711)

    def __str__(self) -> str:
        return str(len(self))

    __repr__ = __str__

    def __len__(self) -> int:
        raise object.__getattribute__(self, "_error")(4711)

    def __float__(self) -> float:
        return float(len(self))

    def __hash__(self) -> int:
        return len(self)

    def __eq__(self, other: object) -> bool:
        return len(self) == other


class _Unread(Sequence[Any]):
    """Values that must not be read."""

    def __len__(self) -> int:
        return 9

    def __getitem__(self, place: Any) -> Any:
        raise AssertionError("read before the charge")


def check_open_sets() -> Finding:
    """Settle schemas with one person's values and without, on given noise: both come out alike, for equal charges.

    Values of one person alone are not listed, values that many have are; the shares that the columns say are not
    overspent, the delta of all thresholds together is what was reserved and covers what passes them, and what cannot
    be paid is not read. Of many records, too, what is found is what came out of the samplers, and nulls are no values.
    One record more of any kind, among others that are equal to it and are another value, changes what is hidden by one.
    A value that raises an error of any type is a null: nothing is said of it.
    """
    defects: list[tuple[str, str]] = []
    for privacy in _PRIVACIES:
        defects += _pair(privacy)
    defects += _of_many()
    defects += _of_kinds()
    defects += _of_errors()
    try:
        settle(_SCHEMA, dict.fromkeys(_SCHEMA.open, _Unread()), Privacy(), _spent())
    except BudgetError:
        pass
    except AssertionError as error:
        defects.append(("read before the charge", str(error)))
    else:
        defects.append(("overspent", "columns are settled with nothing left"))
    return finding(
        "open sets", "settle", defects, f"{len(_PRIVACIES)} pairs of columns, {len(_ERRORS)} errors, one refusal"
    )


def _spent() -> Ledger:
    ledger = Ledger(_BUDGET)
    ledger.charge("measure", "()", DiscreteLaplace(scale=Fraction(1, 4), sensitivity=1))
    return ledger


def _pair(privacy: Privacy) -> Iterator[tuple[str, str]]:
    k = privacy.records_per_person
    schemas, ledgers = [], []
    for person in (["spy"] * k, ["cook"] * k if privacy.neighbours == "replace" else []):
        raw = {"job": ["cook"] * 400 + ["?"] * 400 + person, "town": ["here"] * 400 + ["there"] * (400 + len(person))}
        ledger = Ledger(_BUDGET)
        with scripted(lambda counts: counts):
            schemas.append(settle(_SCHEMA, raw | dict.fromkeys(("age", "fee"), [3] * len(raw["job"])), privacy, ledger))
        ledgers.append(ledger)
    if schemas[0].columns["job"] != schemas[1].columns["job"]:
        yield "threshold", f"{privacy}: a value of one person alone is listed"
    if [schemas[0].columns[name].labels for name in ("job", "town")] != [
        ("cook", "other", "?"),
        ("here", "there", "other"),
    ]:
        yield "answer of another table", f"{privacy}: not the values that many people have"
    if ledgers[0].lines != ledgers[1].lines:
        yield "charge depends on the data", f"{privacy}: the ledgers differ"
    for name, share in (
        ("job", Fraction(1, 4)),
        ("town", Fraction(1, 8)),
        ("age", Fraction(1, 8)),
        ("fee", Fraction(1, 8)),
    ):
        lines = [line for line in ledgers[0].lines if line.within.startswith(f"settle / {name}")]
        if not 0 < sum(line.cost for line in lines) <= share * _BUDGET.limit:
            yield "overspent", f"{privacy}: {name} does not cost its share"
    passing = sum(
        lone_key_passes(LAWS[line.noise], line.parameters["variance"], int(line.parameters["threshold"]), k)
        for line in ledgers[0].lines
        if line.delta
    )
    if passing > float(ledgers[0].spent_delta()) * (1 + 1e-9) or ledgers[0].spent_delta() > _BUDGET.reserved_delta:
        yield "threshold", f"{privacy}: a lone value passes with {passing:.3e}"


def _of_many() -> Iterator[tuple[str, str]]:
    """Settle a large schema with 10,000 records: half of each column are nulls, and all outcomes are given."""
    job = ["cook"] * 4000 + ["spy"] + ["-"] * 5999
    age = [*range(4001), *["-1"] * 5999]
    raw = {"job": job, "age": age, "fee": age, "wage": [a if a == "-1" else a / 1000 for a in age]}
    few = {name: [v for v in values if v not in {"-", "-1"}] for name, values in raw.items()}
    other = {"job": ["cook", "spy"], "age": [4999], "fee": [-4999], "wage": [9]}
    hidden_numbers, schemas = [], []
    for columns in (raw, few, other):
        hidden, schema = _given(columns)
        hidden_numbers.append(hidden)
        schemas.append(schema)
    if schemas[0].columns["job"].labels != ("spy", "other", "-"):
        yield "unnoised answer", "values are listed that noise kept below the threshold, or others are not"
    if any(schemas[0].columns[name] != schemas[2].columns[name] for name in ("age", "wage", "fee")):
        yield "unnoised answer", "bins begin elsewhere than the selections said"
    with_nulls, without, _ = hidden_numbers
    if len(with_nulls) != len(without) or not all(map(np.array_equal, with_nulls, without)):
        yield "answer of another table", "what is hidden changes with the nulls"


def _of_kinds() -> Iterator[tuple[str, str]]:
    """Add a record of each kind at either end: one count grows by 1, and no rank moves by more than its range.

    Values that Python takes for equal, as 1, 1.0 and True, are different ones, or the same, whoever comes first.
    """
    base = [value for value in _KINDS for _ in range(2)]
    before = _hidden_of(base)
    for value in _KINDS:
        for columns in ([value, *base], [*base, value]):
            after = _hidden_of(columns)
            for schema, one, other in zip(_TWICE, before, after, strict=True):
                changes = other - one if one.shape == other.shape else None
                most = Privacy().quantile_score_range(Fraction(1, 2)) if schema is _TWICE[1] else 1
                if (
                    changes is None
                    or int(changes.max() - min(changes.min(), 0)) > most
                    or (schema is _TWICE[0] and int(np.abs(changes).sum()) > 1)
                ):
                    yield "sensitivity", f"{schema!r}: one record of {type(value).__name__} changes more than one count"


def _of_errors() -> Iterator[tuple[str, str]]:
    """Settle columns in which one value raises an error: the hidden numbers are those of a null."""
    before = _hidden_of(["1", "2", "2", None])
    for error in _ERRORS:
        try:
            after = _hidden_of(["1", "2", "2", _Raising(error)])
        except BaseException as raised:  # whatever the value raised
            yield "exception tells", f"a value that raises {error.__name__} ends in {type(raised).__name__}"
            continue
        if not all(map(np.array_equal, before, after)):
            yield "answer of another table", f"a value that raises {error.__name__} is counted as another than a null"


def _hidden_of(values: list[Any]) -> list[NDArray[np.int64]]:
    """Return the hidden numbers of a column, settled as an open set and in quantile bins."""
    hidden: list[NDArray[np.int64]] = []

    def noted(scores: NDArray[np.int64], *_: Any, **__: Any) -> int:
        hidden.append(scores.copy())
        return 0

    with scripted(lambda counts: counts) as drawn, core_with(select_exponential=noted):
        for schema in _TWICE:
            settle(schema, {"x": values}, Privacy(), Ledger(_BUDGET))
    return [drawn[0][1], *hidden]


def _given(columns: dict[str, Any]) -> tuple[list[NDArray[np.int64]], Schema]:
    """Settle on outcomes that do not depend on the records; return the hidden numbers and the schema."""
    hidden: list[NDArray[np.int64]] = []

    def outcome(counts: NDArray[np.int64]) -> NDArray[np.int64]:
        hidden.append(counts.copy())
        return np.arange(counts.size) % 2 * 10**6

    def select(scores: NDArray[np.int64], *_: Any, **__: Any) -> int:
        hidden.append(scores.copy())
        return 7 * len(hidden)

    with scripted(outcome), core_with(select_exponential=select):
        return hidden, settle(_LARGE_SCHEMA, columns, Privacy(), Ledger(_BUDGET))
