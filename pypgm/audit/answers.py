"""Origin of released measurements and selections: this run, this run's table, and noise of the size charged for."""

from __future__ import annotations

import itertools
from collections.abc import Iterator, Sequence
from fractions import Fraction
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.audit.finding import Finding, finding
from pypgm.audit.laws import Noise
from pypgm.audit.mechanisms import Runs, lines_of
from pypgm.audit.trace import Comparison, Draw, Trace
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.privacy.ledger import Charge
from pypgm.privacy.relation import Privacy
from pypgm.queries import LinearQuery

Found = Iterator[tuple[str, str]]
Drawn = dict[tuple[float, ...], list[tuple[Draw, Charge | None]]]

_GRID = 1 << 16  # scores are counted in parts of a record
_COLUMNS = 12  # of a query that are looked at


def check_answers(runs: Runs) -> Finding:
    """Find the draw of each released measurement, and recompute the numbers that each draw hides.

    Answers and the scores of all candidates are recomputed; the sensitivity and standard deviation that a measurement
    was charged and released with are compared with its own. ``release.hidden(records)``, if there is one, lists what
    further draws hide, in order. Where records were sampled, draws are matched and nothing is recomputed, as the counts
    of a sample are not those of the table.
    """
    defects: list[tuple[str, str]] = []
    compared = 0
    for pair, one, other in runs.traces:
        for trace in (one, other):
            measurements, drawn, sampled = _measurements(trace.release), _drawn(trace), trace.sampled
            if runs.given and trace.release is not None:
                defects.extend(_handed(runs.given, measurements))
                measurements = measurements[len(runs.given) :]
            compared += len(measurements) + sum(comparison is not None for comparison in trace.selections)
            compared += len(trace.draws) * (getattr(trace.release, "hidden", None) is not None)
            for measurement in measurements:
                draws = drawn.get(_key(measurement.values), [])
                defects.extend(_origin(None if sampled else trace, measurement, draws))
                # Draws of different sizes may agree by chance: one of them is the measurement's.
                wrong = [list(_stated(measurement, draw, line, pair.privacy)) for draw, line in draws]
                defects.extend(sorted(wrong, key=len)[0] if wrong else [])
            if not sampled:
                defects.extend(_selections(trace, pair.privacy))
                defects.extend(_hidden(trace))
    figures = f"{compared} measurements and selections, each drawn from counts of its table"
    return finding("answers", runs.subject, defects, figures, exercised=compared)


def _handed(given: Sequence[LinearMeasurement], released: Sequence[LinearMeasurement]) -> Found:
    """Check that a release begins with the measurements its mechanism was given, unchanged."""
    for mine, theirs in itertools.zip_longest(given, released[: len(given)]):
        if theirs is None or mine.clique != theirs.clique or _key(mine.values) != _key(theirs.values):
            yield "cached answer", f"the given measurement of {mine.clique} is not in the release"


def _measurements(release: Any) -> list[LinearMeasurement]:
    """Return the measurements of a release, or of any other result of a mechanism."""
    things = getattr(release, "measurements", release)
    things = list(things) if isinstance(things, list | tuple) else [things]
    return [thing for thing in things if isinstance(thing, LinearMeasurement)]


def _drawn(trace: Trace) -> Drawn:
    """Return the draws of noise, each with its line, by their outcome."""
    drawn: Drawn = {}
    for draw, line in zip(trace.draws, lines_of(trace), strict=True):
        if isinstance(draw.law, Noise):
            drawn.setdefault(_key(draw.outcome), []).append((draw, line))
    return drawn


def _key(values: Any) -> tuple[float, ...]:
    return tuple(np.ravel(values).tolist())


def _origin(trace: Trace | None, measurement: LinearMeasurement, drawn: list[tuple[Draw, Charge | None]]) -> Found:
    """Trace a measurement to its draw, and that to the table where its counts can be recomputed."""
    exact = None if trace is None else measurement.linear_map.matvec(trace.records.recount(measurement.clique))
    if not drawn and exact is not None and np.array_equal(exact, measurement.values):
        yield "unnoised answer", f"{measurement.clique} holds the counts themselves"
    elif not drawn:
        yield "cached answer", f"no sampler of this run drew the values of {measurement.clique}"
    elif exact is not None and not any(np.array_equal(draw.private, exact) for draw, _ in drawn):
        yield "answer of another table", f"the counts of {measurement.clique} are not those of the table entered"


