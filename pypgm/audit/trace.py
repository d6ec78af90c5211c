"""Mechanism under observation: every read, charge and draw of a run, and the same run again on other records.

The second run gets the noisy outcomes of the first instead of draws of its own. A sound mechanism sees its records
through those outcomes alone, so the second run must do, print and release exactly the same; the numbers that samplers
hide (exact counts and scores) may differ, by no more than was charged. Nothing here is random.
"""

from __future__ import annotations

import contextlib
import io
import itertools
import logging
import types
import warnings
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, nullcontext
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn
from unittest.mock import patch
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm.audit.laws import SAMPLERS, Drawn
from pypgm.audit.stated import Effort, Moved, WatchedScores
from pypgm.data import Dataset
from pypgm.domain import Clique
from pypgm.privacy.budget import Budget
from pypgm.privacy.cell_selector import CellSelector
from pypgm.privacy.l1_selector import L1Selector
from pypgm.privacy.ledger import Charge, Ledger
from pypgm.privacy.observer import Observer, observed_by, the_observer
from pypgm.privacy.relation import Privacy
from pypgm.privacy.selector import StatedSelector
from pypgm.privacy.sign_selector import SignSelector


@contextlib.contextmanager
def fixed_surroundings() -> Iterator[None]:
    """Advance the clock by a second at each reading, and let post-processing draw from one seed.

    Progress lines and synthetic records of two runs are then equal unless the records make a difference.
    """
    clock, generator = itertools.count(), np.random.default_rng

    def seeded(seed: Any = None) -> np.random.Generator:
        return generator(0 if seed is None else seed)

    with patch("time.perf_counter", lambda: float(next(clock))), patch("numpy.random.default_rng", seeded):
        yield


class _Terminal(io.StringIO):
    """Text that counts as a terminal, so that output for terminals alone is collected too."""

    def isatty(self) -> bool:
        return True


@contextlib.contextmanager
def all_output() -> Iterator[io.StringIO]:
    """Collect all text that is printed, logged or warned, by NumPy too, even if it was ignored before."""
    said = _Terminal()
    handler = logging.StreamHandler(said)
    root = logging.getLogger()
    level = root.level
    root.addHandler(handler)
    root.setLevel(logging.DEBUG)
    output = contextlib.redirect_stdout(said), contextlib.redirect_stderr(said)
    heard = np.errstate(divide="warn", over="warn", invalid="warn")
    with output[0], output[1], heard, warnings.catch_warnings(record=True) as warned:
        warnings.simplefilter("always")
        try:
            yield said
        finally:
            said.writelines(f"{w.category.__name__}: {w.message}\n" for w in warned)
            root.removeHandler(handler)
            root.setLevel(level)


def as_told(error: BaseException) -> str:
    """Return the text, arguments and notes of an exception and of its causes."""
    lines: list[str] = []
    at: BaseException | None = error
    while at is not None:
        notes = getattr(at, "__notes__", [])
        lines += [f"{type(at).__name__}: {at}", *(repr(a) for a in at.args if str(a) not in str(at)), *notes]
        at = at.__cause__ or (None if at.__suppress_context__ else at.__context__)
    return "; ".join(lines)


def core_with(**functions: Callable[..., Any]) -> contextlib.AbstractContextManager[None]:
    """Replace some of the core's functions for samplers, and leave the others as they are."""
    return observed_by(_Core(the_observer().core, functions))


class _Core(Observer):
    not_private = ""

    def __init__(self, others: Any, functions: dict[str, Callable[..., Any]]) -> None:
        held = {name: getattr(others, name) for name in (*SAMPLERS, "flip_coins")}
        self.core = types.SimpleNamespace(**held | functions)


Mechanism = Callable[..., Any]
"""Called as mechanism(data, budget, privacy); returns a release, or anything if there is no model."""

_WORDS_AT = {"select_top": 4}  # position of a sampler's stream among its arguments, else 3


