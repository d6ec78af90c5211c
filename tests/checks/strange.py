"""Odd arguments of callers: values that cannot be read, scores that fail, functions that inspect their callers."""

from __future__ import annotations

import itertools
import sys
from collections.abc import Callable, Iterator, Sequence
from decimal import Decimal
from fractions import Fraction
from functools import partial
from types import SimpleNamespace
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm import mechanisms
from pypgm.audit.finding import Finding, finding
from pypgm.audit.mechanisms import same_run
from pypgm.audit.pairs import DOMAIN, table
from pypgm.audit.trace import Mechanism, Trace, observe
from pypgm.privacy.budget import Budget
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.private_column import PrivateColumn, sparse_histogram
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.quantiles import private_bounds, private_quantiles
from pypgm.privacy.relation import Privacy

__all__ = ["check_callers", "check_record_order", "check_strange_scores", "check_strange_values"]

Found = Iterator[tuple[str, str]]

_ERRORS = (
    *(ArithmeticError, AssertionError, AttributeError, BufferError, EOFError, ImportError, IndexError, KeyError),
    *(MemoryError, NameError, NotImplementedError, OSError, OverflowError, RecursionError, RuntimeError),
    *(StopIteration, SyntaxError, SystemError, TypeError, UserWarning, ValueError),
)
_DATA = table(np.array([[0, 0, 0]] * 7 + [[1, 0, 1]] * 5 + [[1, 1, 0]] * 13 + [[2, 1, 1]] * 29))


class _Raising:
    """A value that raises whatever is asked of it."""

    def __init__(self, error: type[Exception]) -> None:
        self._error = error

    def __getattribute__(self, name: str) -> Any:
        raise object.__getattribute__(self, "_error")(4711)

    def __float__(self) -> float:
        return float(hash(self))

    def __eq__(self, other: object) -> bool:
        return hash(self) == hash(other)

    def __hash__(self) -> int:
        return hash(self._error)


_READERS: dict[str, Callable[[PrivateColumn], Any]] = {
    "keys": lambda c: list(sparse_histogram(c, delta="1/1000", variance=9).items()),
    "quantiles": lambda c: private_quantiles(c, ["1/2", "1/3"], [0, 1, 2, 8], rho=1),
    "bounds": lambda c: private_bounds(c, [-1, 0, 2, 6], rho=1),
}


def _read(read: Callable[[PrivateColumn], Any], values: Any, like: Trace | None = None) -> Trace:
    def mechanism(_: Any, budget: Budget, privacy: Privacy) -> Any:
        return read(PrivateColumn(values, privacy, Ledger(budget)))

    return observe(mechanism, _DATA, Budget(rho=100, reserved_delta="1/10"), Privacy(), like=like)


def check_strange_values() -> Finding:
    """Read columns of values of every kind: none raises, warns or says a word; one that raises is a null."""
    defects: list[tuple[str, str]] = []
    odd = [Decimal("sNaN"), Decimal("1e9999"), Fraction(10**400, 3), -(10**400), b"7", 1j, [1], {}, ..., "1" * 5000]
    columns: list[Any] = [[1.0, 2, "3", value] for value in odd]
    columns += [np.arange(3).astype(kind) for kind in ("?", "u8", "f2", "c16", "M8[D]", "m8[s]", "S3", "O", "V8")]
    columns += [np.array([1, np.finfo(np.longdouble).max, np.nan], dtype=np.longdouble), np.ma.masked_less([1, 2], 2)]
    for (name, read), values in itertools.product(_READERS.items(), columns):
        trace = _read(read, values)
        if trace.error:
            defects.append(("exception tells", f"{name} of {type(values[-1]).__name__}: {trace.error}"))
        if trace.text:
            defects.append(("text tells", f"{name} of {type(values[-1]).__name__}: {trace.text}"))
    for (name, read), error in itertools.product(_READERS.items(), _ERRORS):
        one = _read(read, [1, 2, 2, None])
        other = _read(read, [1, 2, 2, _Raising(error)], one)
        where = f"{name} of a value that raises {error.__name__}"
        defects += [(defect, f"{where}: {what}") for defect, what in same_run(one, other)]
        defects.extend(_same_draws(one, other, where))
    figures = f"{len(columns)} columns and {len(_ERRORS)} errors, nothing is told of any"
    return finding("strange values", ", ".join(_READERS), defects, figures)


def check_record_order() -> Finding:
    """Read columns whose values come in two orders: the same is drawn, and released in the same order."""
    columns: list[Any] = [
        ["tea", "milk", "tea", "ale"] * 30,
        [3, "b", 1.0, None, "a", 2.5, True, "3"] * 30,
        [5, -3, 2**70, 0] * 30,
        np.array([3, 1, 2, 1] * 30),
        np.array([0.5, 2.0, np.nan, -1.0] * 30),
        np.array(["z", "y", "x"] * 30),
        np.array(["z", 1, None, "y"] * 30, dtype=object),
    ]
    defects: list[tuple[str, str]] = []
    for (name, read), values in itertools.product(_READERS.items(), columns):
        one = _read(read, values)
        for turned in (values[::-1], [*values[7:], *values[:7]] if isinstance(values, list) else np.roll(values, 7)):
            other = _read(read, turned, one)
            if one.release is None or repr(one.release) != repr(other.release):
                defects.append(("private state kept", f"{name} of {values[:4]} depend on the order of the records"))
            defects.extend(same_run(one, other))
            defects.extend(_same_draws(one, other, f"{name} in another order"))
    return finding("order of records", ", ".join(_READERS), defects, f"{len(columns)} columns in three orders")


