"""Selections: the law of each draw, and its exact loss between neighbours compared with the charge."""

from __future__ import annotations

import itertools
import math
from collections import Counter
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray

from pypgm.audit.finding import Finding, finding
from pypgm.audit.laws import EXPONENTIAL, LAWS, PERMUTE_AND_FLIP, Selection, renyi
from pypgm.audit.mechanisms import Runs
from pypgm.audit.samplers import ALPHA, p_value
from pypgm.audit.trace import Trace, core_with
from pypgm.privacy.sampler import Sampler

Found = Iterator[tuple[str, str]]

_CASES: tuple[tuple[tuple[int, ...], Fraction], ...] = (
    ((0, 1), Fraction(1)),
    ((5, 0, -3, 7, 7), Fraction(3, 10)),
    ((0, 0, 0, 0), Fraction(4)),
    ((2**61, 2**61 - 1000, 2**61 - 2500), Fraction(1009, 1000003)),
    ((-(2**61), -(2**61) + 3 * 2**20, 0), Fraction(999_983, 2**43 + 9)),
    ((0, 2**33, -(2**33), 2**32), Fraction(2**30 + 3, 2**62 - 57)),
    ((10, 20, 30, 40), Fraction(2**31 - 1, 2**35 + 53)),
    ((0, 1, 2), Fraction(1, 1001)),
)
_RATIONALS = (
    *map(Fraction, ["1/2", "3", "7/1009", "1000003/999983", "999/1000", "1001/10007", "10000019/3", "1/1000003"]),
    Fraction(2**31 - 1, 2**35 + 53),
    Fraction(2**46 + 15, 2**45 - 55),
)
_ORDERS = (1.001, 1.5, 2.0, 4.0, 16.0, 64.0)


def check_selection_laws(draws: int = 2000) -> Finding:
    """Compare draws of the three selections with their exact laws, at level 1e-9.

    The words come from seeded streams, so that every run is the same.
    """
    defects: list[tuple[str, str]] = []
    for number, (scores, rate) in enumerate(_CASES):
        given, sampler = np.array(scores, dtype=np.int64), Sampler(number)
        count = min(2, len(scores))
        single = EXPONENTIAL.probabilities(scores, rate), PERMUTE_AND_FLIP.probabilities(scores, rate)
        first, flipped = (dict[tuple[int, ...], float]({(i,): p for i, p in enumerate(law.tolist())}) for law in single)
        samplers: tuple[tuple[str, Callable[[], int | list[int]], dict[tuple[int, ...], float]], ...] = (
            ("exponential mechanism", partial(sampler.select, given, rate), first),
            ("permute-and-flip", partial(sampler.permute_and_flip, given, rate), flipped),
            ("the best two", partial(sampler.select_top, given, rate, count), EXPONENTIAL.top(scores, rate, count)),
        )
        for name, one, law in samplers:
            drawn = Counter(tuple(np.atleast_1d(one()).tolist()) for _ in range(draws))
            observed = np.array([drawn[outcome] for outcome in law], dtype=np.float64)
            p = p_value(observed, draws * np.array(list(law.values()))) if observed.sum() == draws else 0.0
            if p < ALPHA:
                defects.append(("wrong law", f"{name} of {scores} at rate {rate}: p = {p:.1e} over {draws} draws"))
    return finding("laws of selections", f"{len(_CASES)} lists of scores", defects, f"{draws} draws each, given words")


def check_parameters() -> Finding:
    """Check that scores, counts and parameters reach the core's samplers exactly, and that outcomes are returned."""
    defects: list[tuple[str, str]] = []
    few = np.array([3, -5, 2**40, 0, 70], dtype=np.int64)
    count = 0
    for numbers, name, parameter in itertools.product((few, np.arange(5000, dtype=np.int64)), _PRIMITIVES, _RATIONALS):
        count += 1
        outcome = object()
        calls: list[tuple[Any, ...]] = []
        with core_with(**{name: partial(_noted, calls, outcome)}):
            came_back = _PRIMITIVES[name](numbers, parameter) is outcome
        if not came_back or len(calls) != 1:
            defects.append(("wrong law", f"{name} does not return what its sampler drew"))
            continue
        (given,) = calls
        if not np.array_equal(given[0], numbers) or (name == "select_top" and given[3] != 3):
            defects.append(("wrong law", f"{name} draws on other numbers than it was given"))
        elif Fraction(given[1], given[2]) != parameter:
            defects.append(("wrong law", f"{name} draws with {given[1]}/{given[2]} where {parameter} was asked for"))
    return finding("parameters of samplers", "the core", defects, f"{count} calls, numbers and rationals as given")


def _noted(calls: list[tuple[Any, ...]], outcome: object, *given: Any) -> object:
    calls.append(given)
    return outcome


_PRIMITIVES: dict[str, Callable[[NDArray[np.int64], Fraction], Any]] = {
    "add_discrete_gaussian": lambda numbers, variance: Sampler().gaussian(variance)(numbers),
    "add_discrete_laplace": lambda numbers, scale: Sampler().laplace(scale)(numbers),
    "select_exponential": lambda numbers, rate: Sampler().select(numbers, rate),
    "permute_and_flip": lambda numbers, rate: Sampler().permute_and_flip(numbers, rate),
    "select_top": lambda numbers, rate: Sampler().select_top(numbers, rate, 3),
}


def check_selection_loss(runs: Runs) -> Finding:
    """Compare the exact Rényi divergences of the selections on neighbours with their charges.

    The laws follow from the scores and the rate that reached the samplers. A step that costs rho may lose at most
    order * rho at every order; the log ratios of a step that costs epsilon are at most epsilon.
    """
    defects: list[tuple[str, str]] = []
    compared = 0
    for pair, one, other in runs.traces:
        if pair.neighbours and not other.diverged and not one.error:
            compared += sum(isinstance(draw.law, Selection) for draw in one.draws)
            defects.extend(_losses(one, other, pair.name, runs.budget.unit == "epsilon"))
    figures = f"{compared} draws, exact at {len(_ORDERS)} orders"
    return finding("loss of selections", runs.subject, defects, figures, exercised=compared)


def _selections(trace: Trace) -> list[list[float]]:
    """Return the probabilities of the outcomes of each selection."""
    return [
        draw.law.outcomes([int(score) for score in draw.private], draw.parameter, draw.outcome)
        for draw in trace.draws
        if isinstance(draw.law, Selection)
    ]


def _losses(one: Trace, other: Trace, name: str, pure: bool) -> Found:
    draws = list(zip(_selections(one), _selections(other), strict=True))
    charged = float(sum(line.cost for line in one.charges if isinstance(LAWS[line.noise], Selection)))
    for order, turned in itertools.product((math.inf,) if pure else _ORDERS, (False, True)):
        lost = sum(renyi(*(pair[::-1] if turned else pair), order) for pair in draws)
        allowed = charged if pure else order * charged
        if lost > allowed * (1 + 1e-9) + 1e-12:
            yield "score sensitivity", f"tables {name}: loses {lost:.6g} at order {order:g}, {allowed:.6g} is charged"
            return
