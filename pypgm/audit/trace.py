"""A mechanism under observation: every read, charge and draw of a run, and the same run again on other records.

The second run is handed the noisy outcomes of the first instead of draws of its own. A sound mechanism sees its
records through those outcomes alone, so the second run must do, say and release exactly the same; what it asked the
samplers to hide (the exact counts and scores) may differ, by no more than was charged. Nothing here is random.
"""

from __future__ import annotations

import contextlib
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager
from copy import deepcopy
from dataclasses import dataclass, field
from fractions import Fraction
from typing import Any, NoReturn
from unittest.mock import patch
from weakref import WeakKeyDictionary

import numpy as np
from numpy.typing import NDArray

from pypgm import _core
from pypgm.audit.stated import Effort, Moved, watched_scores
from pypgm.audit.surroundings import all_output, as_told, fixed_surroundings, opendp_stand_in
from pypgm.data import Dataset
from pypgm.domain import Clique
from pypgm.privacy.budget import Budget
from pypgm.privacy.cell_selector import CellSelector
from pypgm.privacy.ledger import Charge, Ledger
from pypgm.privacy.private_table import L1Selector, PrivateTable
from pypgm.privacy.rational import round_up
from pypgm.privacy.relation import Privacy

__all__ = [
    "LAWS",
    "Asked",
    "Draw",
    "Mechanism",
    "RecordsGoneError",
    "Trace",
    "WatchedRecords",
    "draws_of",
    "observe",
    "watched_charges",
]

Mechanism = Callable[..., Any]
"""Called as mechanism(data, budget, privacy); returns a release (anything, where there is no model)."""

LAWS = {
    "add_discrete_gaussian": "discrete Gaussian",
    "add_discrete_laplace": "discrete Laplace",
    "select_exponential": "exponential mechanism",
    "select_top": "exponential mechanism",
    "permute_and_flip": "permute-and-flip",
}
"""The samplers of the core and the laws that charges name."""

_WORDS_AT = {"select_top": 4}  # position of a sampler's stream among its arguments, else 3


class RecordsGoneError(RuntimeError):
    """Records were asked for after they had been taken away."""


class DivergedError(RuntimeError):
    """The second run asked for something else than the first."""


@dataclass(frozen=True, slots=True, eq=False)
class Draw:
    """One call of an exact sampler: its law, what it was to hide, its parameter and what came out."""

    law: str
    private: NDArray[np.int64]
    parameter: Fraction
    outcome: Any


@dataclass(frozen=True, slots=True, eq=False)
class Asked:
    """A selection or screen of cliques: what of each is compared with which public estimate, and how it is weighted."""

    cliques: list[Clique]
    queries: list[Any]
    estimates: list[Any]
    weights: Sequence[Any] | None = None
    offsets: Sequence[Any] | None = None


@dataclass(slots=True, eq=False)
class Trace:
    """A run: its events in order, what it returned, and all it said."""

    records: WatchedRecords
    events: list[tuple[str, Any]] = field(default_factory=list)
    entries: list[tuple[Ledger, Charge]] = field(default_factory=list)
    release: Any = None
    text: str = ""
    error: str = ""
    diverged: str = ""

    @property
    def draws(self) -> list[Draw]:
        """The calls of samplers."""
        return [event for kind, event in self.events if kind == "draw"]

    @property
    def selections(self) -> list[Asked | None]:
        """For each draw the selection among cliques that it belongs to, None where it is none of those."""
        asked: list[Asked | None] = []
        at: Asked | None = None
        for kind, event in self.events:
            if kind == "asked":
                at = event
            elif kind == "draw":
                asked.append(at)
        return asked

    @property
    def handed(self) -> list[Any]:
        """What steps were handed as public: candidates, estimates, weights, offsets, and scores of fixed counts."""
        return [event for kind, event in self.events if kind in {"asked", "handed"} and event is not None]

    @property
    def moved(self) -> list[Moved]:
        """What a record was seen to change of stated scores."""
        return [event for kind, event in self.events if kind == "moved"]

    @property
    def raised(self) -> str:
        """The error that a stated score raised, if one did."""
        return next((event for kind, event in self.events if kind == "raised"), "")

    @property
    def sampled(self) -> bool:
        """Whether records were sampled."""
        return any(kind == "coins" for kind, _ in self.events)

    @property
    def charges(self) -> list[Charge]:
        """The lines entered in any ledger."""
        return [line for _, line in self.entries]

    @property
    def spent(self) -> Fraction:
        """What all ledgers together were charged; what a sample's own ledger pays was charged with the sample."""
        samples = [line.parameters["inner_epsilon"] for line in self.charges if line.noise == "Poisson sample"]
        total = Fraction(0)
        for ledger, line in self.entries:
            inner = ledger.budget.unit == "epsilon" and ledger.budget.limit in samples
            total += 0 if inner and line.noise != "Poisson sample" else line.cost
        return total