class RecordsGoneError(RuntimeError):
    """Raised when records are read after they were taken away."""


class DivergedError(RuntimeError):
    """Raised when the second run takes a different path from the first."""


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """Call of an exact sampler: its law, the numbers it hides, its parameter and the outcome."""

    law: Drawn
    private: NDArray[np.int64]
    parameter: Fraction
    outcome: Any


@dataclass(frozen=True, slots=True, eq=False)
class Comparison:
    """Selection or screen of cliques: the query and public estimate of each, weights and offsets."""

    cliques: list[Clique]
    queries: list[Any]
    estimates: list[Any]
    weights: Sequence[Any] | None = None
    offsets: Sequence[Any] | None = None


@dataclass(slots=True, eq=False)
class Trace:
    """Run of a mechanism: its events in order, its result, and all its output."""

    records: WatchedRecords
    events: list[tuple[str, Any]] = field(default_factory=list)
    entries: list[tuple[Ledger, Charge]] = field(default_factory=list)
    release: Any = None
    text: str = ""
    error: str = ""
    diverged: str = ""

    @property
    def draws(self) -> list[Draw]:
        """Calls of samplers."""
        return [event for kind, event in self.events if kind == "draw"]

    @property
    def selections(self) -> list[Comparison | None]:
        """Selection among cliques of each draw; None for other draws."""
        comparisons: list[Comparison | None] = []
        at: Comparison | None = None
        for kind, event in self.events:
            if kind == "asked":
                at = event
            elif kind == "draw":
                comparisons.append(at)
        return comparisons

    @property
    def handed(self) -> list[Any]:
        """Public inputs of steps: candidates, estimates, weights, offsets, and scores of fixed counts."""
        return [event for kind, event in self.events if kind in {"asked", "handed"} and event is not None]

    @property
    def moved(self) -> list[Moved]:
        """Changes of stated scores by a record."""
        return [event for kind, event in self.events if kind == "moved"]

    @property
    def raised(self) -> str:
        """Name of the first error that a stated score raised, or ""."""
        return next((event for kind, event in self.events if kind == "raised"), "")

    @property
    def sampled(self) -> bool:
        """True if records were sampled."""
        return any(kind == "coins" for kind, _ in self.events)

    @property
    def charges(self) -> list[Charge]:
        """Lines entered in any ledger."""
        return [line for _, line in self.entries]

    @property
    def spent(self) -> Fraction:
        """Sum of the charges of all ledgers; the ledger of a sample was paid for with the sample."""
        samples = [line.parameters["inner_epsilon"] for line in self.charges if line.noise == "Poisson sample"]
        total = Fraction(0)
        for ledger, line in self.entries:
            inner = ledger.budget.unit == "epsilon" and ledger.budget.limit in samples
            total += 0 if inner and line.noise != "Poisson sample" else line.cost
        return total


class WatchedRecords(Dataset):
    """Table that notes each read of its records, and whose records can be taken away."""

    gone = False

    def __init__(self, data: Dataset) -> None:
        super().__init__(data.columns, data.domain, schema=data.schema, persons=data.persons)
        self._data = data
        self.note: Callable[[str, Any], None] | None = None

    @property
    def n_records(self) -> int:
        """Number of records; a read."""
        self._read("total", "number of records")
        return self._data.n_records

    def count(self, cliques: Sequence[str | Clique], n_threads: int = 0) -> list[NDArray[np.int64]]:
        """Return exact counts; a read."""
        self._read("read", list(cliques))
        return self._data.count(cliques, n_threads)

    def __getattribute__(self, name: str) -> Any:
        if name == "columns":
            self._read("read", "columns")
        return super().__getattribute__(name)

    def unnoted(self, name: str) -> NDArray[Any]:
        """Return a column as the input of a step; passing it on is not yet a read."""
        column: NDArray[Any] = self._data.columns[name]
        return column

    def kept(self, secret: bytes) -> WatchedRecords:
        """Return this table with only the records kept of each person; choosing them releases nothing."""
        self._data = self._data.kept(secret)
        self.columns, self.persons = self._data.columns, self._data.persons
        return self

    def recount(self, clique: Clique) -> NDArray[np.int64]:
        """Return exact counts for the audit itself; no read."""
        return self._data.count([clique])[0]

    def holds(self, thing: object) -> bool:
        """Return True for the table and its columns."""
        return thing is self or thing is self._data or any(thing is c for c in self._data.columns.values())

    def _read(self, kind: str, what: Any) -> None:
        if self.gone:
            raise RecordsGoneError(f"{what} requested after the release")
        note = self.__dict__.get("note")
        if note is not None:
            note(kind, what)


