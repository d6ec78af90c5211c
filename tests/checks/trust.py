"""Distrust of callers: no object of theirs is believed, and no interruption of theirs loses a charge."""

from __future__ import annotations

import contextlib
import sys
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np

from pypgm.audit.finding import Finding, finding
from pypgm.audit.trace import as_told
from pypgm.data import Dataset
from pypgm.domain import Clique, Domain
from pypgm.errors import BudgetError
from pypgm.mrf.frank_wolfe import Feature, FrankWolfe, Node, Regressions
from pypgm.mrf.stability import Stability
from pypgm.privacy import ledger as watched
from pypgm.privacy.budget import Budget
from pypgm.privacy.charge import Charge
from pypgm.privacy.laws import Stated
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.ledger_report import LedgerReport
from pypgm.privacy.private_column import sparse_histogram
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.quantiles import private_bounds, private_quantiles
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sampler import Sampler
from pypgm.queries import Kronecker, Matrix

__all__ = ["check_errors_behind", "check_interrupts", "check_trust", "check_votes"]

Found = Iterator[tuple[str, str]]
Act = Callable[[], object]

_DOMAIN = Domain({"a": 3, "b": 2})
_RECORDS = {"a": np.array([0, 1, 2, 0]), "b": np.array([1, 0, 0, 1])}
_FEATURES = (Feature((1,)), Feature(()))


def _opened(data: Dataset | None = None, privacy: Privacy | None = None) -> PrivateTable:
    ledger = Ledger(Budget(rho=10, reserved_delta="1/10"))
    return PrivateTable(Dataset(_RECORDS, _DOMAIN) if data is None else data, privacy or Privacy(), ledger)


def _zero(clique: Clique) -> Any:
    return np.zeros(_DOMAIN.size(clique))


# --- What is handed over ---


class _FreeLedger(Ledger):
    __slots__ = ()


class _OtherBudget(Budget):
    __slots__ = ()


class _OneOfMany(Node):
    __slots__ = ()

    @property
    def composed(self) -> int:
        return 1


def check_trust() -> Finding:
    """Hand over subclasses, objects that change and numbers out of range: refused, or charged for what they are."""
    refused = _refused()
    defects = [("not refused", name) for name, act in refused.items() if not _raises(act)]
    defects += [*_relations(), *_queries(), *_regressions(), *_comparisons()]
    return finding(
        "trust", "all that is handed over", defects, f"{len(refused)} objects are refused, others are copied"
    )


def _raises(act: Act) -> bool:
    try:
        with np.errstate(all="ignore"):  # what is computed of a number out of range
            act()
    except (TypeError, ValueError):
        return True
    return False


def _refused() -> dict[str, Act]:
    data, budget, line = Dataset(_RECORDS, _DOMAIN), Budget(rho=1), Charge("x", "y", Stated(rho=1))
    ledger, privacy, table, sampler = Ledger(budget), Privacy(records_per_person=5), _opened(), Sampler()
    acts: dict[str, Act] = {
        "a subclass of Ledger": lambda: PrivateTable(data, Privacy(), _FreeLedger(Budget(rho=1))),
        "a subclass of Budget": lambda: Ledger(_OtherBudget(rho=1)),
        "a second beginning of a budget": lambda: budget.__init__(rho=9),  # type: ignore[misc]
        "a second beginning of a ledger": lambda: ledger.__init__(Budget(rho=9)),  # type: ignore[misc]
        "a second beginning of a ledger, as a report": lambda: LedgerReport.__init__(ledger, Budget(rho=9)),
        "a second beginning of a relation": lambda: privacy.__init__("replace"),  # type: ignore[misc]
        "a second beginning of a line": lambda: line.__init__("x", "y", Stated(rho=0)),  # type: ignore[misc]
        "a second beginning of a law": lambda: line.law.__init__(rho=0),  # type: ignore[misc]
        "a second beginning of a sampler": lambda: sampler.__init__(7),  # type: ignore[misc]
        "a second beginning of a table": lambda: table.__init__(data, privacy, Ledger(budget)),  # type: ignore[misc]
    }
    numbers: list[Any] = [-1.0, 0.0, float("inf"), float("nan"), "1", True]
    for radius in numbers:
        acts[f"a radius of {radius!r}"] = partial(FrankWolfe, table, _regressions_of(radius=radius))
    for pairs in ((), ((0, 3),), ((1, 1),)):
        acts[f"the pairs {pairs}"] = partial(FrankWolfe, table, _regressions_of(pairs))
    for n_blocks in (0, *numbers[2:]):
        acts[f"{n_blocks!r} blocks"] = partial(Stability, table, lambda _: (), n_blocks)
    return acts


def _regressions_of(pairs: Any = ((0, 1),), radius: float = 1.0, kind: type[Node] = Node) -> Regressions:
    return Regressions(_FEATURES, (kind(0, pairs, (0, 1)),), radius, 2)


