"""Checks of the reads, charges, draws and releases of mechanisms and single steps."""

from __future__ import annotations

import io
import math
import tempfile
from collections.abc import Callable, Iterator, Sequence
from contextlib import redirect_stdout
from dataclasses import dataclass
from fractions import Fraction
from pathlib import Path
from typing import Any

import numpy as np

import pypgm
from pypgm.audit.budgets import allowed
from pypgm.audit.contents import contents, differences, reaches
from pypgm.audit.finding import Finding, finding
from pypgm.audit.laws import EXPONENTIAL, LAWS
from pypgm.audit.pairs import Pair, far_pairs, neighbour_pairs
from pypgm.audit.stated import Effort
from pypgm.audit.trace import Draw, Mechanism, RecordsGoneError, Trace, draws_of, observe, watched_charges
from pypgm.estimation.measurement import LinearMeasurement
from pypgm.files.file import read_file
from pypgm.files.stored_model import model_of_archive
from pypgm.mrf import MarkovRandomField
from pypgm.privacy.budget import Budget, Unit
from pypgm.privacy.ledger import Charge
from pypgm.privacy.relation import Privacy


def _raising(_: object) -> object:
    raise RuntimeError("a defect of the caller")


FAILURES: dict[str, dict[str, Any]] = {
    "a callback that raises": {"callback": _raising, "iterations": 2},
    "a model too large": {"max_bytes": 10},
    "iterations below 0": {"iterations": -1},
    "a tolerance that is no number": {"tolerance": math.nan},
}
"""Options that make a mechanism raise after it has measured."""


def check_failures(subject: str, function: Callable[..., Any]) -> Finding:
    """Compare the errors of a mechanism that fails after measuring, on the same noisy outcomes of different records."""
    defects: list[tuple[str, str]] = []
    pairs = [*[p for p in neighbour_pairs() if p.name.startswith("crossed")], *far_pairs()]
    for name, options in FAILURES.items():

        def mechanism(data: Any, budget: Budget, privacy: Privacy, options: dict[str, Any] = options) -> Any:
            return function(data, budget=budget, privacy=privacy, **options)

        traces = run_pairs(subject, mechanism, Budget(rho=2), pairs).traces
        if not any(one.error for _, one, _ in traces):  # an estimate that converges at once never calls back
            defects.append(("not refused", f"{name} is accepted"))
        defects += [defect for _, one, other in traces for defect in same_run(one, other)]
    return finding("failures", subject, defects, f"{len(FAILURES)} errors on {len(pairs)} pairs, one text each")


Found = Iterator[tuple[str, str]]


@dataclass(frozen=True, slots=True, eq=False)
class Runs:
    """A mechanism run on the first table of each pair, and on the second with the first's noisy outcomes."""

    subject: str
    budget: Budget
    traces: tuple[tuple[Pair, Trace, Trace], ...]
    given: tuple[LinearMeasurement, ...] = ()
    """Measurements given to the mechanism: its release begins with them, unchanged."""


def run_pairs(
    subject: str,
    mechanism: Mechanism,
    budget: Budget,
    pairs: Sequence[Pair] | None = None,
    *,
    given: Sequence[LinearMeasurement] = (),
    effort: Effort | None = None,
) -> Runs:
    """Run a mechanism on pairs of tables, by default on all of `neighbour_pairs` and `far_pairs`.

    With an effort, scores of stated sensitivity are evaluated on other tables too.
    """
    traces = []
    for i, pair in enumerate([*neighbour_pairs(), *far_pairs()] if pairs is None else pairs):
        first = observe(mechanism, pair.one, budget, pair.privacy, seed=i, effort=effort)
        traces.append((pair, first, observe(mechanism, pair.other, budget, pair.privacy, like=first)))
    return Runs(subject, budget, tuple(traces), tuple(given))


def check_calibration(runs: Runs) -> Finding:
    """Compare the numbers that samplers hide between neighbours with the charges, in exact arithmetic.

    A measurement's answers may differ by its sensitivity; the log-probabilities of a selection, known in closed form
    from scores and rate, may change by at most epsilon, and so may their range. A score of stated sensitivity may
    change by no more than that on the other tables on which it was evaluated.
    """
    defects: list[tuple[str, str]] = []
    compared, moved, raised = 0, 0, ""
    for pair, one, other in runs.traces:
        raised = raised or one.raised or other.raised
        moved += len(one.moved)
        defects.extend(_stated(one))
        if not pair.neighbours:
            continue
        for draw, twin, line in compared_draws(one, other):
            compared += 1
            defects.extend(_calibration(pair, draw, twin, line))
        defects.extend(_composed(pair, one, other, runs.budget.unit))
    figures = f"{compared} draws between neighbours, equality of integers"
    if moved:
        figures += f", {moved} stated scores on other tables too"
    if raised:
        figures = f"a stated score raised {raised} and counted as 0: its true value was not seen"
    return finding("calibration", runs.subject, defects, figures, exercised=compared and not raised)


