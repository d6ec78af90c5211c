"""Open columns of schemas: what is found of them, and what it costs."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

from pypgm.audit.columns import lone_key_passes, scripted
from pypgm.audit.finding import Finding, finding
from pypgm.data import Integer, OpenSet, QuantileBins, Schema
from pypgm.errors import BudgetError
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.relation import Privacy
from pypgm.privacy.settling import settle

__all__ = ["check_open_sets"]

_BUDGET = Budget(rho=8, reserved_delta=Fraction(1, 10**5))
_SCHEMA = Schema(
    {"job": OpenSet("1/4", null="?"), "town": OpenSet("1/8"), "age": QuantileBins(Integer(0, 9), 2, "1/8")}
)
_PRIVACIES = (Privacy(), Privacy("replace"), Privacy(records_per_person=3))


class _Unread(Sequence[Any]):
    """Values that nobody may look at."""

    def __len__(self) -> int:
        return 9

    def __getitem__(self, place: Any) -> Any:
        raise AssertionError("read before the charge")


def check_open_sets() -> Finding:
    """Settle schemas with one person's values and without, on given noise: both come out alike, for equal charges.

    Values of one person alone are not listed, values that many have are; the shares that the columns say are not
    overspent, the delta of all thresholds together is what was reserved and covers what passes them, and what cannot
    be paid is not read.
    """
    found: list[tuple[str, str]] = []
    for privacy in _PRIVACIES:
        found += _pair(privacy)
    try:
        settle(_SCHEMA, dict.fromkeys(_SCHEMA.open, _Unread()), Privacy(), _spent())
    except BudgetError:
        pass
    except AssertionError as error:
        found.append(("read before the charge", str(error)))
    else:
        found.append(("overspent", "columns are settled with nothing left"))
    return finding("open sets", "settle", found, f"{len(_PRIVACIES)} pairs of columns, one refusal")


def _spent() -> Ledger:
    ledger = Ledger(_BUDGET)
    ledger.charge_laplace("measure", "()", scale=Fraction(1, 4), sensitivity=1)
    return ledger


def _pair(privacy: Privacy) -> Iterator[tuple[str, str]]:
    k = privacy.records_per_person
    schemas, ledgers = [], []
    for own in (["spy"] * k, ["cook"] * k if privacy.neighbours == "replace" else []):
        raw = {"job": ["cook"] * 400 + ["?"] * 400 + own, "town": ["here"] * 400 + ["there"] * (400 + len(own))}
        ledger = Ledger(_BUDGET)
        with scripted(lambda counts: counts):
            schemas.append(settle(_SCHEMA, raw | {"age": [3] * len(raw["job"])}, privacy, ledger))
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
    for name, share in (("job", Fraction(1, 4)), ("town", Fraction(1, 8)), ("age", Fraction(1, 8))):
        lines = [line for line in ledgers[0].lines if line.within.startswith(f"settle / {name}")]
        if not 0 < sum(line.cost for line in lines) <= share * _BUDGET.limit:
            yield "overspent", f"{privacy}: {name} does not cost its share"
    passing = sum(
        lone_key_passes(line.noise, line.parameters["variance"], int(line.parameters["threshold"]), k)
        for line in ledgers[0].lines
        if line.delta
    )
    if passing > float(ledgers[0].spent_delta()) * (1 + 1e-9) or ledgers[0].spent_delta() > _BUDGET.reserved_delta:
        yield "threshold", f"{privacy}: a lone value passes with {passing:.3e}"