class WatchedRecords(Dataset):
    """A table that notes each time it is asked for something that depends on its records, and can be taken away."""

    gone = False

    def __init__(self, data: Dataset) -> None:
        super().__init__(data.columns, data.domain, schema=data.schema)
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
        """Return a column for a step that takes columns: handing it over is not yet reading it."""
        column: NDArray[Any] = self._data.columns[name]
        return column

    def recount(self, clique: Clique) -> NDArray[np.int64]:
        """Return exact counts for the audit itself; no read."""
        return self._data.count([clique])[0]

    def holds(self, thing: object) -> bool:
        """Whether a thing is the table or one of its columns."""
        return thing is self or thing is self._data or any(thing is c for c in self._data.columns.values())

    def _read(self, kind: str, what: Any) -> None:
        if self.gone:
            raise RecordsGoneError(f"{what} asked for after the release")
        note = self.__dict__.get("note")
        if note is not None:
            note(kind, what)


class _Sampler:
    """Stands in for the samplers of the core: draws from a known stream, or repeats another run's outcomes."""

    def __init__(self, trace: Trace, like: list[Draw] | None, seed: int) -> None:
        self.trace = trace
        self.like = like
        self.words = _core.SeededWords(seed)
        self.used = 0

    def wrap(self, name: str, original: Callable[..., Any]) -> Callable[..., Any]:
        at = _WORDS_AT.get(name, 3)

        def sampler(*given: Any, words: Any = None, n_threads: int = 1) -> Any:  # noqa: ARG001 (known words: one thread)
            if words is not None or any(word is not None for word in given[at : at + 1]):
                self.trace.events.append(("seeded", name))
            parameter = Fraction(given[1], given[2])
            return self._draw(LAWS[name], given[0], parameter, lambda: original(*given[:at], words=self.words))

        return sampler

    def backend(self, original: dict[str, Callable[..., Any]]) -> Callable[..., Any]:
        """Return what draws in the place of another backend; where it could not be exact, with a little more noise."""

        def noise(law: str, counts: NDArray[np.int64], parameter: Fraction) -> Any:
            near = round_up(parameter, 40)
            draw = original[law]
            return self._draw(
                law, counts, parameter, lambda: draw(counts, near.numerator, near.denominator, words=self.words)
            )

        return noise

    def _draw(self, law: str, private: Any, parameter: Fraction, draw: Callable[[], Any]) -> Any:
        outcome = draw() if self.like is None else self._repeat(law, np.size(private), parameter)
        self.trace.events.append(("draw", Draw(law, np.array(private), parameter, outcome)))
        return outcome.copy() if isinstance(outcome, np.ndarray) else outcome

    def coins(self, original: Callable[..., Any]) -> Callable[..., Any]:
        """Return a sampler that keeps the same records in both runs: the worst that a subsample can do."""

        def sampler(*given: Any, words: Any = None) -> Any:  # noqa: ARG001 (the seed of the run stands for any)
            self.trace.events.append(("coins", Fraction(given[1], given[2])))
            return original(*given[:3], words=_core.SeededWords(0))

        return sampler

    def _repeat(self, law: str, size: int, parameter: Fraction) -> Any:
        like = self.like or []
        if self.used == len(like):
            self._diverge(f"path: a draw more than the {len(like)} of the first run")
        draw = like[self.used]
        self.used += 1
        if draw.law != law or draw.parameter != parameter:
            self._diverge(f"path: draw {self.used} is {law}({parameter}), was {draw.law}({draw.parameter})")
        if draw.private.size != size:
            self._diverge(f"size: draw {self.used} covers {size} numbers, covered {draw.private.size}")
        return draw.outcome

    def _diverge(self, how: str) -> NoReturn:
        self.trace.diverged = how  # what is raised behind a charge is not told
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
    """Run a mechanism and return what it did; with `like`, on the noisy outcomes of that run.

    With an effort, what a record changes of its stated scores is sought on other tables too.

    The samplers of the core and what enters a charge are replaced for the length of the call, so nothing else may run
    in the process meanwhile.
    """
    records = WatchedRecords(data)
    trace = Trace(records)
    records.note = lambda kind, event: trace.events.append((kind, event))
    sampler = _Sampler(trace, None if like is None else like.draws, seed)
    own = {law: getattr(_core, name) for name, law in LAWS.items()}
    with contextlib.ExitStack() as stack:
        stack.enter_context(opendp_stand_in(sampler.backend(own)))
        for name in LAWS:
            stack.enter_context(patch.object(_core, name, sampler.wrap(name, getattr(_core, name))))
        stack.enter_context(patch.object(_core, "flip_coins", sampler.coins(_core.flip_coins)))
        stack.enter_context(watched_charges(trace))
        stack.enter_context(_watched_selections(trace))
        stack.enter_context(_watched_draws(trace))
        stack.enter_context(watched_scores(lambda kind, event: trace.events.append((kind, event)), records, effort))
        stack.enter_context(fixed_surroundings())
        said = stack.enter_context(all_output())
        try:
            trace.release = mechanism(records, budget, privacy)
        except Exception as error:  # whatever it is, the mechanism told it
            trace.error = "" if trace.diverged else as_told(error)
    trace.text = said.getvalue()
    if like is not None and not trace.diverged and not trace.error and sampler.used < len(like.draws):
        trace.diverged = f"path: {sampler.used} draws, the first run made {len(like.draws)}"
    return trace