def _same_draws(one: Trace, other: Trace, where: str) -> Found:
    for draw, twin in itertools.zip_longest(one.draws, other.draws):
        if draw is None or twin is None or not np.array_equal(draw.private, twin.private):
            yield "answer of another table", f"{where}: another thing is drawn"


def check_strange_scores() -> Finding:
    """Select by scores of a caller's that raise, or are no integers: they count as 0 and nothing is said of them."""
    defects: list[tuple[str, str]] = []
    bad: list[tuple[str, Callable[[NDArray[np.int64]], Any]]] = [
        (error.__name__, partial(_raise, error)) for error in _ERRORS
    ]
    bad += [("float", lambda c: float(c[0])), ("None", lambda _: None), ("array", lambda c: c), ("text", str)]
    asks: dict[str, Callable[[Any], Any]] = {
        "a selection": lambda s: s.select(rho=1),
        "permute-and-flip": lambda s: s.permute_and_flip(rho=1),
        "a screen": lambda s: s.screen(rho=1),
    }
    for (kind, score), (name, ask) in itertools.product(bad, asks.items()):

        def mechanism(data: Any, budget: Budget, privacy: Privacy, score: Any = score, ask: Any = ask) -> Any:
            opened = PrivateTable(data, privacy, Ledger(budget))
            return ask(opened.selector([("a",), ("b",)], lambda i, c: score(c) if i else int(c[0]), sensitivity=1))

        trace = observe(mechanism, _DATA, Budget(rho=10), Privacy())
        if trace.error or trace.text:
            defects.append(("exception tells", f"{name} by a score that ends in {kind} says {trace.error}{trace.text}"))
        elif [int(s) >> (0 if name == "a screen" else 16) for s in trace.draws[0].private][1] != 0:
            defects.append(("wrong score", f"{name} by a score that ends in {kind}: it is not 0"))
    return finding("strange scores", ", ".join(asks), defects, f"{len(bad)} ways to fail, 0 and silence for each")


def _raise(error: type[Exception], counts: NDArray[np.int64]) -> int:
    raise error(f"{counts.tolist()}")


def check_callers() -> Finding:
    """Let functions of a caller's look at the frames that called them: none of these holds an exact count."""
    cliques = [c for n in (1, 2, 3) for c in itertools.permutations(DOMAIN.attributes, n)]
    true = [_DATA.count([c])[0] for c in cliques]
    held: list[str] = []

    def look(clique: Any = None) -> Any:
        held.extend(_held(true))
        return np.zeros(DOMAIN.size(clique)) if isinstance(clique, tuple) else None

    def looked(x: Any) -> Any:
        return x if look() is None else None

    def selection(data: Any, budget: Budget, privacy: Privacy) -> None:
        selector = PrivateTable(data, privacy, Ledger(budget)).l1_selector(cliques[:6], look, lambda _: look())
        selector.select(rho=1)
        selector.compare(look, cliques[3:])
        selector.screen(rho=1)

    def products(data: Any, budget: Budget, privacy: Privacy) -> None:
        operator = SimpleNamespace(shape=(3, 3), matvec=looked, rmatvec=looked)
        PrivateTable(data, privacy, Ledger(budget)).measure("a", operator, rho=1)

    asks: dict[str, Mechanism] = {
        "an estimate": selection,
        "products": products,
        "a callback of mst": lambda data, b, p: mechanisms.mst(data, budget=b, privacy=p, callback=look, iterations=2),
        "a callback of hdmm": lambda data, b, p: mechanisms.hdmm(data, budget=b, privacy=p, callback=look),
    }
    defects: list[tuple[str, str]] = []
    for name, ask in asks.items():
        held.clear()
        trace = observe(ask, _DATA, Budget(rho=3), Privacy())
        defects += [("private state kept", f"{name} is called by {place}, which holds exact counts") for place in held]
        defects += [("no release", f"{name}: {trace.error}")] if trace.error else []
    return finding("callers", ", ".join(asks), defects, "no frame that calls a user's function holds exact counts")


def _held(true: Sequence[NDArray[np.int64]]) -> Iterator[str]:
    at: Any = sys._getframe(2)
    while at is not None:
        home = at.f_globals.get("__name__", "")
        if home.startswith("pypgm.") and not home.startswith("pypgm.audit."):
            for name, value in at.f_locals.items():
                parts = value if isinstance(value, list | tuple) else [value]
                if any(isinstance(p, np.ndarray) and any(np.array_equal(p, t) for t in true) for p in parts):
                    yield f"{home}.{at.f_code.co_name} ({name})"
        at = at.f_back
