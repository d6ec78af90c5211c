"""Samplers, selections and steps that draw, charge or round wrongly in one place."""

from __future__ import annotations

from functools import cache, partial

from checks.roundings import check_roundings
from mutate import Mutant
from operators import as_given, instead, no_factor, one_case, other_extreme
from selfcheck.roundings import check_amplification, check_tails
from selfcheck.steps import check_asked

from pypgm.audit.selection import check_parameters


@cache
def asked(name):
    """Return the checks of one thing that is asked of a private table."""
    return partial(check_asked, [name])


_PLACES = [
    # name, module of pypgm.privacy, old, new, check, defect
    (
        "rates of denominators above 1000 are doubled",
        "sampler",
        "Sampler.select",
        instead("rate.numerator", "rate.numerator * (1 + (rate.denominator > 1000))"),
        check_parameters,
        "wrong law",
    ),
    (
        "permute-and-flip of more than 100 candidates at twice the rate",
        "sampler",
        "Sampler.permute_and_flip",
        instead("rate.numerator", "rate.numerator * (1 + (len(scores) > 100))"),
        check_parameters,
        "wrong law",
    ),
    (
        "the best two at the rate of one",
        "sampler",
        "Sampler.select_top",
        instead("rate.numerator", "rate.numerator * count"),
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
        "selection_epsilon",
        no_factor(),
        asked("selection of three"),
        "overspent",
    ),
    (
        "the rho of many selections is that of each",
        "selection",
        "selection_epsilon",
        no_factor(1),
        asked("selection of two"),
        "overspent",
    ),
    (
        "scores are drawn without the last",
        "sampler",
        "_scores",
        instead("np.ascontiguousarray(scores)", "np.ascontiguousarray(scores[:-1])"),
        check_parameters,
        "wrong law",
    ),
    (
        "a variance is halved above 64 counts",
        "sampler",
        "Sampler.gaussian",
        instead("variance.numerator", "variance.numerator // (1 + (len(counts) > 64))"),
        check_parameters,
        "wrong law",
    ),
    (
        "a scale above 1000 is a thousand",
        "sampler",
        "Sampler.laplace",
        instead("scale.numerator", "min(scale.numerator, 1000 * scale.denominator)"),
        check_parameters,
        "wrong law",
    ),
    (
        "noise falls on counts that are cut off below 0",
        "sampler",
        "_counts",
        instead("np.ascontiguousarray(counts)", "np.ascontiguousarray(counts.clip(0))"),
        check_parameters,
        "wrong law",
    ),
    (
        "a noise parameter is rounded down",
        "rational",
        "round_up",
        instead(
            "-(-value.numerator * (1 << places) // value.denominator)",
            "max(1, value.numerator * (1 << places) // value.denominator)",
        ),
        check_roundings,
        "rounding",
    ),
    (
        "a rate is rounded to the nearest",
        "rational",
        "round_down",
        instead(
            "value.numerator * (1 << places) // value.denominator",
            "(2 * value.numerator * (1 << places) // value.denominator + 1) // 2",
        ),
        check_roundings,
        "rounding",
    ),
    (
        "a root is rounded up",
        "rational",
        "isqrt_down",
        instead("math.isqrt(math.floor(value / unit ** 2))", "math.isqrt(math.floor(value / unit ** 2)) + 1"),
        check_roundings,
        "rounding",
    ),
    (
        "significant bits are rounded up",
        "rational",
        "significant_down",
        instead("value // unit", "-(-value // unit)"),
        check_roundings,
        "rounding",
    ),
    (
        "a scale is drawn by the bits of a variance",
        "noise",
        "drawable_scale",
        instead(
            "round_up(_positive('scale', scale), _core.SCALE_BITS)",
            "_positive('scale', scale).limit_denominator((1 << 40) - 1)",
        ),
        check_roundings,
        "rounding",
    ),
    (
        "amplification is that of small epsilons",
        "subsampling",
        "amplified_epsilon",
        instead("as_decimal(epsilon).exp() - 1", "as_decimal(epsilon)"),
        check_amplification,
        "accounting",
    ),
    (
        "an amplified epsilon is rounded down",
        "subsampling",
        "amplified_epsilon",
        instead("inside.ln() * (1 + Decimal('1e-20')) + Decimal('1e-40')", "inside.ln() * (1 - Decimal('1e-15'))"),
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
        "gaussian_threshold",
        instead("as_decimal(variance)", "as_decimal(variance).sqrt()"),
        check_tails,
        "accounting",
    ),
    (
        "the threshold of Laplace noise is rounded down",
        "thresholds",
        "laplace_threshold",
        other_extreme(1),
        check_tails,
        "accounting",
    ),
    (
        "the range of scores is that of add-remove",
        "relation",
        "Privacy.l1_score_range",
        no_factor(2),
        asked("selection"),
        "score sensitivity",
    ),
    (
        "scores change in one direction alone",
        "relation",
        "Privacy.l1_score_range",
        no_factor(3),
        asked("selection"),
        "score sensitivity",
    ),
    (
        "the range of scores forgets the records per person",
        "relation",
        "Privacy.l1_score_range",
        no_factor(),
        asked("permute-and-flip"),
        "score sensitivity",
    ),
    (
        "the range of scores counts three records per person at most",
        "relation",
        "Privacy.l1_score_range",
        instead("self.records_per_person", "min(3, self.records_per_person)"),
        asked("selection"),
        "score sensitivity",
    ),
    (
        "ranks change in one direction alone",
        "relation",
        "Privacy.quantile_score_range",
        no_factor(3),
        asked("quantiles"),
        "score sensitivity",
    ),
    (
        "ranks under replace change as under add-remove",
        "relation",
        "Privacy.quantile_score_range",
        one_case(),
        asked("quantiles"),
        "score sensitivity",
    ),
    (
        "ranks change by the quantile's numerator",
        "relation",
        "Privacy.quantile_score_range",
        instead("max(a, b - a)", "a or b"),
        asked("quantiles"),
        "score sensitivity",
    ),
    (
        "ranks forget the records per person",
        "relation",
        "Privacy.quantile_score_range",
        no_factor(),
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
        "Selector.select_top",
        instead("len(chosen) - count", "len(chosen) - 1"),
        asked("selection of two"),
        "uncharged draw",
    ),
    (
        "permute-and-flip is charged by its range",
        "selector",
        "Selector.permute_and_flip",
        instead(
            "self._access.ledger.charge('select', self._on(len(chosen)), law)",
            "self._access.ledger.charge('select', self._on(len(chosen)), Exponential(law.epsilon, law.score_range))",
        ),
        asked("permute-and-flip"),
        "uncharged draw",
    ),
    (
        "running sums are compared",
        "l1_selector",
        "L1Selector._checked_query",
        instead("own.has_unit_columns", "own.is_non_negative"),
        asked("selection among running sums"),
        "score sensitivity",
    ),
    (
        "scores are sums of differences",
        "l1_selector",
        "l1_distance",
        as_given(2),
        asked("selection"),
        "wrong score",
    ),
    (
        "estimates are rounded down to the grid",
        "l1_selector",
        "on_grid",
        instead("np.rint", "np.floor"),
        asked("selection"),
        "wrong score",
    ),
    (
        "all scores are those of the first candidate",
        "selector",
        "Selector._weighted",
        instead("now.scores[chosen]", "now.scores[[chosen[0]] * len(chosen)]"),
        asked("permute-and-flip, odd epsilon"),
        "wrong score",
    ),
    (
        "a product with one query of pypgm is believed",
        "trusted_query",
        "_copied",
        instead("_copied(part)", "_copied(part) or (part if make is Kronecker else None)"),
        asked("a product that lies"),
        "sensitivity",
    ),
    (
        "a union with one query of pypgm is believed",
        "trusted_query",
        "_copied",
        instead("_copied(part)", "_copied(part) or (part if make is Union else None)"),
        asked("a union that lies"),
        "sensitivity",
    ),
    (
        "subclasses are believed",
        "trusted_query",
        "_copied",
        instead("any((make is own for own in BUILT_IN))", "issubclass(make, BUILT_IN)"),
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
        "as_fraction",
        instead("str(value)", "str(value) if isinstance(value, Decimal) else str(Fraction(value))"),
        check_roundings,
        "rounding",
    ),
]
