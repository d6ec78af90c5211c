"""Learners of Markov random fields: scores recomputed from the records, the split of the budget from the domain."""

from __future__ import annotations

import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from itertools import combinations

from pypgm.audit.finding import Finding, finding
from pypgm.audit.laws import EXPONENTIAL
from pypgm.audit.mechanisms import Runs
from pypgm.audit.trace import Trace
from pypgm.domain import Domain

_BINS = 8192
_ONE = 2**15 - 1

Value = Callable[[list[int]], int]
Found = Iterator[tuple[str, str]]


def check_regressions(runs: Runs, radius: float) -> Finding:
    """Recompute private Frank-Wolfe in Python integers: every score of every draw, and the split of the budget.

    Parameters
    ----------
    runs : Runs
        Runs of `mrf.learn_pairwise`, or of `mrf.learn_ising` on binary attributes.
    radius : float
        Radius given to the learner.
    """
    defects: list[tuple[str, str]] = []
    compared = 0
    for pair, one, other in runs.traces:
        for trace in (one, other):
            compared += len(trace.draws)
            defects += [(name, f"tables {pair.name}: {what}") for name, what in _followed(trace, radius)]
    return finding("regressions", runs.subject, defects, f"{compared} draws, equal integers", exercised=compared)


def _followed(trace: Trace, radius: float) -> Found:
    domain = trace.records.domain
    draws = [draw for draw in trace.draws if draw.law is EXPONENTIAL]
    tasks = _tasks(domain)
    steps, rest = divmod(len(draws), len(tasks))
    if trace.diverged or trace.error:
        return  # reported by other checks
    if rest:
        yield "wrong charge", f"{len(draws)} draws of {len(tasks)} regressions"
    for line in trace.charges:
        if "draws" in line.parameters:
            size = domain.size((line.on.strip("()"),))
            expected = steps * math.comb(size, 2), steps * (size - 1)
            charged = int(line.parameters["draws"]), int(line.parameters["composed"])
            if charged != expected:
                yield (
                    "wrong charge",
                    f"{line.on}: {charged[1]} of {charged[0]} draws compose, {expected[1]} of {expected[0]} do",
                )
    records = _records(trace, domain)
    top = 2 * radius * (1 if _is_binary(domain) else max(domain.shape))
    for r, (node, positive, negative) in enumerate(tasks):
        values = [value for owner, value in _values(domain) if owner != node]
        kept = [(x, 1 if x[node] == positive else -1) for x in records if x[node] in (positive, negative)]
        margins = [0] * len(kept)
        for t in range(1, steps + 1):
            draw = draws[(t - 1) * len(tasks) + r]
            responses = [y * _response(y, z, t, top) for z, (_, y) in zip(margins, kept, strict=True)]
            sums = [sum(s * value(x) for s, (x, _) in zip(responses, kept, strict=True)) for value in values]
            if draw.private.tolist() != [*sums, *(-s for s in sums)]:
                yield "wrong score", f"step {t} of ({domain.attributes[node]}): {draw.private.tolist()} for {sums}"
                break
            sign, value = 1 if draw.outcome < len(values) else -1, values[draw.outcome % len(values)]
            margins = [z + sign * (t + 1) * value(x) for z, (x, _) in zip(margins, kept, strict=True)]


def _response(y: int, z: int, t: int, radius: float) -> int:
    """Return sigma(-y margin) of an integer margin before step t, both rounded to the grid of the core's table."""
    scale = 0 if t == 1 else (2 * _BINS << 32) // (t * (t + 1))
    position = math.floor(Fraction(z * scale, 1 << 32) + Fraction(1, 2))
    return round(_ONE / (1 + math.exp(y * radius * position / _BINS)))


def _is_binary(domain: Domain) -> bool:
    return all(size == 2 for size in domain.shape)


def _tasks(domain: Domain) -> list[tuple[int, int, int]]:
    if _is_binary(domain):
        return [(i, 1, 0) for i in range(len(domain))]
    return [(i, u, v) for i, size in enumerate(domain.shape) for u, v in combinations(range(size), 2)]


def _values(domain: Domain) -> list[tuple[int, Value]]:
    """Return the features, each with the index of its attribute; the intercept has -1."""

    def sign(i: int) -> Value:
        return lambda x: 2 * x[i] - 1

    def indicator(i: int, code: int) -> Value:
        return lambda x: int(x[i] == code)

    intercept: list[tuple[int, Value]] = [(-1, lambda _: 1)]
    if _is_binary(domain):
        return [(i, sign(i)) for i in range(len(domain))] + intercept
    return [(i, indicator(i, code)) for i, size in enumerate(domain.shape) for code in range(size)] + intercept


def _records(trace: Trace, domain: Domain) -> list[list[int]]:
    columns = [trace.records.unnoted(name).tolist() for name in domain]
    return [list(record) for record in zip(*columns, strict=True)]
