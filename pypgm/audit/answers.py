"""Where what is drawn and released comes from: this run, this run's table, and noise of the size it was charged for."""

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
from pypgm.audit.trace import Asked, Draw, Trace
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.privacy.ledger import Charge
from pypgm.privacy.relation import Privacy
from pypgm.queries import LinearQuery

Found = Iterator[tuple[str, str]]
Drawn = dict[tuple[float, ...], list[tuple[Draw, Charge | None]]]

_GRID = 1 << 16  # scores are counted in parts of a record
_COLUMNS = 12  # of a query that are looked at


def check_answers(runs: Runs) -> Finding:
    """Find the draw of each released measurement, and compute again what each draw was to hide.

    Answers are counted again, the scores of all candidates are computed again, and the sensitivity and standard
    deviation that a measurement was charged and released with are compared with its own. A release may say by
    ``hidden(records)`` what else its draws are to hide, in their order. Counts of a sample are not those of the table:
    where records were sampled, draws are found and nothing is counted again.
    """
    found: list[tuple[str, str]] = []
    compared = 0
    for pair, one, other in runs.traces:
        for trace in (one, other):
            measurements, drawn, sampled = _measurements(trace.release), _drawn(trace), trace.sampled
            if runs.given and trace.release is not None:
                found.extend(_handed(runs.given, measurements))
                measurements = measurements[len(runs.given) :]
            compared += len(measurements) + sum(asked is not None for asked in trace.selections)
            compared += len(trace.draws) * (getattr(trace.release, "hidden", None) is not None)
            for measurement in measurements:
                own = drawn.get(_key(measurement.values), [])
                found.extend(_origin(None if sampled else trace, measurement, own))
                # Draws of different sizes may come out alike by chance: one of them is the measurement's.
                wrong = [list(_stated(measurement, draw, line, pair.privacy)) for draw, line in own]
                found.extend(sorted(wrong, key=len)[0] if wrong else [])
            if not sampled:
                found.extend(_selections(trace, pair.privacy))
                found.extend(_hidden(trace))
    figures = f"{compared} measurements and selections, each drawn from counts of its table"
    return finding("answers", runs.subject, found, figures, exercised=compared)


def _handed(given: Sequence[LinearMeasurement], released: Sequence[LinearMeasurement]) -> Found:
    """Demand that a release begins with the measurements that were handed to its mechanism, unchanged."""
    for mine, theirs in itertools.zip_longest(given, released[: len(given)]):
        if theirs is None or mine.clique != theirs.clique or _key(mine.values) != _key(theirs.values):
            yield "cached answer", f"the measurement of {mine.clique} that was handed over is not in the release"


def _measurements(release: Any) -> list[LinearMeasurement]:
    """Return the measurements of a release, or of whatever else a mechanism returned."""
    things = getattr(release, "measurements", release)
    things = list(things) if isinstance(things, list | tuple) else [things]
    return [thing for thing in things if isinstance(thing, LinearMeasurement)]


def _drawn(trace: Trace) -> Drawn:
    """Return the draws of noise, each with its line, by what came out."""
    drawn: Drawn = {}
    for draw, line in zip(trace.draws, lines_of(trace), strict=True):
        if isinstance(draw.law, Noise):
            drawn.setdefault(_key(draw.outcome), []).append((draw, line))
    return drawn


def _key(values: Any) -> tuple[float, ...]:
    return tuple(np.ravel(values).tolist())


def _origin(trace: Trace | None, measurement: LinearMeasurement, drawn: list[tuple[Draw, Charge | None]]) -> Found:
    """Follow a measurement to its draw, and from there to the table where there is one to count again."""
    exact = None if trace is None else measurement.linear_map.matvec(trace.records.recount(measurement.clique))
    if not drawn and exact is not None and np.array_equal(exact, measurement.values):
        yield "unnoised answer", f"{measurement.clique} holds the counts themselves"
    elif not drawn:
        yield "cached answer", f"no sampler of this run drew the values of {measurement.clique}"
    elif exact is not None and not any(np.array_equal(draw.private, exact) for draw, _ in drawn):
        yield "answer of another table", f"the counts of {measurement.clique} are not those of the table entered"


