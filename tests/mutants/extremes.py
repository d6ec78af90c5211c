"""Arithmetic that wraps, follows a caller's context or draws from given words, in one place."""

from __future__ import annotations

from functools import partial

from checks.extremes import check_contexts, check_large_entries, check_large_scores, check_odd_laws
from mutate import at
from operators import one_case, put
from selfcheck.columns import check_samples
from selfcheck.steps import check_asked

from pypgm.audit.selection import check_parameters

cells, pure_cells, selection, quantiles = (
    partial(check_asked, [name]) for name in ("cells", "cells, pure", "selection", "quantiles")
)

MUTANTS = {
    "negative entries of a matrix have no limit": at("queries.entries:_check_limit", check_large_entries, "operator")(
        one_case(1)
    ),
    "entries of a product have no limit": at("queries.kronecker:Kronecker.__init__", check_large_entries, "operator")(
        "math.prod(X) >= ENTRY_LIMIT", "math.prod(X) < 0"
    ),
    "scores of large counts wrap": at("privacy.l1_selector:_COUNT_LIMIT", check_large_scores, "wrong score")(
        "1 << 44", "1 << 63"
    ),
    "ranks of large counts wrap": at("privacy.quantiles:rank_scores", check_large_scores, "wrong score")(
        "np.concatenate([[0], np.cumsum(counts)]).astype(object)", "np.concatenate([[0], np.cumsum(counts)])"
    ),
    "scores stay below 2^31": at("privacy.l1_selector:l1_distance", check_large_scores, "wrong score")(
        "SCORE_LIMIT", "1 << 31"
    ),
    "a caller's decimal context is used": at("privacy.noise:laplace_threshold", check_contexts, "accounting")(
        "with_own_digits",
        "lambda f, context=0: __import__('functools').wraps(f)(lambda *a, **k: (context, f(*a, **k))[1])",
    ),
    "Gaussian noise is drawn from the law of Laplace": at(
        "privacy.sampler:Sampler.gaussian", check_odd_laws, "wrong law"
    )("the_observer().core.add_discrete_gaussian", "the_observer().core.add_discrete_laplace"),
    "Laplace noise is drawn from the law of Gauss": at(
        "privacy.sampler:Sampler.laplace", check_parameters, "wrong law"
    )("the_observer().core.add_discrete_laplace", "the_observer().core.add_discrete_gaussian"),
    "all counts get the same Gaussian draw": at("privacy.sampler:Sampler.gaussian", check_odd_laws, "wrong law")(
        "X(_counts(counts), ...)", "counts + X(np.zeros(1, dtype=np.int64), ...)"
    ),
    "the second half of the counts are those of the first": at(
        "privacy.sampler:Sampler.gaussian", check_odd_laws, "shared stream"
    )("lambda counts: X", "lambda counts: X[np.arange(len(counts)) % max(1, len(counts) // 2)]"),
    "coins fall for at least one in five": at("privacy.sampler:Sampler.coins", check_odd_laws, "wrong law")(
        "probability.numerator", "max(probability.numerator, probability.denominator // 5)"
    ),
    "noise is drawn from given words by default": at("privacy.sampler:_unsafe_words", cells, "seeded by default")(
        "return None", "return _core.SeededWords(7)"
    ),
    "selections are drawn from given words": at("privacy.selector:Selector.select_top", selection, "seeded by default")(
        put("sampler = type(sampler)(7)", before="law.draw(...)")
    ),
    "quantiles are drawn from given words": at("privacy.quantiles:_drawn", quantiles, "seeded by default")(
        "access.sampler", "type(access.sampler)(7)"
    ),
    "noise of measurements is drawn from given words": at(
        "privacy.laws:DiscreteLaplace.adder", pure_cells, "seeded by default"
    )("sampler", "type(sampler)(7)"),
    "coins are flipped with given words": at("privacy.sampler:Sampler.coins", check_samples, "seeded by default")(
        "self.__words", "_core.SeededWords(7)"
    ),
    "words stand for a seed alone, not for its lack": at(
        "privacy.private_table:PrivateTable.__sampled", check_samples, "seeded by default"
    )("self._sampler", "Sampler(0)"),
}