class _Sampler:
    """Samplers of the core for an observed run: seeded streams, or the outcomes of another run."""

    def __init__(self, trace: Trace, like: list[Draw] | None, seed: int) -> None:
        self.trace = trace
        self.like = like
        self.words = _core.SeededWords(seed)
        self.used = 0

    def __getattr__(self, name: str) -> Callable[..., Any]:
        original: Callable[..., Any] = getattr(_core, name)
        at = _WORDS_AT.get(name, 3)

        def sampler(*given: Any, words: Any = None, n_threads: int = 1) -> Any:  # noqa: ARG001 (known words: one thread)
            if words is not None or any(word is not None for word in given[at : at + 1]):
                self.trace.events.append(("seeded", name))
            parameter = Fraction(given[1], given[2])
            return self._draw(SAMPLERS[name], given[0], parameter, lambda: original(*given[:at], words=self.words))

        return sampler

    def flip_coins(self, *given: Any, words: Any = None) -> Any:  # noqa: ARG002 (the seed of the run stands for any)
        """Keep the same records in both runs, the worst case of a subsample."""
        self.trace.events.append(("coins", Fraction(given[1], given[2])))
        return _core.flip_coins(given[0], given[1], given[2], _core.SeededWords(0))

    def _draw(self, law: Drawn, private: Any, parameter: Fraction, draw: Callable[[], Any]) -> Any:
        outcome = draw() if self.like is None else self._repeat(law, np.size(private), parameter)
        self.trace.events.append(("draw", Draw(law, np.array(private), parameter, outcome)))
        return outcome.copy() if isinstance(outcome, np.ndarray) else outcome

    def _repeat(self, law: Drawn, size: int, parameter: Fraction) -> Any:
        like = self.like or []
        if self.used == len(like):
            self._diverge(f"path: a draw more than the {len(like)} of the first run")
        draw = like[self.used]
        self.used += 1
        if draw.law is not law or draw.parameter != parameter:
            self._diverge(f"path: draw {self.used} is {law}({parameter}), was {draw.law}({draw.parameter})")
        if draw.private.size != size:
            self._diverge(f"size: draw {self.used} covers {size} numbers, covered {draw.private.size}")
        return draw.outcome

    def _diverge(self, how: str) -> NoReturn:
        self.trace.diverged = how  # an error after a charge would not be reported
        raise DivergedError(how)


def observe(
    mechanism: Mechanism,
    data: Dataset,
    budget: Budget,
    privacy: Privacy,
    *,
    like: Trace | None = None,
    seed: int = 1,
    effort: Effort | None = None,
) -> Trace:
    """Run a mechanism and return its trace; with `like`, on the noisy outcomes of that run.

    With an effort, stated scores are evaluated on other tables too.

    Everything in this process is observed during the call, so nothing else may run in it meanwhile.
    """
    records = WatchedRecords(data)
    trace = Trace(records)
    records.note = lambda kind, event: trace.events.append((kind, event))
    sampler = _Sampler(trace, None if like is None else like.draws, seed)
    with observed_by(_Follower(trace, sampler, effort)), fixed_surroundings(), all_output() as said:
        try:
            trace.release = mechanism(records, budget, privacy)
        except Exception as error:  # whatever it is, the caller would see it
            trace.error = "" if trace.diverged else as_told(error)
    trace.text = said.getvalue()
    if like is not None and not trace.diverged and not trace.error and sampler.used < len(like.draws):
        trace.diverged = f"path: {sampler.used} draws, the first run made {len(like.draws)}"
    return trace


