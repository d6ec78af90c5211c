"""Samplers, selections and steps that draw, charge or round wrongly in one place."""

from __future__ import annotations

from checks.roundings import check_roundings
from mutate import at
from operators import as_given, no_factor, one_case, other_extreme, put
from selfcheck.roundings import check_amplification, check_tails

from mutants.answers import question
from pypgm.audit.selection import check_parameters

MUTANTS = {
    "rates of denominators above 1000 are doubled": at("privacy.sampler:Sampler.select", check_parameters, "wrong law")(
        "rate.numerator", "rate.numerator * (1 + (rate.denominator > 1000))"
    ),
    "permute-and-flip of more than 100 candidates at twice the rate": at(
        "privacy.sampler:Sampler.permute_and_flip", check_parameters, "wrong law"
    )("rate.numerator", "rate.numerator * (1 + (len(scores) > 100))"),
    "the best two at the rate of one": at("privacy.sampler:Sampler.select_top", check_parameters, "wrong law")(
        "rate.numerator", "rate.numerator * count"
    ),
    "a rate is rounded up": at("privacy.noise:drawable_rate", check_roundings, "rounding")(
        put("drawable += 0 if drawable == rate else Fraction(1, 1 << 40)", after="drawable = ...")
    ),
    "the epsilon of many selections is that of each": at(
        "privacy.access:selection_epsilon", question("selection of three"), "overspent"
    )("exact / count", "exact"),
    "the rho of many selections is that of each": at(
        "privacy.access:selection_epsilon", question("selection of two"), "overspent"
    )("ledger.epsilon_of(exact, count, has_range=has_range)", "ledger.epsilon_of(exact, 1, has_range=has_range)"),
    "scores are drawn without the last": at("privacy.sampler:_scores", check_parameters, "wrong law")(
        "np.ascontiguousarray(scores)", "np.ascontiguousarray(scores[:-1])"
    ),
    "a variance is halved above 64 counts": at("privacy.sampler:Sampler.gaussian", check_parameters, "wrong law")(
        "variance.numerator", "variance.numerator // (1 + (len(counts) > 64))"
    ),
    "a scale above 1000 is a thousand": at("privacy.sampler:Sampler.laplace", check_parameters, "wrong law")(
        "scale.numerator", "min(scale.numerator, 1000 * scale.denominator)"
    ),
    "noise falls on counts that are cut off below 0": at("privacy.sampler:_counts", check_parameters, "wrong law")(
        "np.ascontiguousarray(counts)", "np.ascontiguousarray(counts.clip(0))"
    ),
    "a noise parameter is rounded down": at("privacy.rational:round_up", check_roundings, "rounding")(
        "-(-value.numerator * (1 << places) // value.denominator)",
        "max(1, value.numerator * (1 << places) // value.denominator)",
    ),
    "a rate is rounded to the nearest": at("privacy.rational:round_down", check_roundings, "rounding")(
        "value.numerator * (1 << places) // value.denominator",
        "(2 * value.numerator * (1 << places) // value.denominator + 1) // 2",
    ),
    "a root is rounded up": at("privacy.rational:isqrt_down", check_roundings, "rounding")(
        "math.isqrt(math.floor(value / unit ** 2))", "math.isqrt(math.floor(value / unit ** 2)) + 1"
    ),
    "significant bits are rounded up": at("privacy.rational:significant_down", check_roundings, "rounding")(
        "value // unit", "-(-value // unit)"
    ),
    "a scale is drawn by the bits of a variance": at("privacy.noise:drawable_scale", check_roundings, "rounding")(
        "round_up(_positive('scale', scale), _core.SCALE_BITS)",
        "_positive('scale', scale).limit_denominator((1 << 40) - 1)",
    ),
    "amplification is that of small epsilons": at("privacy.laws:amplified_epsilon", check_amplification, "accounting")(
        "as_decimal(epsilon).exp() - 1", "as_decimal(epsilon)"
    ),
    "an amplified epsilon is rounded down": at("privacy.laws:amplified_epsilon", check_amplification, "accounting")(
        "inside.ln() * (1 + Decimal('1e-20')) + Decimal('1e-40')", "inside.ln() * (1 - Decimal('1e-15'))"
    ),
    "large epsilons of a sample are amplified twice": at(
        "privacy.laws:amplified_epsilon", check_amplification, "accounting"
    )(put("upper = upper * as_decimal(rate) if epsilon > 4 else upper", before="min(...)")),
    "the threshold of Gaussian noise is one too low": at("privacy.noise:gaussian_threshold", check_tails, "accounting")(
        "return high", "return max(1, high - 1 - high // 8)"
    ),
    "the threshold of Gaussian noise takes sigma for its square": at(
        "privacy.noise:gaussian_threshold", check_tails, "accounting"
    )("as_decimal(variance)", "as_decimal(variance).sqrt()"),
    "the threshold of Laplace noise is rounded down": at("privacy.noise:laplace_threshold", check_tails, "accounting")(
        other_extreme(1)
    ),
    "the range of scores is that of add-remove": at(
        "privacy.relation:Privacy.l1_score_range", question("selection"), "score sensitivity"
    )(no_factor(2)),
    "scores change in one direction alone": at(
        "privacy.relation:Privacy.l1_score_range", question("selection"), "score sensitivity"
    )(no_factor(3)),
    "the range of scores forgets the records per person": at(
        "privacy.relation:Privacy.l1_score_range", question("permute-and-flip"), "score sensitivity"
    )(no_factor()),
    "the range of scores counts three records per person at most": at(
        "privacy.relation:Privacy.l1_score_range", question("selection"), "score sensitivity"
    )("self.records_per_person", "min(3, self.records_per_person)"),
    "ranks change in one direction alone": at(
        "privacy.relation:Privacy.quantile_score_range", question("quantiles"), "score sensitivity"
    )(no_factor(3)),
    "ranks under replace change as under add-remove": at(
        "privacy.relation:Privacy.quantile_score_range", question("quantiles"), "score sensitivity"
    )(one_case()),
    "ranks change by the quantile's numerator": at(
        "privacy.relation:Privacy.quantile_score_range", question("quantiles"), "score sensitivity"
    )("max(a, b - a)", "a or b"),
    "ranks forget the records per person": at(
        "privacy.relation:Privacy.quantile_score_range", question("quantiles"), "score sensitivity"
    )(no_factor()),
    "the grid of scores is finer than the rate": at(
        "privacy.selector:_STEPS", question("selection"), "score sensitivity"
    )("1 << GRID_BITS", "1 << (GRID_BITS - 1)"),
    "the best two are charged once": at(
        "privacy.selector:Selector.select_top", question("selection of two"), "uncharged draw"
    )("len(chosen) - count", "len(chosen) - 1"),
    "permute-and-flip is charged by its range": at(
        "privacy.selector:Selector.permute_and_flip", question("permute-and-flip"), "uncharged draw"
    )(
        "ledger.charge('select', self._on(len(chosen)), law)",
        "ledger.charge('select', self._on(len(chosen)), Exponential(law.epsilon, law.score_range))",
    ),
    "running sums are compared": at(
        "privacy.l1_selector:L1Selector._checked_query", question("selection among running sums"), "score sensitivity"
    )("X.has_unit_columns", "X.is_non_negative"),
    "scores are sums of differences": at("privacy.l1_selector:l1_distance", question("selection"), "wrong score")(
        as_given(2)
    ),
    "estimates are rounded down to the grid": at("privacy.l1_selector:on_grid", question("selection"), "wrong score")(
        "np.rint", "np.floor"
    ),
    "all scores are those of the first candidate": at(
        "privacy.selector:Selector._weighted", question("permute-and-flip, odd epsilon"), "wrong score"
    )("now.scores[chosen]", "now.scores[[chosen[0]] * len(chosen)]"),
    "a product with one query of pypgm is believed": at(
        "privacy.trusted_query:_copied", question("a product that lies"), "sensitivity"
    )("_copied(part)", "_copied(part) or (part if make is Kronecker else None)"),
    "a union with one query of pypgm is believed": at(
        "privacy.trusted_query:_copied", question("a union that lies"), "sensitivity"
    )("_copied(part)", "_copied(part) or (part if make is Union else None)"),
    "subclasses are believed": at("privacy.trusted_query:_copied", question("a query that lies"), "sensitivity")(
        "any(X)", "issubclass(make, BUILT_IN)"
    ),
    "a float is its binary value": at("_base.numeric:as_fraction", check_roundings, "rounding")(
        "str(value)", "str(value) if isinstance(value, Decimal) else str(Fraction(value))"
    ),
    "the threshold of Laplace noise forgets half of the law": at(
        "privacy.noise:laplace_threshold", check_tails, "accounting"
    )("1 + q", "4 + q"),
}
