"""Where released answers come from: a sampler of this run, which was handed the counts of this run's table."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any

import numpy as np

from pypgm.audit.finding import Finding, finding
from pypgm.audit.mechanisms import Runs
from pypgm.audit.trace import Trace
from pypgm.estimation.measurement import LinearMeasurement

__all__ = ["check_answers"]


def check_answers(runs: Runs) -> Finding:
    """Find the draw of each released measurement, and count again what it was to hide.

    Counts of a sample are not those of the table: where records were sampled, draws are found and not counted again.
    """
    found: list[tuple[str, str]] = []
    compared = 0
    for _, one, other in runs.traces:
        for trace in (one, other):
            for measurement in _measurements(trace.release):
                compared += 1
                found.extend(_origin(trace, measurement))
    return finding("answers", runs.subject, found, f"{compared} measurements, each drawn from counts of its table")


def _measurements(release: Any) -> list[LinearMeasurement]:
    """Return the measurements of a release, or of whatever else a mechanism returned."""
    things = getattr(release, "measurements", release)
    things = list(things) if isinstance(things, list | tuple) else [things]
    return [thing for thing in things if isinstance(thing, LinearMeasurement)]


def _origin(trace: Trace, measurement: LinearMeasurement) -> Iterator[tuple[str, str]]:
    exact = measurement.linear_map.matvec(trace.records.recount(measurement.clique))
    drawn = [draw for draw in trace.draws if np.array_equal(draw.outcome, measurement.values)]
    if not drawn and np.array_equal(exact, measurement.values):
        yield "unnoised answer", f"{measurement.clique} holds the counts themselves"
    elif not drawn:
        yield "cached answer", f"no sampler of this run drew the values of {measurement.clique}"
    elif trace.sampled or any(np.array_equal(draw.private, exact) for draw in drawn):
        return
    else:
        yield "answer of another table", f"the counts of {measurement.clique} are not those of the table entered"