def _stated(measurement: LinearMeasurement, draw: Draw, line: Charge | None, privacy: Privacy) -> Found:
    """Compare what a measurement and its line say of the noise with the query and the draw."""
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
    """Return how much one person changes the answers on some of the cells."""
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
    """Compute the scores of all candidates again, and the epsilon that their rate of drawing has."""
    lines = lines_of(trace)
    for draw, asked, line in zip(trace.draws, trace.selections, lines, strict=True):
        if asked is None:
            continue
        try:
            scores = _weighted(_scores(trace, asked), asked, 1 << (16 if draw.law.hides_scores else 12))
        except (TypeError, ValueError) as error:
            yield "wrong score", f"a selection was drawn of what cannot be compared: {error}"
            continue
        if not np.array_equal(draw.private, scores):
            yield "wrong score", f"a selection among {len(scores)} does not compare the table with the estimates"
        if not draw.law.hides_scores:
            continue  # a screen: what neighbours change is compared with its line
        # The most by which the scores of two candidates move apart: one person's records leave one and enter another.
        apart = 2 * (2 if privacy.neighbours == "replace" else 1) * privacy.records_per_person * _GRID
        if line is not None and draw.parameter * apart > line.parameters["epsilon"]:
            yield "score sensitivity", f"drawn at epsilon {float(draw.parameter * apart):.6g}, not as charged"


def _weighted(scores: list[int], asked: Asked, grid: int) -> NDArray[np.int64]:
    """Return scores times weights, the largest of which is as many parts as the grid has, and with offsets."""
    count = len(scores)
    weights = [Fraction(str(w)) for w in ([1] * count if asked.weights is None else asked.weights)]
    offsets = [Fraction(str(o)) for o in ([0] * count if asked.offsets is None else asked.offsets)]
    unit = max(weights) / grid
    parts = [0 if w == 0 else max(1, round(w / unit)) for w in weights]
    whole = [p * s // _GRID + round(o / unit) for p, s, o in zip(parts, scores, offsets, strict=True)]
    return np.array([min(1 << 62, score) for score in whole], dtype=np.int64)


def _scores(trace: Trace, asked: Asked) -> list[int]:
    scores = []
    for clique, query, estimate in zip(asked.cliques, asked.queries, asked.estimates, strict=True):
        counts = trace.records.recount(clique)
        answers = counts if query is None else query.matvec(counts)
        public = np.rint(np.asarray(estimate, dtype=np.float64).reshape(-1) * _GRID)
        parts = zip(answers.tolist(), public.tolist(), strict=True)
        scores.append(min(1 << 62, sum(abs(answer * _GRID - int(own)) for answer, own in parts)))
    return scores


def _hidden(trace: Trace) -> Found:
    """Compare the draws with what the subject says that they are to hide."""
    hidden = getattr(trace.release, "hidden", None)
    if hidden is None:
        return
    expected = hidden(trace.records)
    for draw, private in itertools.zip_longest(trace.draws, expected):
        if draw is None or private is None or not np.array_equal(draw.private, private):
            law = None if draw is None else draw.law
            defect = "wrong score" if law is not None and law.hides_scores else "answer of another table"
            yield defect, f"{law or 'a draw'} was to hide something else than this table's numbers"


def exact_rank_scores(values: NDArray[Any], quantile: Fraction, grid: list[float]) -> list[int]:
    """Return minus b times the records that each point of a grid is away from being the quantile a / b."""
    a, b = quantile.numerator, quantile.denominator
    less = [int((values < point).sum()) for point in grid]
    more = [int((values > point).sum()) for point in grid]
    n = values.size
    return [-max(0, b * low - a * n, b * high - (b - a) * n) for low, high in zip(less, more, strict=True)]