def _relations() -> Found:
    privacy = Privacy(records_per_person=5)
    table = _opened(privacy=privacy)
    object.__setattr__(privacy, "records_per_person", 1)
    table.measure("a", scale=100)
    if table.ledger.lines[0].parameters["sensitivity"] != 5:
        yield "trusted object", "a relation that changes after a table was opened changes what is charged"


def _queries() -> Found:
    entries = [[1, 1, 1], [2, 0, 1]]
    for inner in (False, True):
        matrix = Matrix(entries)
        matrix.__dict__["_sensitivity"] = lambda neighbours, norm: 0
        table = _opened()
        with contextlib.suppress(ValueError):  # no noise is needed for what changes by nothing
            table.measure("a", Kronecker([matrix]) if inner else matrix, scale=100)
        charged = [int(line.parameters["sensitivity"]) for line in table.ledger.lines]
        if charged != [3]:
            yield "trusted object", f"a query that was told another sensitivity is charged {charged}, not 3"


def _regressions() -> Found:
    pairs = ((0, 1), (0, 2), (0, 1))
    for kind in (Node, _OneOfMany):
        table = _opened()
        FrankWolfe(table, _regressions_of(pairs, kind=kind)).solve([1])
        if table.ledger.lines[0].parameters["composed"] != 6:
            yield "trusted object", f"three regressions of one code are charged as one that {kind.__name__} says"


def _comparisons() -> Found:
    acts: dict[str, Callable[[Any], object]] = {
        "compares anew": lambda selector: selector.compare(_zero, [("b",), ("b",)]),
        "selects": lambda selector: selector.select(rho="1/9"),
    }
    for name, act in acts.items():
        table, made = _opened(), list[Any]()

        def estimate(clique: Clique, made: list[Any] = made, act: Callable[[Any], object] = act) -> Any:
            if made:
                act(made.pop())
            return _zero(clique)

        selector = table.l1_selector([("b",), ("a",)], estimate)
        made.append(selector)
        if not _raises(partial(selector.select, rho="1/9")) or table.ledger.lines:
            yield "not refused", f"an estimate that {name} in its own selector is charged for"


# --- Votes ---


class _Unforeseen(BaseException):
    pass


def _shout(block: Dataset) -> Any:
    raise _Unforeseen(int(block.columns["a"].sum()))


_EDGE = ((0, 1),)
_VOTES: dict[str, tuple[Callable[[Dataset], Any], Any]] = {
    "a list": (lambda _: [(0, 1)], _EDGE),
    "an array": (lambda _: np.array([[0, 1]]), _EDGE),
    "truth values": (lambda _: ((False, True),), _EDGE),
    "numbers of NumPy": (lambda _: ((np.int8(0), np.int64(1)),), _EDGE),
    "an edge turned and twice": (lambda _: ((1, 0), (0, 1)), _EDGE),
    "None": (lambda _: None, ()),
    "a text": (lambda _: "x", ()),
    "a NaN": (lambda _: ((0, float("nan")),), ()),
    "an error": (lambda block: [][int(block.columns["a"].sum())], ()),
    "an error that is no Exception": (_shout, ()),
}


def check_votes() -> Finding:
    """Let a block vote for what is no graph, or for one in other words: it counts as one fixed thing."""
    defects: list[tuple[str, str]] = []
    for name, (vote, meant) in _VOTES.items():
        try:
            votes = Stability(_opened(), vote, 3).votes()
        except BaseException as error:
            defects.append(("exception tells", f"a vote that is {name}: {as_told(error)}"))
            continue
        if repr(votes) != repr([meant] * 3):  # 0 and False are equal, but not released as the same
            defects.append(("private state kept", f"a vote that is {name} is counted as {votes[0]!r}, not {meant}"))
    return finding("votes", "stability", defects, f"{len(_VOTES)} odd votes, a graph or none for each")


# --- Errors behind a charge ---


class _Broken(Dataset):
    """Records that cannot be counted, and say which."""

    def count(self, cliques: Any, n_threads: int = 0) -> Any:
        del cliques, n_threads
        raise self.kind(f"the value {7 * len(self)} of a record")  # type: ignore[attr-defined]