def _stated(one: Trace) -> Found:
    for moved in one.moved:
        if moved.change > moved.stated:
            how = "in the place of another" if moved.is_replaced else "more or less"
            change = f"a record {how} changes it by {moved.change}, {moved.stated} is stated"
            yield "score sensitivity", f"the score of {moved.on}: {change}"


def compared_draws(one: Trace, other: Trace) -> Iterator[tuple[Draw, Draw, Charge]]:
    """Yield the corresponding draws of both runs, with the line they were charged on."""
    for draw, twin, line in zip(one.draws, other.draws, lines_of(one), strict=False):
        if line is not None and draw.private.size == twin.private.size:
            yield draw, twin, line


def change_of(draw: Draw, twin: Draw, line: Charge) -> tuple[Fraction, Fraction]:
    """Return the change of the numbers a draw hides, and the change its line allows, in the unit of the line."""
    changes = [int(b) - int(a) for a, b in zip(draw.private.flat, twin.private.flat, strict=True)]
    return draw.law.change(changes, draw.parameter), line.parameters[draw.law.charged]


def _calibration(pair: Pair, draw: Draw, twin: Draw, line: Charge) -> Found:
    where = f"{line.what} on {line.on}, tables {pair.name}, {pair.privacy.neighbours}"
    k = pair.privacy.records_per_person
    wide = "lost user bound" if k > 1 else "wrong relation" if pair.privacy.neighbours == "replace" else "sensitivity"
    change, allowed = change_of(draw, twin, line)
    if change > allowed:
        wide = "score sensitivity" if draw.law.hides_scores else wide
        yield wide, f"{where}: changes by {float(change):.6g}, {float(allowed):.6g} is charged for"
    one_answer = int(np.abs(draw.private - twin.private).max(initial=0))
    if one_answer > line.parameters.get("largest_change", one_answer):
        stated = line.parameters["largest_change"]
        yield "sensitivity", f"{where}: an answer changes by {one_answer}, {stated} is stated"


def _composed(pair: Pair, one: Trace, other: Trace, unit: Unit) -> Found:
    """Add up the losses of draws of which only some compose: a person is in some of them, each with its own range."""
    # Lines of one epsilon are taken together: a draw does not show which of them it belongs to.
    lost: dict[tuple[str, Fraction], Fraction] = {}
    lines = [line for line in one.charges if "draws" in line.parameters]
    for draw, twin, line in compared_draws(one, other):
        if "draws" in line.parameters:
            epsilon = change_of(draw, twin, line)[0]
            kind = line.what, line.parameters["epsilon"]
            lost[kind] = lost.get(kind, Fraction(0)) + (epsilon if unit == "epsilon" else epsilon**2 / 8)
    for (what, epsilon), amount in lost.items():
        same = [line.parameters for line in lines if (line.what, line.parameters["epsilon"]) == (what, epsilon)]
        cost = sum(EXPONENTIAL.cost(parameters, unit) for parameters in same)
        if amount > cost:
            where = f"{what}, tables {pair.name}, {pair.privacy.neighbours}"
            yield "wrong charge", f"{where}: loses {float(amount):.6g}, {float(cost):.6g} is charged for"


def check_charges(runs: Runs) -> Finding:
    """Check each run line by line: charged before reading, drawn as charged, cost by parameters, sum within budget."""
    defects: list[tuple[str, str]] = []
    count = 0
    for pair, one, _ in runs.traces:
        count += len(one.charges)
        defects.extend(_protocol(one, add_remove=pair.privacy.neighbours == "add-remove"))
        defects.extend(_costs(one, runs.budget))
    figures = f"{count} lines, each before its read and with its own draw"
    return finding("charges", runs.subject, defects, figures, exercised=count)