def draws_of(line: Charge) -> int:
    """Return how many draws a line is charged for."""
    return int(line.parameters.get("draws", 1))


@contextlib.contextmanager
def watched_charges(trace: Trace) -> Iterator[None]:
    """Note every line that is entered in any ledger; an allocation's once, in the allocation."""
    enter = Ledger._enter
    within: list[Charge] = []

    def noted(self: Ledger, line: Charge) -> None:
        if not within:
            trace.events.append(("charge", line))
            trace.entries.append((self, line))
        within.append(line)
        try:
            enter(self, line)
        finally:
            within.pop()

    with patch.object(Ledger, "_enter", noted):
        yield


@contextlib.contextmanager
def _watched_selections(trace: Trace) -> Iterator[None]:
    """Note what a selection among cliques compares, for as long as it is under way."""
    make, compare = PrivateTable.l1_selector, L1Selector.compare
    told: WeakKeyDictionary[L1Selector, tuple[list[Clique], dict[Clique, Any], dict[Clique, Any]]] = WeakKeyDictionary()

    def l1_selector(self: PrivateTable, candidates: Sequence[Clique], estimate: Any, query: Any = None) -> L1Selector:
        queries: dict[Clique, Any] = {}

        def queried(clique: Clique) -> Any:
            queries[clique] = None if query is None else query(clique)
            return queries[clique]

        selector = make(self, candidates, estimate, queried)
        told[selector] = [], queries, {}
        selector.compare(estimate, candidates)
        return selector

    def compared(self: L1Selector, by: Any, candidates: Sequence[Clique] | None = None) -> None:
        if self not in told:  # on its way
            compare(self, by, candidates)
            return
        cliques, queries, _ = told[self]
        estimates: dict[Clique, Any] = {}

        def estimated(clique: Clique) -> Any:
            estimates[clique] = np.array(value := by(clique), dtype=np.float64)
            return value

        told[self] = cliques if candidates is None else list(candidates), queries, estimates
        compare(self, estimated, candidates)

    def noted(method: Callable[..., Any]) -> Callable[..., Any]:
        def select(self: L1Selector, among: Sequence[int] | None = None, *given: Any, **named: Any) -> Any:
            cliques, queries, estimates = told[self]
            every = range(len(cliques))
            chosen = [cliques[i] for i in (every if among is None else among) if i in every]
            asked = Asked(chosen, [], [], named.get("weights"), named.get("offsets"))
            trace.events.append(("asked", asked))
            try:
                return method(self, among, *given, **named)
            finally:
                asked.queries.extend(queries.get(c) for c in chosen)
                asked.estimates.extend(estimates.get(c) for c in chosen)
                trace.events.append(("asked", None))

        return select

    with contextlib.ExitStack() as stack:
        stack.enter_context(patch.object(PrivateTable, "l1_selector", l1_selector))
        stack.enter_context(patch.object(L1Selector, "compare", compared))
        for name in ("select_top", "permute_and_flip", "screen"):
            stack.enter_context(patch.object(L1Selector, name, noted(getattr(L1Selector, name))))
        yield


def _watched_draws(trace: Trace) -> AbstractContextManager[Any]:
    """Note what draws of counts are handed."""
    method = CellSelector.draw

    def draw(self: CellSelector, *given: Any, **named: Any) -> Any:
        trace.events.append(("handed", deepcopy((given, named))))
        return method(self, *given, **named)

    return patch.object(CellSelector, "draw", draw)
