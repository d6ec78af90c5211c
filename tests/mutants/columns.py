"""Columns, samples and measurements that charge, hide or end wrongly in one place."""

from __future__ import annotations

from mutate import at
from operators import as_given, no_addend, not_kept, skipped
from selfcheck.closed import check_closed
from selfcheck.columns import check_samples, check_unknown_keys

from mutants.answers import question

MUTANTS = {
    "the threshold of keys forgets the records per person": at(
        "privacy.private_column:_released", check_unknown_keys, "threshold"
    )("count >= threshold", "count >= threshold - access.privacy.records_per_person"),
    "the threshold of keys is lower for more than three records per person": at(
        "privacy.private_column:_released", check_unknown_keys, "threshold"
    )("count >= threshold", "count >= threshold - 4 * (access.privacy.records_per_person > 3)"),
    "keys that reach the threshold exactly or miss it by one": at(
        "privacy.private_column:_released", check_unknown_keys, "threshold"
    )("count >= threshold", "count >= threshold - 1"),
    "keys are released for large noise of either sign": at(
        "privacy.private_column:_released", check_unknown_keys, "noise added outside the sampler"
    )("count >= threshold", "abs(count) >= threshold"),
    "keys come with their counts": at(
        "privacy.private_column:_released", check_unknown_keys, "noise added outside the sampler"
    )(
        "{key: count for key, count in zip(X, Y, strict=True) if Z}",
        "{key: int(counts[X.index(key)]) for key, count in zip(X, Y, strict=True) if Z}",
    ),
    "the delta of a threshold is not charged": at(
        "privacy.access:Access.charge_noise", check_unknown_keys, "threshold"
    )(
        "self.ledger.charge(what, on, law)",
        "self.ledger.charge(what, on, replace(law, threshold=None, records_per_person=None, delta=0))",
    ),
    "more delta is charged than was asked for": at(
        "privacy.private_column:sparse_histogram", check_unknown_keys, "overspent"
    )("fail", "10 * fail", 2),
    "unknown keys under replace are charged as one cell": at(
        "privacy.private_column:sparse_histogram", check_unknown_keys, "wrong relation"
    )("Identity(2)", "Identity(1 + (rho is not None))"),
    "each record counts to its key twice": at("data.sources.tally:Tally.add", check_unknown_keys, "sensitivity")(
        "X.get(key, 0) + count", "X.get(key, 0) + 2 * count"
    ),
    "L1 sensitivities stand for squared L2 ones": at(
        "privacy.laws:DiscreteGaussian.for_query", check_unknown_keys, "lost user bound"
    )(
        "cls(variance, privacy.squared_l2_sensitivity(query), privacy.largest_change(query))",
        "cls(variance, privacy.l1_sensitivity(query), privacy.largest_change(query))",
    ),
    "Gaussian noise is drawn where Laplace noise is charged": at(
        "privacy.laws:DiscreteLaplace.adder", check_unknown_keys, "scale differs from the charge"
    )("sampler.laplace", "sampler.gaussian"),
    "a quarter of the variance is drawn": at(
        "privacy.laws:DiscreteGaussian.adder", check_unknown_keys, "scale differs from the charge"
    )("self.variance", "self.variance / 4"),
    "samples under replace": at("privacy.private_table:PrivateTable.subsample", check_samples, "wrong relation")(
        "self._privacy.total_is_public", "False"
    ),
    "samples of several records per person": at(
        "privacy.private_table:PrivateTable.subsample", check_samples, "lost user bound"
    )("self._privacy.records_per_person != 1", "False"),
    "a sample spends twice what is charged": at(
        "privacy.private_table:PrivateTable.subsample", check_samples, "wrong charge"
    )("inner.budget.limit", "inner.budget.limit / 2"),
    "more records are kept than the rate says": at(
        "privacy.private_table:PrivateTable.__sampled", check_samples, "scale differs from the charge"
    )("law.kept", "PoissonSample((1 + law.rate) / 2, 1).kept"),
    "a sample is the whole table": at(
        "privacy.private_table:PrivateTable.subsample", check_samples, "answer of another table"
    )("self.__sampled(law)", "self.__records()"),
    "a sample is the records that were not kept": at(
        "privacy.private_table:PrivateTable.__sampled", check_samples, "answer of another table"
    )("law.kept(data.n_records, self._sampler)", "~law.kept(data.n_records, self._sampler)"),
    "coins of denominators above 1000 are fair": at(
        "privacy.sampler:Sampler.coins", check_samples, "scale differs from the charge"
    )(
        "the_observer().core.flip_coins(count, probability.numerator, probability.denominator, self.__words)",
        "the_observer().core.flip_coins(count, *((1, "
        "2) if probability.denominator > 1000 else probability.as_integer_ratio()), self.__words)",
    ),
    "totals are charged after the end": at(
        "privacy.private_table:PrivateTable.measure", check_closed, "open after the end"
    )(skipped()),
    "many are charged after the end": at(
        "privacy.private_table:PrivateTable.measure_many", check_closed, "open after the end"
    )(skipped()),
    "samples outlive their table": at(
        "privacy.private_table:PrivateTable.subsample", check_closed, "open after the end"
    )("self.__views.add(sample)", "len(self.__views)"),
    "views outlive their table": at("privacy.private_table:PrivateTable.close", check_closed, "open after the end")(
        "view.close()", "hash(view)"
    ),
    "scores survive the end": at("privacy.selector:Selector.close", check_closed, "open after the end")(not_kept()),
    "counts survive the end": at("privacy.selector:Selector.close", check_closed, "open after the end")(not_kept(1)),
    "counts of cells survive the end": at(
        "privacy.cell_selector:CellSelector.close", check_closed, "open after the end"
    )(not_kept()),
    "selections are charged after the end": at(
        "privacy.selector:Selector._checked", check_closed, "open after the end"
    )("self._access.is_closed()", "not self._now.candidates"),
    "columns are charged after the end": at(
        "privacy.private_column:PrivateColumn.__check_open", check_closed, "open after the end"
    )("self.__values.check_open()", "len(self.__values.levels)"),
    "a closed table keeps its records": at(
        "privacy.private_table:PrivateTable.close", check_closed, "open after the end"
    )("data, self.__data = X, None", "data = X"),
    "bounds are those of the counts": at("privacy.quantiles:private_bounds", question("bounds"), "private state kept")(
        "noisy >= noise.law.reach(Fraction(1, 1000 * cells))",
        "_cell_counts(access, points) >= noise.law.reach(Fraction(1, 1000 * cells))",
    ),
    "nulls are no cell": at("privacy.quantiles:private_bounds", question("bounds of one cell, pure"), "wrong relation")(
        no_addend(1)
    ),
    "each record counts to its cell twice": at(
        "privacy.quantiles:_cell_counts", question("bounds beside nulls"), "sensitivity"
    )("counts", "2 * counts", 1),
    "one quantile is charged for all": at(
        "privacy.quantiles:private_quantiles", question("quantiles"), "uncharged draw"
    )("zip(wanted, laws, strict=True)", "[(wanted[0], laws[0])]"),
    "the cost of all quantiles is that of each": at("privacy.quantiles:_shares", question("quantiles"), "overspent")(
        "selection_epsilon(ledger, rho, epsilon, count)", "selection_epsilon(ledger, rho, epsilon)"
    ),
    "quantiles are drawn at each other's rates": at(
        "privacy.quantiles:_drawn", question("quantiles"), "score sensitivity"
    )("laws", "laws[::-1]"),
    "quantiles after the first are exact": at(
        "privacy.quantiles:_drawn", question("quantiles"), "noise from elsewhere"
    )(
        "points[law.draw(rank_scores(numbers, counts, q, points), access.sampler)]",
        "points[law.draw(rank_scores(numbers, counts, q, points), "
        "access.sampler)] if q == wanted[0] else points[int(np.argmax(rank_scores(numbers, counts, q, points)))]",
    ),
    "points between quantiles have scores above 0": at(
        "privacy.quantiles:rank_scores", question("quantiles"), "wrong score"
    )(as_given(7)),
    "equal records lie below a point": at(
        "privacy.quantiles:rank_scores", question("quantiles, odd epsilon"), "wrong score"
    )("np.searchsorted(numbers, points, side='left')", "np.searchsorted(numbers, points, side='right')"),
    "a rho buys half its variance": at("privacy.ledger:Ledger.variance_of", question("cells"), "overspent")(
        "2 * exact", "4 * exact"
    ),
    "L1 sensitivities are those of add-remove": at(
        "privacy.laws:DiscreteLaplace.for_query", question("cells, pure"), "wrong relation"
    )("privacy.l1_sensitivity(query)", "query.l1_sensitivity('add-remove') * privacy.records_per_person"),
    "all of many have the noise of the first": at(
        "privacy.private_table:PrivateTable.__noisy", question("many, weighted"), "scale differs from the charge"
    )("noises[i]", "noises[0]"),
    "the largest change is that of one record": at(
        "privacy.laws:DiscreteGaussian.for_query", question("cells"), "sensitivity"
    )(
        "cls(variance, privacy.squared_l2_sensitivity(query), privacy.largest_change(query))",
        "cls(variance, privacy.squared_l2_sensitivity(query), query.largest_change(privacy.neighbours))",
    ),
    "counts are handed to a query of one's own": at(
        "privacy.private_table:PrivateTable.measure", question("products that lie"), "lost user bound"
    )(
        "_answers(done, next(access.count([attributes])))",
        "(query or done).matvec(next(access.count([attributes]))).astype(np.int64, copy=False)",
    ),
    "permute-and-flip is asked for by its range": at(
        "privacy.selector:Selector.permute_and_flip", question("permute-and-flip"), "overspent"
    )(
        "selection_epsilon(ledger, rho, epsilon, has_range=False)",
        "selection_epsilon(ledger, rho, epsilon, has_range=True)",
    ),
    "a lattice has the noise of its unit": at(
        "privacy.private_table:measure_real", question("on a lattice"), "overspent"
    )(
        "table.measure(clique, on_lattice(matrix, lattice), rho=rho, variance=variance, scale=scale)",
        "table.measure(clique, on_lattice(matrix, lattice), "
        "variance=table.privacy.squared_l2_sensitivity(on_lattice(matrix, 1)) / (2 * rho))",
    ),
}