def _costs(trace: Trace, budget: Budget) -> Found:
    limit = left = allowed(budget)
    for ledger, line in trace.entries:
        owed = LAWS[line.noise].owed(line.parameters, ledger.budget.unit, line.left)
        if line.left is not None:
            if line.left > left:
                counted = f"{float(line.left):.6g} left, of {float(left):.6g}"
                yield "wrong charge", f"{line.noise} on {line.on} counts on {counted}"
            left -= line.cost
        elif ledger.budget.accounting == "gdp":
            yield "wrong charge", f"{line.noise} on {line.on} is not charged in Gaussian differential privacy"
        if line.cost < owed:
            yield (
                "wrong charge",
                f"{line.noise} on {line.on} costs {float(owed):.6g}, {float(line.cost):.6g} is charged",
            )
    if trace.spent > limit:
        yield "overspent", f"{budget.unit} {float(trace.spent):.6g} is spent, {float(limit):.6g} was asked for"


def _protocol(trace: Trace, *, add_remove: bool) -> Found:
    open_lines: list[Charge] = []
    sampled = False  # coins were flipped, and the records kept are not read yet
    for kind, event in trace.events:
        if kind == "charge":
            open_lines.extend([event] * draws_of(event))
        elif kind == "read" and sampled:
            sampled = False
        elif kind == "coins":
            sampled = True
            yield from _close_sample(open_lines, event)
        elif kind == "total" and add_remove and not any(line.noise == "Poisson sample" for line in open_lines):
            yield "records counted exactly", "the exact number of records was read"
        elif kind == "read" and not open_lines:
            yield "read before the charge", f"{event} read while nothing was charged for it"
        elif kind == "seeded":
            yield "seeded by default", f"{event} was given a seeded stream"
        elif kind == "draw":
            yield from _close(open_lines, event)
    if open_lines and not trace.diverged and not trace.error:
        line = open_lines[0]
        yield "noise from elsewhere", f"{line.what} on {line.on} was charged, no exact sampler drew for it"


def _close_sample(open_lines: list[Charge], rate: Fraction) -> Found:
    line = next((line for line in open_lines if line.noise == "Poisson sample"), None)
    if line is None:
        yield "uncharged draw", f"records sampled at rate {float(rate):.6g} without a line"
        return
    open_lines.remove(line)
    if line.parameters["rate"] < rate:
        yield "scale differs from the charge", f"records sampled at rate {float(rate):.6g}, not as charged"


def _close(open_lines: list[Charge], draw: Draw) -> Found:
    line = _line_of(open_lines, draw)
    if line is None:
        same = [open_line for open_line in open_lines if open_line.noise == draw.law.name]
        if same:
            yield "scale differs from the charge", f"{draw.law} drawn with {float(draw.parameter):.6g}, not as charged"
            open_lines.remove(same[0])
        else:
            yield "uncharged draw", f"{draw.law} of {draw.private.size} numbers without a line"
        return
    for _ in range(draw.law.n_lines(draw.outcome)):
        line = _line_of(open_lines, draw)
        if line is None:
            yield "uncharged draw", f"{np.size(draw.outcome)} were selected, fewer were charged"
            return
        open_lines.remove(line)


def _line_of(open_lines: Sequence[Charge], draw: Draw) -> Charge | None:
    lines = {id(line): line for line in open_lines}.values()
    same = (line for line in lines if line.noise == draw.law.name)
    return next((line for line in same if draw.law.is_of(line.parameters, draw.parameter)), None)


def lines_of(trace: Trace) -> list[Charge | None]:
    """Return the line that each draw is charged on."""
    open_lines: list[Charge] = []
    lines: list[Charge | None] = []
    for kind, event in trace.events:
        if kind == "charge":
            open_lines.extend([event] * draws_of(event))
        elif kind == "draw":
            same = [line for line in open_lines if line.noise == event.law.name]
            line = _line_of(open_lines, event) or (same[0] if same else None)
            lines.append(line)
            # Candidates that are drawn one after the other in one call have a line each.
            for _ in range(event.law.n_lines(event.outcome)):
                if line is not None:
                    open_lines.remove(line)
                    line = _line_of(open_lines, event)
    return lines


