"""Limits of arithmetic: entries and counts near the ends of int64, decimal contexts of a caller, odd parameters."""

from __future__ import annotations

import decimal
import itertools
import math
from collections.abc import Callable, Iterator
from fractions import Fraction
from functools import partial
from typing import Any

import numpy as np
from numpy.typing import NDArray
from scipy.sparse import coo_array, csr_array

from pypgm.audit.finding import Finding, finding
from pypgm.audit.laws import NOISES, Noise
from pypgm.audit.pairs import table
from pypgm.audit.samplers import check_chi_square
from pypgm.audit.trace import Draw, observe
from pypgm.domain import Domain
from pypgm.privacy.budget import Budget
from pypgm.privacy.charge import Charge
from pypgm.privacy.l1_selector import l1_distance
from pypgm.privacy.laws import PoissonSample, amplified_epsilon
from pypgm.privacy.ledger import Ledger
from pypgm.privacy.noise import gaussian_threshold, laplace_threshold
from pypgm.privacy.private_table import PrivateTable
from pypgm.privacy.quantiles import rank_scores
from pypgm.privacy.relation import Privacy
from pypgm.privacy.sampler import Sampler
from pypgm.privacy.zcdp import zcdp_delta, zcdp_epsilon, zcdp_rho
from pypgm.queries import Kronecker, LinearQuery, Matrix, Subset, on_lattice

__all__ = ["check_contexts", "check_large_entries", "check_large_scores", "check_large_stated", "check_odd_laws"]

Found = Iterator[tuple[str, str]]
Columns = list[list[int]]

_LIMIT = 1 << 62  # where scores stay


def _large() -> list[tuple[str, Callable[[], LinearQuery], Columns]]:
    """Return queries with large entries, or with entries given twice, and their columns in Python's integers."""
    made: list[tuple[str, Callable[[], LinearQuery], Columns]] = []
    for w in (
        1 << 17,
        1 << 18,
        -(1 << 20),
        1 << 24,
        -(1 << 18),
        1 << 31,
        -(1 << 32),
        1 << 62,
        -(1 << 63),
        (1 << 63) - 1,
    ):
        made.append((f"a subset of weight {w}", partial(Subset, [0], 2, weights=[w]), [[w], [0]]))
        made.append((f"a subset of weights 1 and {w}", partial(Subset, [1, 0], 2, [1, w]), [[0, w], [1, 0]]))
        made.append((f"a matrix of {w}", partial(Matrix, [[w, 1], [w, 0]]), [[w, w], [1, 0]]))
        made.append((f"a sparse matrix of {w}", partial(Matrix, coo_array(([w], ([0], [1])), (1, 2))), [[0], [w]]))
    wide = np.array([[1 << 63]], dtype=np.uint64)
    made.append(("an unsigned matrix", partial(Matrix, wide), [[1 << 63]]))
    w = (1 << 17) - 1
    twice = csr_array((np.array([w, w, 1]), np.array([1, 1, 0]), np.array([0, 3])), shape=(1, 2))
    made.append(("a matrix with an entry given twice", partial(Matrix, twice), [[1], [2 * w]]))
    few = csr_array((np.array([3, -5, 3]), np.array([1, 0, 1]), np.array([0, 3])), shape=(1, 2))
    made.append(("a small matrix with an entry given twice", partial(Matrix, few), [[-5], [6]]))
    made.append(("a product", lambda: Kronecker([Matrix([[1 << 10]])] * 2), [[1 << 20]]))
    made.append(("a long product", lambda: Kronecker([Matrix([[-(1 << 17)]])] * 4), [[1 << 68]]))
    # The squared norm of a column is beyond 2^51, and its opposite is the other one.
    tall = [Matrix([[63, -63]] * 34), Matrix([[63]] * 34), Matrix([[63]] * 34)]
    made.append(("a tall product", lambda: Kronecker(tall), [[63**3] * 34**3, [-(63**3)] * 34**3]))
    made.append(("a fine lattice", lambda: on_lattice([[0.5, -1.0]], 1 << 40), [[1 << 39], [-(1 << 40)]]))
    return made


def check_large_entries() -> Finding:
    """Make queries of entries up to the ends of int64: they are refused, or exact in products and sensitivities."""
    defects: list[tuple[str, str]] = []
    queries = _large()
    for name, make, columns in queries:
        try:
            query = make()
        except (ValueError, OverflowError):
            continue
        if query.is_integer:
            defects.extend(_exact(name, query, columns))
    return finding("large entries", f"{len(queries)} queries", defects, "refused or exact")


