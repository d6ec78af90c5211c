"""Mechanisms stopped by a time limit, on a scripted clock: the place of the stop must not depend on records."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any
from unittest.mock import patch

from pypgm.audit.finding import Finding, finding
from pypgm.audit.mechanisms import run_pairs
from pypgm.audit.pairs import far_pairs, neighbour_pairs
from pypgm.audit.subjects import SPELLED
from pypgm.audit.tiers import followed
from pypgm.audit.trace import Mechanism
from pypgm.privacy.budget import Budget
from pypgm.privacy.counts import kept
from pypgm.privacy.relation import Privacy

_LIMIT = 20.0  # seconds
_SECONDS_A_LOOK = 3.0  # seconds that pass with each reading of the clock

LIMITED = ("aim", "mwem")
"""Mechanisms that read the clock between rounds."""

SLOW = (1e-3, 2.0)
"""Seconds a reading and seconds a counted record, if counting takes almost all the time."""


class _Clock:
    """Clock that advances by a fixed amount at each reading, and when moved by hand."""

    def __init__(self, step: float) -> None:
        self.step, self.seconds = step, 0.0

    def __call__(self) -> float:
        self.seconds += self.step
        return self.seconds


def check_time_limit(name: str, per_look: float = _SECONDS_A_LOOK, per_record: float = 0.0) -> Finding:
    """Stop a mechanism by its time limit: on the same noisy outcomes tables of any size must stop it at the same place.

    Parameters
    ----------
    name : str
        Of `LIMITED`.
    per_look, per_record : float
        Seconds that pass with each look at the clock, and with each record of a table that is entered or counted: of
        these no step that follows may know.
    """
    pairs = [*far_pairs(), *(pair for pair in neighbour_pairs([Privacy()]) if pair.name.startswith("crossed"))]
    runs = run_pairs(name, _limited(SPELLED[name], per_look, per_record), Budget(rho=2), pairs)
    made = followed("time limit", name, [runs])
    ended = sum(_is_ended(trace.release) for _, *both in runs.traces for trace in both)
    defects = [(defect, made.detail) for defect in made.defects]
    figures = f"{ended} of {2 * len(pairs)} runs ended early, {made.detail}"
    exercised = ended if per_record == 0 else made.result == "ok"
    return finding("time limit", f"{name}, {per_record:g} s a record", defects, figures, exercised=exercised)


def _is_ended(release: Any) -> bool:
    return release is not None and release.model.fit.status == "time"


def _limited(function: Callable[..., Any], per_look: float, per_record: float) -> Mechanism:
    def mechanism(data: Any, budget: Budget, privacy: Privacy) -> Any:
        clock, noted = _Clock(per_look), data.note

        def note(kind: str, event: Any) -> None:
            clock.seconds += per_record * len(data.unnoted(data.domain.attributes[0]))
            noted(kind, event)

        def entered(records: Any, *others: Any) -> Any:
            clock.seconds += per_record * len(data.unnoted(data.domain.attributes[0]))
            return kept(records, *others)

        data.note = note
        with patch("time.perf_counter", clock), patch("pypgm.privacy.private_table.kept", entered):
            return function(data, budget=budget, privacy=privacy, time_limit=_LIMIT)

    return mechanism
