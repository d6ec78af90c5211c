"""Columns, samples and measurements that charge, hide or end wrongly in one place."""

from __future__ import annotations

from functools import partial

from mutate import Mutant
from operators import as_given, instead, no_addend, not_kept, skipped
from selfcheck.closed import check_closed
from selfcheck.columns import check_samples, check_unknown_keys
from selfcheck.steps import check_asked

_KEYS = [
    # name, module of pypgm.privacy, old, new, defect
    (
        "the threshold of keys forgets the records per person",
        "unknown_keys",
        "_released",
        instead("count >= threshold", "count >= threshold - access.privacy.records_per_person"),
        "threshold",
    ),
    (
        "the threshold of keys is lower for more than three records per person",
        "unknown_keys",
        "_released",
        instead("count >= threshold", "count >= threshold - 4 * (access.privacy.records_per_person > 3)"),
        "threshold",
    ),
    (
        "keys that reach the threshold exactly or miss it by one",
        "unknown_keys",
        "_released",
        instead("count >= threshold", "count >= threshold - 1"),
        "threshold",
    ),
    (
        "keys are released for large noise of either sign",
        "unknown_keys",
        "_released",
        instead("count >= threshold", "abs(count) >= threshold"),
        "noise added outside the sampler",
    ),
    (
        "keys come with their counts",
        "unknown_keys",
        "_released",
        instead("int(count)", "found[key]"),
        "noise added outside the sampler",
    ),
    (
        "the delta of a threshold is not charged",
        "access",
        "Access.charge_noise",
        instead(
            "self.ledger.charge(what, on, law)",
            "self.ledger.charge(what, on, replace(law, threshold=None, records_per_person=None, delta=0))",
        ),
        "threshold",
    ),
    (
        "more delta is charged than was asked for",
        "unknown_keys",
        "sparse_histogram",
        instead("fail", "10 * fail", 2),
        "overspent",
    ),
    (
        "unknown keys under replace are charged as one cell",
        "unknown_keys",
        "sparse_histogram",
        instead("Identity(2)", "Identity(1 + (rho is not None))"),
        "wrong relation",
    ),
    (
        "each record counts to its key twice",
        "private_column",
        "PrivateColumn.__keys",
        instead("found.get(key, 0) + count", "found.get(key, 0) + 2 * count"),
        "sensitivity",
    ),
    (
        "L1 sensitivities stand for squared L2 ones",
        "access",
        "Access._law",
        instead(
            "DiscreteGaussian(s, relation.squared_l2_sensitivity(query), relation.largest_change(query))",
            "DiscreteGaussian(s, relation.l1_sensitivity(query), relation.largest_change(query))",
        ),
        "lost user bound",
    ),
    (
        "Gaussian noise is drawn where Laplace noise is charged",
        "laws",
        "DiscreteLaplace.adder",
        instead("sampler.laplace", "sampler.gaussian"),
        "scale differs from the charge",
    ),
    (
        "a quarter of the variance is drawn",
        "laws",
        "DiscreteGaussian.adder",
        instead("self.variance", "self.variance / 4"),
        "scale differs from the charge",
    ),
]

_SAMPLES = [
    (
        "samples under replace",
        "private_table",
        "PrivateTable.subsample",
        instead("self._privacy.total_is_public", "False"),
        "wrong relation",
    ),
    (
        "samples of several records per person",
        "private_table",
        "PrivateTable.subsample",
        instead("self._privacy.records_per_person != 1", "False"),
        "lost user bound",
    ),
    (
        "a sample spends twice what is charged",
        "private_table",
        "PrivateTable.subsample",
        instead("inner.budget.limit", "inner.budget.limit / 2"),
        "wrong charge",
    ),
    (
        "more records are kept than the rate says",
        "private_table",
        "PrivateTable.__sampled",
        instead("law.kept", "PoissonSample((1 + law.rate) / 2, 1).kept"),
        "scale differs from the charge",
    ),
    (
        "a sample is the whole table",
        "private_table",
        "PrivateTable.subsample",
        instead("self.__sampled(law)", "self.__records()"),
        "answer of another table",
    ),
    (
        "a sample is the records that were not kept",
        "private_table",
        "PrivateTable.__sampled",
        instead("law.kept(data.n_records, self._sampler)", "~law.kept(data.n_records, self._sampler)"),
        "answer of another table",
    ),
    (
        "coins of denominators above 1000 are fair",
        "sampler",
        "Sampler.coins",
        instead(
            "the_observer().core.flip_coins(count, probability.numerator, probability.denominator, self.__words)",
            "the_observer().core.flip_coins(count, *((1, 2) if probability.denominator > 1000 else "
            "probability.as_integer_ratio()), self.__words)",
        ),
        "scale differs from the charge",
    ),
]

_ENDS = [
    (
        "totals are charged after the end",
        "private_table",
        "PrivateTable.measure",
        skipped(),
    ),
    (
        "many are charged after the end",
        "private_table",
        "PrivateTable.measure_many",
        skipped(),
    ),
    (
        "samples outlive their table",
        "private_table",
        "PrivateTable.subsample",
        instead("self.__views.add(sample)", "len(self.__views)"),
    ),
    ("views outlive their table", "private_table", "PrivateTable.close", instead("view.close()", "hash(view)")),
    ("scores survive the end", "selector", "Selector.close", not_kept()),
    ("counts survive the end", "selector", "Selector.close", not_kept(1)),
    (
        "counts of cells survive the end",
        "cell_selector",
        "CellSelector.close",
        not_kept(),
    ),
    (
        "selections are charged after the end",
        "selector",
        "Selector._checked",
        instead("self._access.is_closed()", "not self._now.candidates"),
    ),
    (
        "columns are charged after the end",
        "private_column",
        "PrivateColumn.__check_open",
        instead("self.__values.check_open()", "len(self.__values.levels)"),
    ),
    (
        "a closed table keeps its records",
        "private_table",
        "PrivateTable.close",
        not_kept(),
    ),
]