def _stated(measurement: LinearMeasurement, draw: Draw, line: Charge | None, privacy: Privacy) -> Found:
    """Compare the noise stated by a measurement and its line with the query and the draw."""
    law = draw.law
    assert isinstance(law, Noise)  # those of `_drawn` are
    stated = float(np.max(measurement.stddev)), float(np.min(measurement.stddev))
    drawn = law.stddev(draw.parameter)
    if max(abs(s - drawn) for s in stated) > 1e-9 * drawn or measurement.noise != law.short:
        yield "scale differs from the charge", f"{measurement.clique} is released with stddev {stated[0]:.6g}"
    if line is not None:
        charged = line.parameters[law.charged]
        least = _least_change(measurement.linear_map, privacy, law.power)
        if charged < least:
            name = "lost user bound" if charged * privacy.records_per_person >= least else "sensitivity"
            yield name, f"{measurement.clique} changes by {least} at least, {charged} is charged for"


def _least_change(query: LinearQuery, privacy: Privacy, power: int) -> int:
    """Return the change of the answers by one person in some of the cells."""
    cells = query.shape[1]
    looked_at = sorted({i * (cells - 1) // max(1, _COLUMNS - 1) for i in range(_COLUMNS)})
    columns = np.zeros((len(looked_at), query.shape[0]), dtype=np.int64)
    for row, cell in enumerate(looked_at):
        unit = np.zeros(cells, dtype=np.int64)
        unit[cell] = privacy.records_per_person
        columns[row] = query.matvec(unit)
    changes = [columns] if privacy.neighbours == "add-remove" else []
    changes += [a - columns for a in columns if privacy.neighbours == "replace"]
    return max(int((np.abs(c) ** power).sum(axis=1).max()) for c in changes)


def _selections(trace: Trace, privacy: Privacy) -> Found:
    """Recompute the scores of all candidates, and the epsilon that follows from the rate."""
    lines = lines_of(trace)
    for draw, comparison, line in zip(trace.draws, trace.selections, lines, strict=True):
        if comparison is None:
            continue
        try:
            scores = _weighted(_scores(trace, comparison), comparison, 1 << (16 if draw.law.hides_scores else 12))
        except (TypeError, ValueError) as error:
            yield "wrong score", f"a selection among candidates that cannot be compared: {error}"
            continue
        if not np.array_equal(draw.private, scores):
            yield "wrong score", f"a selection among {len(scores)} does not compare the table with the estimates"
        if not draw.law.hides_scores:
            continue  # a screen: calibration compares its change with its line
        # The most by which the scores of two candidates move apart: one person's records leave one and enter another.
        apart = 2 * (2 if privacy.neighbours == "replace" else 1) * privacy.records_per_person * _GRID
        if line is not None and draw.parameter * apart > line.parameters["epsilon"]:
            yield "score sensitivity", f"drawn at epsilon {float(draw.parameter * apart):.6g}, not as charged"


def _weighted(scores: list[int], comparison: Comparison, grid: int) -> NDArray[np.int64]:
    """Return weighted scores plus offsets, the largest weight being `grid` parts."""
    count = len(scores)
    weights = [Fraction(str(w)) for w in ([1] * count if comparison.weights is None else comparison.weights)]
    offsets = [Fraction(str(o)) for o in ([0] * count if comparison.offsets is None else comparison.offsets)]
    unit = max(weights) / grid
    parts = [0 if w == 0 else max(1, round(w / unit)) for w in weights]
    whole = [p * s // _GRID + round(o / unit) for p, s, o in zip(parts, scores, offsets, strict=True)]
    return np.array([min(1 << 62, score) for score in whole], dtype=np.int64)


def _scores(trace: Trace, comparison: Comparison) -> list[int]:
    scores = []
    for clique, query, estimate in zip(comparison.cliques, comparison.queries, comparison.estimates, strict=True):
        counts = trace.records.recount(clique)
        answers = counts if query is None else query.matvec(counts)
        public = np.rint(np.asarray(estimate, dtype=np.float64).reshape(-1) * _GRID)
        parts = zip(answers.tolist(), public.tolist(), strict=True)
        scores.append(min(1 << 62, sum(abs(answer * _GRID - int(value)) for answer, value in parts)))
    return scores


def _hidden(trace: Trace) -> Found:
    """Compare the draws with the numbers that the subject says they hide."""
    hidden = getattr(trace.release, "hidden", None)
    if hidden is None:
        return
    expected = hidden(trace.records)
    for draw, private in itertools.zip_longest(trace.draws, expected):
        if draw is None or private is None or not np.array_equal(draw.private, private):
            law = None if draw is None else draw.law
            defect = "wrong score" if law is not None and law.hides_scores else "answer of another table"
            yield defect, f"{law or 'a draw'} hides other numbers than this table's"
