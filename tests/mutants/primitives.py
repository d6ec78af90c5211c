"""Samplers, selections and steps that draw, charge or round wrongly in one place."""

from __future__ import annotations

from functools import cache, partial

from mutate import Mutant

from pypgm.audit.roundings import check_amplification, check_roundings, check_tails
from pypgm.audit.selection import check_parameters
from pypgm.audit.steps import check_asked


@cache
def asked(name):
    """Return the checks of one thing that is asked of a private table."""
    return partial(check_asked, [name])


_PLACES = [
    # name, module of pypgm.privacy, old, new, check, defect
    (
        "rates of denominators above 1000 are doubled",
        "sampler",
        "core.select_exponential(\n            _scores(scores, rate), rate.numerator,",
        "core.select_exponential(\n"
        "            _scores(scores, rate), rate.numerator * (1 + (rate.denominator > 1000)),",
        check_parameters,
        "wrong law",
    ),
    (
        "permute-and-flip of more than 100 candidates at twice the rate",
        "sampler",
        "core.permute_and_flip(\n            _scores(scores, rate), rate.numerator,",
        "core.permute_and_flip(\n            _scores(scores, rate), rate.numerator * (1 + (len(scores) > 100)),",
        check_parameters,
        "wrong law",
    ),
    (
        "the best two at the rate of one",
        "sampler",
        "core.select_top(given, rate.numerator,",
        "core.select_top(given, rate.numerator * count,",
        check_parameters,
        "wrong law",
    ),
    (
        "a rate is rounded up",
        "selection",
        "drawable = round_down(rate, _core.RATE_BITS)",
        "drawable = round_down(rate, _core.RATE_BITS)\n    drawable += 0 if drawable == rate else Fraction(1, 1 << 40)",
        check_roundings,
        "rounding",
    ),
    (
        "the epsilon of many selections is that of each",
        "selection",
        "return exact / count",
        "return exact",
        asked("selection of three"),
        "overspent",
    ),
    (
        "the rho of many selections is that of each",
        "selection",
        "return isqrt_down(divisor * exact / count, _EPSILON_BITS)",
        "return isqrt_down(divisor * exact, _EPSILON_BITS)",
        asked("selection of two"),
        "overspent",
    ),
    (
        "scores are drawn without the last",
        "sampler",
        "return np.ascontiguousarray(scores)",
        "return np.ascontiguousarray(scores[:-1])",
        check_parameters,
        "wrong law",
    ),
    (
        "a variance is halved above 64 counts",
        "sampler",
        "_counts(counts), variance.numerator,",
        "_counts(counts), variance.numerator // (1 + (len(counts) > 64)),",
        check_parameters,
        "wrong law",
    ),
    (
        "a scale above 1000 is a thousand",
        "sampler",
        "_counts(counts), scale.numerator,",
        "_counts(counts), min(scale.numerator, 1000 * scale.denominator),",
        check_parameters,
        "wrong law",
    ),
    (
        "noise falls on counts that are cut off below 0",
        "sampler",
        "return np.ascontiguousarray(counts)",
        "return np.ascontiguousarray(counts.clip(0))",
        check_parameters,
        "wrong law",
    ),
    (
        "a noise parameter is rounded down",
        "rational",
        "scaled = -(-value.numerator * (1 << places) // value.denominator)",
        "scaled = max(1, value.numerator * (1 << places) // value.denominator)",
        check_roundings,
        "rounding",
    ),
    (
        "a rate is rounded to the nearest",
        "rational",
        "scaled = value.numerator * (1 << places) // value.denominator",
        "scaled = (2 * value.numerator * (1 << places) // value.denominator + 1) // 2",
        check_roundings,
        "rounding",
    ),
    (
        "a root is rounded up",
        "rational",
        "return math.isqrt(math.floor(value / unit**2)) * unit",
        "return (math.isqrt(math.floor(value / unit**2)) + 1) * unit",
        check_roundings,
        "rounding",
    ),
    (
        "significant bits are rounded up",
        "rational",
        "return (value // unit) * unit",
        "return -(-value // unit) * unit",
        check_roundings,
        "rounding",
    ),
    (
        "a scale is drawn by the bits of a variance",
        "noise",
        'return round_up(_positive("scale", scale), _core.SCALE_BITS)',
        'return _positive("scale", scale).limit_denominator((1 << 40) - 1)',
        check_roundings,
        "rounding",
    ),
    (
        "amplification is that of small epsilons",
        "subsampling",
        "inside = 1 + as_decimal(rate) * (as_decimal(epsilon).exp() - 1)",
        "inside = 1 + as_decimal(rate) * as_decimal(epsilon)",
        check_amplification,
        "accounting",
    ),
    (
        "an amplified epsilon is rounded down",
        "subsampling",
        'upper = inside.ln() * (1 + Decimal("1e-20")) + Decimal("1e-40")',
        'upper = inside.ln() * (1 - Decimal("1e-15"))',
        check_amplification,
        "accounting",
    ),
    (
        "large epsilons of a sample are amplified twice",
        "subsampling",
        "    return min(epsilon, round_up(",
        "    upper = upper * as_decimal(rate) if epsilon > 4 else upper\n    return min(epsilon, round_up(",
        check_amplification,
        "accounting",
    ),
    (
        "the threshold of Gaussian noise is one too low",
        "thresholds",
        "    return high\n",
        "    return max(1, high - 1 - high // 8)\n",
        check_tails,
        "accounting",
    ),
    (
        "the threshold of Gaussian noise takes sigma for its square",
        "thresholds",
        "s = as_decimal(variance)",
        "s = as_decimal(variance).sqrt()",
        check_tails,
        "accounting",
    ),
    (
        "the threshold of Laplace noise is rounded down",
        "thresholds",
        "return max(1, math.ceil((excess + MARGIN) * as_decimal(scale)))",
        "return max(1, math.floor((excess + MARGIN) * as_decimal(scale)))",
        check_tails,
        "accounting",
    ),
    (
        "the range of scores is that of add-remove",
        "relation",
        'return 2 * (2 if self.neighbours == "replace" else 1) * self.records_per_person',
        "return 2 * self.records_per_person",
        asked("selection"),
        "score sensitivity",
    ),
    (
        "scores change in one direction alone",
        "relation",
        'return 2 * (2 if self.neighbours == "replace" else 1) * self.records_per_person',
        'return (2 if self.neighbours == "replace" else 1) * self.records_per_person',
        asked("selection"),
        "score sensitivity",
    ),
    (
        "the range of scores forgets the records per person",
        "relation",
        'return 2 * (2 if self.neighbours == "replace" else 1) * self.records_per_person',
        'return 2 * (2 if self.neighbours == "replace" else 1)',
        asked("permute-and-flip"),
        "score sensitivity",
    ),
    (
        "the range of scores counts three records per person at most",
        "relation",
        'return 2 * (2 if self.neighbours == "replace" else 1) * self.records_per_person',
        'return 2 * (2 if self.neighbours == "replace" else 1) * min(3, self.records_per_person)',
        asked("selection"),
        "score sensitivity",
    ),
    (
        "ranks change in one direction alone",
        "relation",
        'return 2 * (max(a, b - a) if self.neighbours == "add-remove" else b)',
        'return (max(a, b - a) if self.neighbours == "add-remove" else b)',
        asked("quantiles"),
        "score sensitivity",
    ),
    (
        "ranks under replace change as under add-remove",
        "relation",
        'return 2 * (max(a, b - a) if self.neighbours == "add-remove" else b)',
        "return 2 * max(a, b - a)",
        asked("quantiles"),
        "score sensitivity",
    ),
    (
        "ranks change by the quantile's numerator",
        "relation",
        'return 2 * (max(a, b - a) if self.neighbours == "add-remove" else b)',
        'return 2 * ((a or b) if self.neighbours == "add-remove" else b)',
        asked("quantiles"),
        "score sensitivity",
    ),
    (
        "ranks forget the records per person",
        "relation",
        'if self.neighbours == "add-remove" else b) * self.records_per_person',
        'if self.neighbours == "add-remove" else b)',
        asked("quantiles"),
        "score sensitivity",
    ),
    (
        "the grid of scores is finer than the rate",
        "selector",
        "_STEPS = 1 << GRID_BITS",
        "_STEPS = 1 << (GRID_BITS - 1)",
        asked("selection"),
        "score sensitivity",
    ),
    (
        "the best two are charged once",
        "selector",
        "for left in range(len(chosen), len(chosen) - count, -1):",
        "for left in range(len(chosen), len(chosen) - 1, -1):",
        asked("selection of two"),
        "uncharged draw",
    ),
    (
        "permute-and-flip is charged by its range",
        "selector",
        'self._access.ledger.charge("select", self._on(len(chosen)), law)\n'
        "        with fixed_errors:\n"
        "            scores",
        'self._access.ledger.charge("select", self._on(len(chosen)), Exponential(law.epsilon, law.score_range))\n'
        "        with fixed_errors:\n"
        "            scores",
        asked("permute-and-flip"),
        "uncharged draw",
    ),
    (
        "running sums are compared",
        "l1_selector",
        "if own is not None and not own.has_unit_columns:",
        "if own is not None and not own.is_non_negative:",
        asked("selection among running sums"),
        "score sensitivity",
    ),
    (
        "scores are sums of differences",
        "l1_selector",
        "return int(np.abs((answers << GRID_BITS) - estimate).sum(dtype=np.int64))",
        "return int(((answers << GRID_BITS) - estimate).sum(dtype=np.int64))",
        asked("selection"),
        "wrong score",
    ),
    (
        "estimates are rounded down to the grid",
        "l1_selector",
        "return np.rint(values * (1 << GRID_BITS)).astype(np.int64)",
        "return np.floor(values * (1 << GRID_BITS)).astype(np.int64)",
        asked("selection"),
        "wrong score",
    ),
    (
        "all scores are those of the first candidate",
        "selector",
        "weighing.applied([now.scores[i] for i in chosen])",
        "weighing.applied([now.scores[chosen[0]] for i in chosen])",
        asked("permute-and-flip, odd epsilon"),
        "wrong score",
    ),
    (
        "a product with one query of pypgm is believed",
        "trusted_query",
        "parts = [_copied(part) for part in arguments[0]]",
        "parts = [_copied(part) or (part if make is Kronecker else None) for part in arguments[0]]",
        asked("a product that lies"),
        "sensitivity",
    ),
    (
        "a union with one query of pypgm is believed",
        "trusted_query",
        "parts = [_copied(part) for part in arguments[0]]",
        "parts = [_copied(part) or (part if make is Union else None) for part in arguments[0]]",
        asked("a union that lies"),
        "sensitivity",
    ),
    (
        "subclasses are believed",
        "trusted_query",
        "if any(make is own for own in BUILT_IN)",
        "if issubclass(make, BUILT_IN)",
        asked("a query that lies"),
        "sensitivity",
    ),
]
MUTANTS = [
    *(
        Mutant(name, f"pypgm.privacy.{home}", old, new, check, defect)
        for name, home, old, new, check, defect in _PLACES
    ),
    Mutant(
        "a float is its binary value",
        "pypgm.numeric",
        "        value = str(value)\n",
        "        value = str(value) if isinstance(value, Decimal) else str(Fraction(value))\n",
        check_roundings,
        "rounding",
    ),
]
