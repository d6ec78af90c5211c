"""Cases: a mechanism with options, a small table, and its worst-case or random neighbours."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass

import numpy as np
from numpy.typing import NDArray

from pypgm.audit.finding import Finding, finding
from pypgm.audit.mechanisms import Runs, change_of, compared_draws, same_run
from pypgm.audit.pairs import Pair, table
from pypgm.audit.stated import Effort
from pypgm.audit.tiers import followed
from pypgm.audit.trace import observe
from pypgm.domain import Domain
from pypgm.privacy.budget import Budget
from pypgm.privacy.relation import Privacy
from pypgm.queries import Neighbours
from selfcheck.settings import SETTINGS, Choose, Setting, Subject

Records = NDArray[np.int64]

_Shapes = tuple[tuple[int, ...], ...]
_SHAPES: _Shapes = ((3, 2, 2), (2, 2), (6, 6), (1,), (2,) * 5, (4, 1, 3), (3,), (12, 5), (3, 3, 3), (30, 2, 2), (4, 4))
_SMALL_SHAPES: _Shapes = ((3, 3), (2, 2), (3, 2, 2), (1,), (2, 2, 2, 2), (4, 1, 3), (4, 4), (3,))
_WIDE_SHAPES: _Shapes = (
    (2,) * 5,
    (3, 2, 2),
    (2, 3, 2, 2),
    (2, 2),
    (3, 1, 2, 2),
    (6, 6),
    (1,),
    (2, 2, 2, 3),
    (2, 3, 2, 2, 2),
    (2, 2, 2, 1, 2),
)
_BINARY_SHAPES: _Shapes = ((2, 2), (2,), (2, 2, 2), (2, 2, 2, 2))
_LARGE_SHAPES: _Shapes = ((40, 20), (24, 20), (30, 2, 2), (60, 8))
_SIZES = (60, 5, 1, 0, 2, 20, 3, 9, 60, 20)
_MANY_RECORDS = (300, 2000)
_AMPLE: tuple[dict[str, str], ...] = ({"rho": "50"}, {"rho": "3"})
_GAUSSIAN: tuple[dict[str, str], ...] = (
    {"rho": "2"},
    {"rho": "50"},
    {"epsilon": "4", "delta": "1e-9"},
    {"rho": "1/8"},
    {"rho": "1/7"},
)
_RESERVED = {"epsilon": "1", "delta": "1e-9", "reserved_delta": "1e-10"}
_PURE: tuple[dict[str, str], ...] = ({"epsilon": "1"}, {"epsilon": "20"}, {"epsilon": "7/3"})


@dataclass(frozen=True, slots=True)
class Case:
    """Mechanism with its options and budget, a table and its neighbours."""

    subject: str
    setting: Setting
    budget: Budget
    pairs: tuple[Pair, ...]

    def __str__(self) -> str:
        one = self.pairs[0].one
        sizes = [pair.other.n_records for pair in self.pairs]
        options = ", ".join(f"{name}={value!r}" for name, value in self.setting.options.items())
        where = f"{one.domain!r}, {one.n_records} records ({self.pairs[0].name}) beside {sizes}"
        return f"{self.subject}({options}) {where}, {self.pairs[0].privacy}, {self.budget!r}"


@dataclass(frozen=True, slots=True)
class Outcome:
    """Outcome of a case: a refusal, or the finding and the part of each line's allowed change that was attained."""

    finding: Finding
    refused: str = ""
    attained: tuple[tuple[str, float], ...] = ()
    moved: int = 0


def case_of(name: str, choose: Choose, neighbours: int = 1) -> Case:
    """Choose a table, a relation, a budget and options for a mechanism."""
    subject = SETTINGS[name]
    # Some choices are made only if there are many records and cells, and budget.
    is_rich = choose.one_of("much to tell", subject.is_rich)
    domain = _domain(choose, _shapes(subject, is_rich=is_rich))
    relations: tuple[Neighbours, Neighbours] = ("replace", "add-remove")
    relation = choose.one_of("neighbours", relations)
    privacy = Privacy(relation, choose.one_of("records_per_person", (1, 1, 3, 2)))
    setting = subject.make(choose, domain, privacy)
    law = setting.options.get("noise")
    budgets = _PURE * (subject.is_pure and law != "gaussian")
    budgets += (_AMPLE if is_rich else (*_GAUSSIAN, _RESERVED)) * (law != "laplace")
    budget = Budget(**choose.one_of("budget", budgets))
    n = choose.one_of("records", _MANY_RECORDS if is_rich else _SIZES)
    keeps_order = setting.options.get("sampling", "1") != "1"
    return Case(name, setting, budget, tuple(_pairs(choose, n, domain, privacy, (neighbours, keeps_order))))