def draws_of(line: Charge) -> int:
    """Return the number of draws that a line is charged for."""
    return int(line.parameters.get("draws", 1))


class _Charges(Observer):
    """Observer of every line entered in any ledger; lines of an allocation count once, in the allocation."""

    not_private = ""

    def __init__(self, trace: Trace) -> None:
        self.trace = trace
        outer = the_observer()
        self.core = outer.core
        self.batch_cells, self.kept_cells = outer.batch_cells, outer.kept_cells

    def charged(self, ledger: Any, line: Any) -> None:
        """Note a line."""
        self.trace.events.append(("charge", line))
        self.trace.entries.append((ledger, line))


def watched_charges(trace: Trace) -> AbstractContextManager[None]:
    """Note every line that is entered in any ledger."""
    return observed_by(_Charges(trace))


class _Follower(_Charges):
    """Observer of selections and their inputs, which draws with the samplers of the trace."""

    def __init__(self, trace: Trace, sampler: _Sampler, effort: Effort | None) -> None:
        super().__init__(trace)
        self.core = sampler
        self.scores = WatchedScores(lambda kind, event: trace.events.append((kind, event)), trace.records, effort)
        self._queries: WeakKeyDictionary[L1Selector, dict[Clique, Any]] = WeakKeyDictionary()
        self._compared: WeakKeyDictionary[L1Selector, tuple[list[Clique], dict[Clique, Any]]] = WeakKeyDictionary()

    def secret(self) -> bytes:
        """Return the same secret in both runs, as a run has only one."""
        return b"known to an audit"[:16]

    def queried(self, selector: Any, query: Any) -> Any:
        """Note each query of a selector."""
        queries: dict[Clique, Any] = {}
        self._queries[selector] = queries

        def noted(clique: Clique) -> Any:
            queries[clique] = query(clique)
            return queries[clique]

        return noted

    def compared(self, selector: Any, candidates: Any, by: Any) -> Any:
        """Note each estimate, or the error that a stated score raises."""
        if isinstance(selector, StatedSelector):
            return self.scores.compared(selector, candidates, by)
        estimates: dict[Clique, Any] = {}
        self._compared[selector] = list(candidates), estimates

        def noted(clique: Clique) -> Any:
            estimates[clique] = np.array(value := by(clique), dtype=np.float64)
            return value

        return noted

    def selecting(self, selector: Any, given: tuple[Any, ...], named: dict[str, Any]) -> AbstractContextManager[object]:
        """Note the comparison of a selection while it runs, and the inputs of draws of counts."""
        if isinstance(selector, CellSelector | SignSelector):
            self.trace.events.append(("handed", deepcopy((given, named))))
            return nullcontext()
        if isinstance(selector, StatedSelector):
            return self.scores.comparing(selector, given, named)
        return self._selection(selector, given[0] if given else named.get("among"), named)

    @contextmanager
    def _selection(self, selector: L1Selector, among: Sequence[int] | None, named: dict[str, Any]) -> Iterator[None]:
        cliques, estimates = self._compared[selector]
        every = range(len(cliques))
        chosen = [cliques[i] for i in (every if among is None else among) if i in every]
        comparison = Comparison(chosen, [], [], named.get("weights"), named.get("offsets"))
        self.trace.events.append(("asked", comparison))
        try:
            yield
        finally:
            comparison.queries.extend(self._queries[selector].get(c) for c in chosen)
            comparison.estimates.extend(estimates.get(c) for c in chosen)
            self.trace.events.append(("asked", None))