_BEHIND: dict[str, Callable[[PrivateTable], object]] = {
    "a measurement": lambda t: t.measure("a", rho="1/9"),
    "many measurements": lambda t: t.measure_many(["a", "b"], rho="1/9"),
    "a selection": lambda t: t.l1_selector([("a",), ("b",)], _zero).select(rho="1/9"),
    "a selection of two": lambda t: t.l1_selector([("a",), ("b",)], _zero).select_top(None, 2, rho="1/9"),
    "permute-and-flip": lambda t: t.l1_selector([("a",), ("b",)], _zero).permute_and_flip(rho="1/9"),
    "a screen": lambda t: t.l1_selector([("a",), ("b",)], _zero).screen(rho="1/9"),
    "a stated selection": lambda t: t.selector([("a",)], lambda i, counts: 0, sensitivity=1).select(rho="1/9"),
    "a selection of cells": lambda t: t.cell_selector([("a",)]).draw(1, [np.zeros(3)], 4.0, rho="1/9"),
    "a selection of signs": lambda t: t.sign_selector({"a": [[0, 1, 1]]}, [[[0]]]).select([0], rho="1/9"),
    "quantiles": lambda t: private_quantiles(t.column("a"), ["1/2"], range(3), rho="1/9"),
    "bounds": lambda t: private_bounds(t.column("a"), range(3), scale=9),
    "keys": lambda t: sparse_histogram(t.column("a"), delta="1/1000", rho="1/9"),
}


def check_errors_behind() -> Finding:
    """Let records raise behind a charge: of two tables and all errors the same is reported, and nothing before it."""
    messages: set[str] = set()
    defects: list[tuple[str, str]] = []
    for name, act in _BEHIND.items():
        for n, kind in ((1, ValueError), (2, MemoryError), (2, _Unforeseen)):
            data = _Broken({a: c[:n] for a, c in _RECORDS.items()}, _DOMAIN)
            data.__dict__["kind"] = kind
            try:
                act(_opened(data))
            except BaseException as error:
                messages.add(as_told(error))
                if error.__context__ is not None or error.__cause__ is not None:
                    defects.append(("exception tells", f"{name}: an error has another one, with its frames, behind it"))
    if len(messages) != 1:
        defects.append(("exception tells", f"errors behind a charge say {len(messages)} things: {sorted(messages)[0]}"))
    return finding("errors behind charges", ", ".join(_BEHIND), defects, "three errors of two tables, one text")


# --- Interrupts ---


def check_interrupts() -> Finding:
    """Interrupt a ledger at each of its lines, then spend what is left: every line counts, once, and no more fits."""
    defects: list[tuple[str, str]] = []
    number = 0
    while True:
        ledger, parts, hit = Ledger(Budget(rho=3)), list[Ledger](), list[str]()
        with contextlib.suppress(KeyboardInterrupt), _interrupted(number, hit):
            try:
                _spend(ledger, parts)
            except ValueError as error:
                defects.append(("interrupt", f"an interrupt ends as another error: {error}"))
        if not hit:
            break
        number += 1
        if not hit[0].startswith("__"):  # what is neither entered nor left by then cannot know of it
            defects += [("interrupt", f"{what} after {hit[0]}") for what in _unsound(ledger, parts)]
    return finding("interrupts", "Ledger", defects, f"{number} lines reached, an interrupt at each")


def _spend(ledger: Ledger, parts: list[Ledger]) -> None:
    ledger.charge("x", "y", Stated(rho="1/7"))
    with ledger.allocate("outer", amount=1) as outer:
        parts.append(outer)
        outer.charge("x", "y", Stated(rho="1/9"))
        with outer.allocate("inner", amount="1/2") as inner:
            parts.append(inner)
            inner.charge("x", "y", Stated(rho="1/11"))


@contextlib.contextmanager
def _interrupted(number: int, hit: list[str]) -> Iterator[None]:
    """Raise at a line of the ledger's module, counted as they are reached; name the function in `hit`."""
    before, left = sys.gettrace(), [number]

    def line(frame: Any, event: str, _: object) -> Any:
        if event == "line" and not hit:
            if left[0] == 0:
                hit.append(frame.f_code.co_name)
                raise KeyboardInterrupt
            left[0] -= 1
        return line

    def call(frame: Any, event: str, _: object) -> Any:
        return line if event == "call" and frame.f_code.co_filename == watched.__file__ else None

    sys.settrace(call)
    try:
        yield
    finally:
        sys.settrace(before)


def _unsound(ledger: Ledger, parts: list[Ledger]) -> Iterator[str]:
    """Say what is wrong with a ledger whose parts have ended, and try to spend all that is left of it."""
    entered = sum((line.cost for line in ledger.lines), Fraction(0))
    if ledger.spent() != entered:
        yield f"{ledger.spent()} is said to be spent, lines sum to {entered}"
    if parts and [line.cost for line in parts[0].lines] != [line.cost for line in ledger.lines if line.within]:
        yield "the lines of a part are not those of the whole that name it"
    if ledger.remaining() != 3 - entered:
        yield f"{ledger.remaining()} is said to be left, {3 - entered} is"
    with contextlib.suppress(BudgetError):
        ledger.charge("the rest", "all", Stated(rho=3 - entered))
    if ledger.spent() != 3:
        yield "what is left cannot be spent"