def _exact(name: str, query: LinearQuery, columns: Columns) -> Found:
    for cell, column in enumerate(columns):
        unit = np.arange(len(columns)) == cell
        for count in (1, (1 << 44) - 1):
            if [int(answer) for answer in query.matvec(unit.astype(np.int64) * count)] != [count * e for e in column]:
                yield "operator", f"{name}: {count} records in cell {cell} are not answered as its definition says"
    pairs = [[a - b for a, b in zip(x, y, strict=True)] for x in columns for y in columns]
    for norm in (1, 2):
        stated = query.l1_sensitivity if norm == 1 else query.squared_l2_sensitivity
        alone, both = (max(sum(abs(e) ** norm for e in c) for c in steps) for steps in (columns, pairs))
        if stated("add-remove") < alone or stated("replace") < both:
            yield "sensitivity", f"{name}: L{norm} of {stated('add-remove')} and {stated('replace')} are stated"


def check_large_scores() -> Finding:
    """Work out scores of counts up to 2^62 in Python's integers: they are equal, or stay at 2^62."""
    rng = np.random.default_rng(7)
    defects: list[tuple[str, str]] = []
    for bits in (4, 20, 40, 43, 44, 46, 47, 50, 61):
        answers = rng.integers(0, 1 << bits, size=6)
        estimate = rng.integers(0, 1 << 59, size=6)
        true = min(_LIMIT, sum(abs((int(a) << 16) - int(e)) for a, e in zip(answers, estimate, strict=True)))
        if l1_distance(answers, estimate) != true:
            defects.append(
                ("wrong score", f"counts below 2^{bits} are {l1_distance(answers, estimate)} apart, not {true}")
            )
        for quantile in (Fraction(1, 3), Fraction(262_139, 262_140), Fraction(1)):
            counts = answers >> 4
            ranks = rank_scores(np.arange(6.0), counts, quantile, np.array([-1.0, 2.0, 2.5, 9.0])).tolist()
            wanted = [_rank(counts.tolist(), quantile, point) for point in (-1.0, 2.0, 2.5, 9.0)]
            if ranks != wanted:
                defects.append(("wrong score", f"ranks of counts below 2^{bits} for {quantile}: {ranks}, not {wanted}"))
    return finding("large scores", "counts up to 2^61", defects, "equal integers")


def _rank(counts: list[int], quantile: Fraction, point: float) -> int:
    a, b, n = quantile.numerator, quantile.denominator, sum(counts)
    less = sum(c for value, c in enumerate(counts) if value < point)
    more = sum(c for value, c in enumerate(counts) if value > point)
    return -min(_LIMIT, max(0, b * less - a * n, b * more - (b - a) * n))