_ASKED = [
    # name, module, old, new, what is asked, defect
    (
        "bounds are those of the counts",
        "quantiles",
        "private_bounds",
        instead(
            "noisy >= noise.law.reach(Fraction(1, 1000 * cells))",
            "_cell_counts(access, points) >= noise.law.reach(Fraction(1, 1000 * cells))",
        ),
        "bounds",
        "private state kept",
    ),
    (
        "nulls are no cell",
        "quantiles",
        "private_bounds",
        no_addend(1),
        "bounds of one cell, pure",
        "wrong relation",
    ),
    (
        "each record counts to its cell twice",
        "quantiles",
        "_cell_counts",
        instead("counts", "2 * counts", 1),
        "bounds beside nulls",
        "sensitivity",
    ),
    (
        "one quantile is charged for all",
        "quantiles",
        "private_quantiles",
        instead("zip(wanted, laws, strict=True)", "[(wanted[0], laws[0])]"),
        "quantiles",
        "uncharged draw",
    ),
    (
        "the cost of all quantiles is that of each",
        "quantiles",
        "private_quantiles",
        instead("selection_epsilon(rho, epsilon, 8, count)", "selection_epsilon(rho, epsilon, 8)"),
        "quantiles",
        "overspent",
    ),
    (
        "quantiles are drawn at each other's rates",
        "quantiles",
        "_drawn",
        instead("laws", "laws[::-1]"),
        "quantiles",
        "score sensitivity",
    ),
    (
        "quantiles after the first are exact",
        "quantiles",
        "_drawn",
        instead(
            "points[law.draw(rank_scores(numbers, counts, q, points), access.sampler)]",
            "points[law.draw(rank_scores(numbers, counts, q, points), access.sampler)] if q == "
            "wanted[0] else points[int(np.argmax(rank_scores(numbers, counts, q, points)))]",
        ),
        "quantiles",
        "noise from elsewhere",
    ),
    (
        "points between quantiles have scores above 0",
        "quantiles",
        "rank_scores",
        as_given(7),
        "quantiles",
        "wrong score",
    ),
    (
        "equal records lie below a point",
        "quantiles",
        "rank_scores",
        instead("np.searchsorted(numbers, points, side='left')", "np.searchsorted(numbers, points, side='right')"),
        "quantiles, odd epsilon",
        "wrong score",
    ),
    (
        "a rho buys half its variance",
        "access",
        "_variance_of",
        instead("2 * exact", "4 * exact"),
        "cells",
        "overspent",
    ),
    (
        "L1 sensitivities are those of add-remove",
        "access",
        "Access._law",
        instead("relation.l1_sensitivity(query)", "query.l1_sensitivity('add-remove') * relation.records_per_person"),
        "cells, pure",
        "wrong relation",
    ),
    (
        "all of many have the noise of the first",
        "private_table",
        "PrivateTable.__noisy",
        instead("noises[i]", "noises[0]"),
        "many, weighted",
        "scale differs from the charge",
    ),
    (
        "the largest change is that of one record",
        "access",
        "Access._law",
        instead(
            "DiscreteGaussian(s, relation.squared_l2_sensitivity(query), relation.largest_change(query))",
            "DiscreteGaussian(s, relation.squared_l2_sensitivity(query), query.largest_change(relation.neighbours))",
        ),
        "cells",
        "sensitivity",
    ),
    (
        "counts are handed to a query of one's own",
        "private_table",
        "PrivateTable.measure",
        instead(
            "_answers(done, next(access.count([attributes])))",
            "_answers(query or done, next(access.count([attributes])))",
        ),
        "products that lie",
        "lost user bound",
    ),
    (
        "permute-and-flip is asked for by its range",
        "selector",
        "Selector.permute_and_flip",
        instead("selection_epsilon(rho, epsilon, 2)", "selection_epsilon(rho, epsilon, 8)"),
        "permute-and-flip",
        "overspent",
    ),
    (
        "a lattice has the noise of its unit",
        "real_queries",
        "measure_real",
        instead(
            "table.measure(clique, on_lattice(matrix, lattice), rho=rho, variance=variance, scale=scale)",
            "table.measure(clique, on_lattice(matrix, lattice), "
            "variance=table.privacy.squared_l2_sensitivity(on_lattice(matrix, 1)) / (2 * rho))",
        ),
        "on a lattice",
        "overspent",
    ),
]

MUTANTS = [
    *(Mutant(n, f"pypgm.privacy.{home}", old, new, check_unknown_keys, defect) for n, home, old, new, defect in _KEYS),
    *(Mutant(n, f"pypgm.privacy.{home}", old, new, check_samples, defect) for n, home, old, new, defect in _SAMPLES),
    *(Mutant(n, f"pypgm.privacy.{home}", old, new, check_closed, "open after the end") for n, home, old, new in _ENDS),
    *(
        Mutant(n, f"pypgm.privacy.{home}", old, new, partial(check_asked, [asked]), defect)
        for n, home, old, new, asked, defect in _ASKED
    ),
]