def check_noninterference(runs: Runs) -> Finding:
    """Check that the same noisy outcomes give the same release, text, errors and later answers.

    The finished release is then used without the records: projected, sampled, summarised, saved, loaded.
    """
    defects: list[tuple[str, str]] = []
    first: dict[int, dict[str, Any]] = {}  # compared once, before use: releases cache the answers they compute
    for _, one, other in runs.traces:
        if id(one) not in first:
            first[id(one)] = contents(one.release)
        defects.extend(same_run(one, other, first[id(one)]))
        if one.error:
            defects.append(("no release", one.error))
    for _, one, other in runs.traces:
        if one.release is not None:
            defects.extend(_kept(one))
            defects.extend(_use(one, other))
    figures = f"{len(runs.traces)} pairs of tables, identical bytes"
    return finding("non-interference", runs.subject, defects, figures, exercised=len(runs.traces))


def same_run(one: Trace, other: Trace, mine: dict[str, Any] | None = None) -> Found:
    """Check that two runs on the same noisy outcomes take one path and end in the same text, error and result."""
    if other.diverged:
        same = all((a.what, a.on) == (b.what, b.on) for a, b in zip(one.charges, other.charges, strict=False))
        sizes = same and other.diverged.startswith("size")
        name = "domain from the data" if sizes else "path depends on the data"
        yield name, other.diverged
        return
    if [(line.noise, line.cost) for line in one.charges] != [(line.noise, line.cost) for line in other.charges]:
        yield "path depends on the data", "the runs are charged differently"
    if one.error != other.error:
        yield "exception tells", "the runs end in different exceptions"
    if one.text != other.text:
        yield "text tells", "the runs print, log or warn differently"
    for path in differences(contents(one.handed), contents(other.handed))[:1]:
        path_handed = f"handed{path.removeprefix('release')}"
        yield (
            "path depends on the data",
            f"public inputs of steps differ though the noise is the same: {path_handed}",
        )
    yield from _same_release(contents(one.release) if mine is None else mine, contents(other.release))


def _same_release(mine: dict[str, Any], theirs: dict[str, Any]) -> Found:
    for path in differences(mine, theirs):
        a, b = mine.get(path), theirs.get(path)
        if isinstance(a, tuple) and isinstance(b, tuple) and a[1] != b[1]:
            yield "domain from the data", f"{path} differs in shape"
        elif ".measurements" in path and ".clique" in path:
            yield "path depends on the data", f"{path} differs though the noise is the same"
        elif ".measurements" in path:
            yield "noise added outside the sampler", f"{path} differs though the noise is the same"
        else:
            yield "private state kept", f"{path} differs though the noise is the same"


def _kept(one: Trace) -> Found:
    path = reaches(one.release, one.records.holds)
    if path:
        yield "records kept", f"{path} is the table"
    for measurement in getattr(one.release, "measurements", ()):
        if np.asarray(measurement.values).dtype != np.int64:
            yield "floats released", f"{measurement.clique} is {measurement.values.dtype}"


def _use(one: Trace, other: Trace) -> Found:
    """Use both releases without the records: answers must not differ, and no ledger may be charged."""
    answers = []
    for trace in (one, other):
        before = len(trace.entries)
        trace.records.gone = True
        try:
            with watched_charges(trace):
                answers.append(_answers(trace.release))
        except RecordsGoneError as error:
            yield "records read after the release", str(error)
        finally:
            trace.records.gone = False
        if len(trace.entries) > before:
            yield "ledger charged after the release", "using the release charged a ledger"
    if len(answers) == 2 and answers[0] != answers[1] and not other.diverged:
        yield "private state kept", "answers or synthetic records differ though the noise is the same"


def _answers(release: Any) -> dict[str, Any]:
    if not hasattr(release, "synthetic_data"):
        return {}
    said = io.StringIO()
    with redirect_stdout(said):
        synthetic = [release.synthetic_data(rng=3) for _ in range(2)]
        summary = release.summary() if hasattr(release, "summary") else ""
    columns = [{name: column.tobytes() for name, column in s.columns.items()} for s in synthetic]
    return {"columns": columns, "summary": summary, "text": said.getvalue(), **_saved(release)}


def _saved(release: Any) -> dict[str, Any]:
    model = getattr(release, "model", None)
    if not isinstance(model, pypgm.GraphicalModel | pypgm.bayes.CountedNetwork | MarkovRandomField):
        return {}
    with tempfile.TemporaryDirectory() as folder:
        path = Path(folder) / "model.npz"
        model.save(path)
        again = model_of_archive(read_file(path), str(path))
    project = [again.project(c).values.tobytes() for c in again.cliques]
    return {"project": project, "synthetic": again.synthetic_data(rng=3).n_records}