def check_large_stated() -> Finding:
    """Select and screen by stated scores up to 2^90 that records change by up to 2^50: drawn and charged exactly."""
    defects: list[tuple[str, str]] = []
    sizes = [(3, 0), (31, 20), (45, 22), (58, 33), (61, 40), (90, 50)]
    weights = [Fraction(1, 3), Fraction(1), Fraction(0), Fraction(2, 7)]
    for (bits, change), weighted, k in itertools.product(sizes, (False, True), (1, 3)):
        scores = [(1 << bits) + 7, -(1 << bits) + 1, (1 << bits) // 3, 5 - (1 << bits // 2)]
        given = weights if weighted else None
        where = f"scores of 2^{bits} that change by 2^{change}, {'weighted' if weighted else 'equal'}"
        for grid in (12, 16):
            parts = [max(1, round(w * (1 << grid))) if w else 0 for w in (weights if weighted else [Fraction(1)] * 4)]
            drawn = _drawn(scores, ((1 << change) + 1, given, k), grid == 12)
            if drawn is None:
                defects.append(("no release", f"{where}: nothing is drawn"))
                continue
            draw, line = drawn
            wanted = [part * score for part, score in zip(parts, scores, strict=True)]
            if grid == 12:
                wanted = [max(-_LIMIT, min(_LIMIT, score)) for score in wanted]
                changes = [part * k * ((1 << change) + 1) for part in parts]
                if line.parameters["squared_sensitivity"] < sum(c * c for c in changes):
                    defects.append(("sensitivity", f"{where}: a screen is charged for {line.parameters}"))
            else:
                wanted = [max(score - max(wanted), -_LIMIT) for score in wanted]
                if draw.parameter * (2 * k * ((1 << change) + 1) << grid) > line.parameters["epsilon"]:
                    defects.append(("score sensitivity", f"{where}: drawn at {draw.parameter}, not as charged"))
            private = [int(score) for score in draw.private]
            if (private if grid == 12 else [score - max(private) for score in private]) != wanted:
                defects.append(("wrong score", f"{where}: {private} are drawn, {wanted} by definition"))
    return finding("large stated scores", "selections and screens", defects, f"{8 * len(sizes)} draws, equal integers")


def _drawn(scores: list[int], stated: tuple[int, Any, int], screen: bool) -> tuple[Draw, Charge] | None:
    """Select or screen by scores that are stated to change by an amount; return the draw and its line, if any."""
    sensitivity, weights, k = stated
    attributes = [f"x{i}" for i in range(len(scores))]

    def mechanism(data: Any, budget: Budget, privacy: Privacy) -> Any:
        private_table = PrivateTable(data, privacy, Ledger(budget))
        selector = private_table.selector([(a,) for a in attributes], lambda i, _: scores[i], sensitivity=sensitivity)
        if screen:
            return selector.screen(rho=(sensitivity * k) ** 2 << 24, weights=weights)
        return selector.select(epsilon=4 * sensitivity * k, weights=weights)

    data = table(np.zeros((3, len(scores)), dtype=np.int64), Domain(attributes, [1] * len(scores)))
    trace = observe(mechanism, data, Budget(rho=1 << 200), Privacy(records_per_person=k))
    return None if trace.error else (trace.draws[0], trace.charges[0])


def check_contexts() -> Finding:
    """Convert and bound under decimal contexts that a caller may have set: nothing may come out differently."""
    asks: dict[str, Callable[[], Any]] = {
        "zcdp_delta": lambda: zcdp_delta("0.05", "1.472"),
        "zcdp_epsilon": lambda: zcdp_epsilon("0.05", "1e-6"),
        "zcdp_rho": lambda: zcdp_rho(1, "1e-6"),
        "laplace_threshold": lambda: laplace_threshold(Fraction(70, 3), Fraction(1, 10**6)),
        "gaussian_threshold": lambda: gaussian_threshold(Fraction(700), Fraction(1, 10**6)),
        "amplified_epsilon": lambda: amplified_epsilon(Fraction(1, 7), Fraction(3)),
    }
    contexts = [
        decimal.Context(prec=p, rounding=r, traps=[]) for p, r in ((1, decimal.ROUND_DOWN), (6, decimal.ROUND_UP))
    ]
    defects = []
    for name, ask in asks.items():
        plain = ask()
        for context in contexts:
            with decimal.localcontext(context):
                other = ask()
            if other != plain:
                defects.append(("accounting", f"{name} gives {other} with {context.prec} digits, and {plain} without"))
    return finding("decimal contexts", ", ".join(asks), defects, f"{len(contexts)} contexts of a caller change nothing")


_ODD = tuple(Fraction(n, d) for n, d in [(3001, 10007), (1000003, 999983), (123457, 10009), (7 * 10**6 + 1, 3 * 10**5)])


def check_odd_laws(draws: int = 30_000) -> Finding:
    """Draw noise of odd rational parameters and odd coins from given words, and compare them with their laws."""
    defects: list[tuple[str, str]] = []
    for number, scale in enumerate(_ODD):
        for law in NOISES:
            wide = _seeded(Sampler(number), law, Fraction(1 << 23), 1000)
            if np.unique(wide).size < 0.99 * wide.size:
                defects.append(("shared stream", f"{law.short} noise of scale 2^23 repeats itself in 1000 draws"))
            sampler = Sampler(number)
            result = check_chi_square(law, scale, draws, partial(_seeded, sampler))
            defects += [(name, f"{law.short} of {scale}: {result.detail}") for name in result.defects]
        rate = min(scale, 1 / scale)
        kept = int(PoissonSample(rate, 1).kept(draws, Sampler(number)).sum())
        if abs(kept - draws * rate) > 7 * math.sqrt(draws * rate * (1 - rate)):
            defects.append(("wrong law", f"coins of {rate} keep {kept} of {draws}"))
    return finding(
        "odd parameters", "noise and coins", defects, f"{(len(NOISES) + 1) * len(_ODD)} laws, {draws} draws each"
    )


def _seeded(sampler: Sampler, law: Noise, scale: Fraction, n: int) -> NDArray[np.int64]:
    return getattr(sampler, law.short)(scale**law.power)(np.zeros(n, dtype=np.int64))