def _shapes(subject: Subject, *, is_rich: bool) -> Sequence[tuple[int, ...]]:
    if subject.is_binary:
        return _BINARY_SHAPES
    if is_rich:
        return _LARGE_SHAPES
    return _SMALL_SHAPES if subject.is_small else _WIDE_SHAPES if subject.is_wide else _SHAPES


def _domain(choose: Choose, shapes: Sequence[tuple[int, ...]]) -> Domain:
    shape = choose.one_of("shape", shapes)
    labels = choose.one_of("labels", ("none", "texts", "numbers"))
    texts, numbers = ([f"v{j}" for j in range(60)], [j / 2 for j in range(60)])
    made: dict[str, int | list[str] | list[float]] = {}
    for i, size in enumerate(shape):
        made[f"x{i}"] = size if labels == "none" else (texts if labels == "texts" else numbers)[:size]
    return Domain(made)


def _pairs(choose: Choose, n: int, domain: Domain, privacy: Privacy, how: tuple[int, bool]) -> Iterator[Pair]:
    """Yield pairs of a table and a neighbour; the person's records are anywhere, or at the end.

    A sample keeps the records at the same positions of both tables.
    """
    (neighbours, at_end), rng, k = how, choose.rng, privacy.records_per_person
    kind = choose.one_of("table", ("constant", "skewed", "flat", "crossed"))
    is_replaced = privacy.neighbours == "replace"
    base = _records(kind, max(n, k) if is_replaced else n, domain, rng)
    kept = base[k:] if is_replaced else base
    at = len(kept) if at_end else int(rng.integers(len(kept) + 1))
    persons = np.roll(("rare", "partly", "frequent", "partly", "mixed"), int(rng.integers(5)))[:neighbours].tolist()
    others = [np.insert(kept, [at] * k, _person(person, k, kept, domain, rng), axis=0) for person in persons]
    if is_replaced:
        replaced = _person("partly", k, kept, domain, rng) if rng.random() < 0.5 else base[:k]
        base = np.insert(kept, [at] * k, replaced, axis=0)
    if not is_replaced and rng.random() < 0.5:
        base, others = others[0], [base]
    one = table(base, domain)
    for other in others:
        yield Pair(kind, one, table(other, domain), privacy, neighbours=True)


def _records(kind: str, n: int, domain: Domain, rng: np.random.Generator) -> Records:
    shape = np.array(domain.shape)
    if kind == "constant":
        return np.tile(rng.integers(0, shape), (n, 1))
    if kind == "crossed":  # two heavy cells that differ in every attribute
        ends = np.stack([np.zeros_like(shape), shape - 1])
        return ends[np.arange(n) % 2]
    records = rng.integers(0, shape, size=(n, shape.size))
    return records if kind == "flat" else records * (rng.random(records.shape) < 0.2)


def _person(kind: str, k: int, base: Records, domain: Domain, rng: np.random.Generator) -> Records:
    """Return a person's records: in an empty cell if there is one, in the fullest one, between these, or anywhere.

    Records that differ from the fullest cell in some attributes fall into full cells of some marginals and empty cells
    of others. The scores of these then change in opposite directions, the worst case of a selection.
    """
    shape = np.array(domain.shape)
    if kind == "mixed":
        return rng.integers(0, shape, size=(k, shape.size))
    cells, counts = np.unique(base, axis=0, return_counts=True) if len(base) else (base, np.zeros(0))
    if kind != "rare" and len(cells):
        most = cells[int(counts.argmax())]
        apart = rng.random(shape.size) < 0.5 * (kind == "partly")
        return np.tile((most + apart * rng.integers(1, np.maximum(shape, 2))) % shape, (k, 1))
    for _ in range(20):
        new = rng.integers(0, shape)
        if not (cells == new).all(axis=1).any():
            break
    return np.tile(new, (k, 1))


def run_case(case: Case, effort: Effort) -> Outcome:
    """Run a case and make every check of it."""
    mechanism, budget, privacy = case.setting, case.budget, case.pairs[0].privacy
    first = observe(mechanism, case.pairs[0].one, budget, privacy, effort=effort)
    traces = [(p, first, observe(mechanism, p.other, budget, privacy, like=first)) for p in case.pairs]
    if first.error and not first.charges:
        defects = [wrong for _, one, other in traces for wrong in same_run(one, other)]
        return Outcome(finding("case", case.subject, defects, "refused", exercised=False), first.error)
    runs = Runs(case.subject, case.budget, tuple(traces), case.setting.given)
    attained = [
        (line.what, float(change / allowed))
        for _, one, other in traces
        for draw, twin, line in compared_draws(one, other)
        for change, allowed in [change_of(draw, twin, line)]
        if allowed
    ]
    attained += [(f"stated {'replace' if m.is_replaced else 'add-remove'}", m.change / m.stated) for m in first.moved]
    return Outcome(followed("case", case.subject, [runs]), "", tuple(attained), len(first.moved))
