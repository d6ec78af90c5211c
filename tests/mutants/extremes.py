"""Arithmetic that wraps, follows a caller's context or draws from given words, in one place."""

from __future__ import annotations

from functools import partial

from checks.extremes import check_contexts, check_large_entries, check_large_scores, check_odd_laws
from mutate import Mutant
from operators import instead, one_case
from selfcheck.columns import check_samples
from selfcheck.steps import check_asked

from pypgm.audit.selection import check_parameters

cells, pure_cells, selection, quantiles = (
    partial(check_asked, [name]) for name in ("cells", "cells, pure", "selection", "quantiles")
)

_PLACES = [
    # name, module of pypgm, old, new, check, defect
    (
        "negative entries of a matrix have no limit",
        "queries.entries",
        "_check_limit",
        one_case(1),
        check_large_entries,
        "operator",
    ),
    (
        "entries of a product have no limit",
        "queries.kronecker",
        "Kronecker.__init__",
        instead(
            "math.prod((f._largest_change('add-remove') for f in own)) >= ENTRY_LIMIT",
            "math.prod((f._largest_change('add-remove') for f in own)) < 0",
        ),
        check_large_entries,
        "operator",
    ),
    (
        "scores of large counts wrap",
        "privacy.l1_selector",
        "_COUNT_LIMIT = 1 << 44",
        "_COUNT_LIMIT = 1 << 63",
        check_large_scores,
        "wrong score",
    ),
    (
        "ranks of large counts wrap",
        "privacy.quantiles",
        "rank_scores",
        instead("np.concatenate([[0], np.cumsum(counts)]).astype(object)", "np.concatenate([[0], np.cumsum(counts)])"),
        check_large_scores,
        "wrong score",
    ),
    (
        "scores stay below 2^31",
        "privacy.l1_selector",
        "l1_distance",
        instead("SCORE_LIMIT", "1 << 31"),
        check_large_scores,
        "wrong score",
    ),
    (
        "a caller's decimal context is used",
        "privacy.thresholds",
        "@with_own_digits\ndef laplace_threshold",
        "@lambda f: __import__('functools').wraps(f)(lambda *a, **k: f(*a, **k))\ndef laplace_threshold",
        check_contexts,
        "accounting",
    ),
    (
        "Gaussian noise is drawn from the law of Laplace",
        "privacy.sampler",
        "Sampler.gaussian",
        instead("the_observer().core.add_discrete_gaussian", "the_observer().core.add_discrete_laplace"),
        check_odd_laws,
        "wrong law",
    ),
    (
        "Laplace noise is drawn from the law of Gauss",
        "privacy.sampler",
        "Sampler.laplace",
        instead("the_observer().core.add_discrete_laplace", "the_observer().core.add_discrete_gaussian"),
        check_parameters,
        "wrong law",
    ),
    (
        "all counts get the same Gaussian draw",
        "privacy.sampler",
        "return lambda counts: the_observer().core.add_discrete_gaussian(\n"
        "            _counts(counts), variance.numerator,",
        "return lambda counts: counts + the_observer().core.add_discrete_gaussian(\n"
        "            np.zeros(1, dtype=np.int64), variance.numerator,",
        check_odd_laws,
        "wrong law",
    ),
    (
        "the second half of the counts are those of the first",
        "privacy.sampler",
        "variance.denominator, self.__words, self._n_threads\n        )",
        "variance.denominator, self.__words, self._n_threads\n"
        "        )[np.arange(len(counts)) % max(1, len(counts) // 2)]",
        check_odd_laws,
        "shared stream",
    ),
    (
        "coins fall for at least one in five",
        "privacy.sampler",
        "Sampler.coins",
        instead("probability.numerator", "max(probability.numerator, probability.denominator // 5)"),
        check_odd_laws,
        "wrong law",
    ),
    (
        "noise is drawn from given words by default",
        "privacy.sampler",
        "    if seed is None:\n        return None\n",
        "    if seed is None:\n        return _core.SeededWords(7)\n",
        cells,
        "seeded by default",
    ),
    (
        "selections are drawn from given words",
        "privacy.selector",
        "return [int(chosen[law.draw(fitted(self._weighted(now, chosen, weighing)), sampler, steps=_STEPS)])]",
        "sampler = type(sampler)(7)\n"
        "                return [int(chosen[law.draw(fitted(self._weighted(now, chosen, weighing)), sampler, "
        "steps=_STEPS)])]",
        selection,
        "seeded by default",
    ),
    (
        "quantiles are drawn from given words",
        "privacy.quantiles",
        "_drawn",
        instead("access.sampler", "type(access.sampler)(7)"),
        quantiles,
        "seeded by default",
    ),
    (
        "noise of measurements is drawn from given words",
        "privacy.laws",
        "DiscreteLaplace.adder",
        instead("sampler", "type(sampler)(7)"),
        pure_cells,
        "seeded by default",
    ),
    (
        "coins are flipped with given words",
        "privacy.sampler",
        "Sampler.coins",
        instead("self.__words", "_core.SeededWords(7)"),
        check_samples,
        "seeded by default",
    ),
    (
        "words stand for a seed alone, not for its lack",
        "privacy.private_table",
        "PrivateTable.__sampled",
        instead("self._sampler", "Sampler(0)"),
        check_samples,
        "seeded by default",
    ),
]

MUTANTS = [Mutant(n, f"pypgm.{home}", old, new, check, defect) for n, home, old, new, check, defect in _PLACES]
