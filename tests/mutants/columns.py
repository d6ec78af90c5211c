"""Columns, samples and measurements that charge, hide or end wrongly in one place."""

from __future__ import annotations

from functools import partial

from mutate import Mutant

from pypgm.audit.columns import check_closed, check_samples, check_unknown_keys
from pypgm.audit.steps import check_asked

_KEYS = [
    # name, module of pypgm.privacy, old, new, defect
    (
        "the threshold of keys forgets the records per person",
        "unknown_keys",
        "if count >= noise.threshold}",
        "if count >= noise.threshold - column.privacy.records_per_person}",
        "threshold",
    ),
    (
        "the threshold of keys is lower for more than three records per person",
        "unknown_keys",
        "if count >= noise.threshold}",
        "if count >= noise.threshold - 4 * (column.privacy.records_per_person > 3)}",
        "threshold",
    ),
    (
        "keys that reach the threshold exactly or miss it by one",
        "unknown_keys",
        "if count >= noise.threshold}",
        "if count >= noise.threshold - 1}",
        "threshold",
    ),
    (
        "keys are released for large noise of either sign",
        "unknown_keys",
        "if count >= noise.threshold}",
        "if abs(count) >= noise.threshold}",
        "noise added outside the sampler",
    ),
    (
        "keys come with their counts",
        "unknown_keys",
        "return {key: int(count) for key, count in zip(found, noisy, strict=True)",
        "return {key: found[key] for key, count in zip(found, noisy, strict=True)",
        "noise added outside the sampler",
    ),
    (
        "the delta of a threshold is not charged",
        "charged_noise",
        'parameters |= {"threshold": Fraction(noise.threshold), "records_per_person": Fraction(k)}',
        "delta = None",
        "threshold",
    ),
    (
        "more delta is charged than was asked for",
        "unknown_keys",
        "variance=variance, delta=fail)",
        "variance=variance, delta=10 * fail)",
        "overspent",
    ),
    (
        "unknown keys under replace are charged as one cell",
        "unknown_keys",
        "column._charge_noise(Identity(2),",
        "column._charge_noise(Identity(1 + (rho is not None)),",
        "wrong relation",
    ),
    (
        "each record counts to its key twice",
        "private_column",
        "found[key] = found.get(key, 0) + count",
        "found[key] = found.get(key, 0) + 2 * count",
        "sensitivity",
    ),
    (
        "L1 sensitivities stand for squared L2 ones",
        "charged_noise",
        '"squared_sensitivity": Fraction(privacy.squared_l2_sensitivity(query))',
        '"squared_sensitivity": Fraction(privacy.l1_sensitivity(query))',
        "lost user bound",
    ),
    (
        "Gaussian noise is drawn where Laplace noise is charged",
        "charged_noise",
        "own.add_discrete_laplace(counts, b, words, n_threads=n_threads)",
        "own.add_discrete_gaussian(counts, b, words, n_threads=n_threads)",
        "scale differs from the charge",
    ),
    (
        "a quarter of the variance is drawn",
        "charged_noise",
        "own.add_discrete_gaussian(counts, s, words, n_threads=n_threads)",
        "own.add_discrete_gaussian(counts, s / 4, words, n_threads=n_threads)",
        "scale differs from the charge",
    ),
]

_SAMPLES = [
    (
        "samples under replace",
        "private_table",
        "if self._privacy != Privacy():",
        "if self._privacy.records_per_person != 1:",
        "wrong relation",
    ),
    (
        "samples of several records per person",
        "private_table",
        "if self._privacy != Privacy():",
        'if self._privacy.neighbours != "add-remove":',
        "lost user bound",
    ),
    (
        "a sample spends twice what is charged",
        "private_table",
        'used = amplified_epsilon(chance, inner.budget.limit)\n        parameters = {"rate": chance, "inner_epsilon": '
        "inner.budget.limit,",
        "half = inner.budget.limit / 2\n        used = amplified_epsilon(chance, half)\n        parameters = "
        '{"rate": chance, "inner_epsilon": half,',
        "wrong charge",
    ),
    (
        "more records are kept than the rate says",
        "private_table",
        "poisson_sample(self.__records(), chance, self._words)",
        "poisson_sample(self.__records(), (1 + chance) / 2, self._words)",
        "scale differs from the charge",
    ),
    (
        "a sample is the whole table",
        "private_table",
        "poisson_sample(self.__records(), chance, self._words)",
        "self.__records()",
        "answer of another table",
    ),
    (
        "a sample is the records that were not kept",
        "subsampling",
        "rate.denominator, words).astype(bool)",
        "rate.denominator, words) == 0",
        "answer of another table",
    ),
    (
        "coins of denominators above 1000 are fair",
        "subsampling",
        "_core.flip_coins(data.n_records, rate.numerator, rate.denominator, words)",
        "_core.flip_coins(data.n_records, *((1, 2) if rate.denominator > 1000 else rate.as_integer_ratio()), words)",
        "scale differs from the charge",
    ),
]

_ENDS = [
    (
        "totals are charged after the end",
        "private_table",
        "trusted_on(self.domain, clique, query)\n        self.__records()  # raises where they are gone\n",
        "trusted_on(self.domain, clique, query)\n",
    ),
    (
        "many are charged after the end",
        "private_table",
        "        self.__records()  # raises where they are gone\n        total",
        "        total",
    ),
    ("samples outlive their table", "private_table", "self.__views.add(sample)", "len(self.__views)"),
    ("views outlive their table", "private_table", "            view.close()", "            hash(view)"),
    ("scores survive the end", "selector", "self._now = Comparison(self._now.by, ", "Comparison(self._now.by, "),
    ("counts survive the end", "selector", "        self.__kept = {}", "        self.__kept = self.__kept"),
    (
        "counts of cells survive the end",
        "cell_selector",
        '        """Forget the counts, as the table does its records."""\n        self.__counts = None',
        '        """Forget the counts, as the table does its records."""',
    ),
    ("selections are charged after the end", "selector", "if self._table.closed:", "if not self._now.candidates:"),
    ("columns are charged after the end", "private_column", "self.__values.check_open()", "len(self.__values.levels)"),
    (
        "a closed table keeps its records",
        "private_table",
        "        self.__data = None\n",
        "        self._n_threads = 1\n",
    ),
]

_ASKED = [
    # name, module, old, new, what is asked, defect
    (
        "bounds are those of the counts",
        "quantiles",
        "filled = np.flatnonzero(noisy >= ",
        "filled = np.flatnonzero(_cell_counts(column, points) >= ",
        "bounds",
        "private state kept",
    ),
    (
        "nulls are no cell",
        "quantiles",
        "charged = Identity(cells + 1)",
        "charged = Identity(cells)",
        "bounds of one cell, pure",
        "wrong relation",
    ),
    (
        "each record counts to its cell twice",
        "quantiles",
        "0, cells - 1), counts)",
        "0, cells - 1), 2 * counts)",
        "bounds beside nulls",
        "sensitivity",
    ),
    (
        "one quantile is charged for all",
        "quantiles",
        "for q, r, e in zip(wanted, ranges, used, strict=True):",
        "for q, r, e in [(wanted[0], ranges[0], used[0])]:",
        "quantiles",
        "uncharged draw",
    ),
    (
        "the cost of all quantiles is that of each",
        "quantiles",
        "share = selection_epsilon(rho, epsilon, 8, count)",
        "share = selection_epsilon(rho, epsilon, 8)",
        "quantiles",
        "overspent",
    ),
    (
        "quantiles are drawn at each other's rates",
        "quantiles",
        "for q, rate in zip(wanted, rates, strict=True)",
        "for q, rate in zip(wanted, rates[::-1], strict=True)",
        "quantiles",
        "score sensitivity",
    ),
    (
        "quantiles after the first are exact",
        "quantiles",
        "points[select_exponential(rank_scores(numbers, counts, q, points), rate, column._words)]",
        "points[select_exponential(rank_scores(numbers, counts, q, points), rate, column._words)]\n"
        "        if q == wanted[0]\n        else points[int(np.argmax(rank_scores(numbers, counts, q, points)))]",
        "quantiles",
        "noise from elsewhere",
    ),
    (
        "points between quantiles have scores above 0",
        "quantiles",
        "away = np.maximum(0, np.maximum(too_many_below, too_many_above))",
        "away = np.maximum(too_many_below, too_many_above)",
        "quantiles",
        "wrong score",
    ),
    (
        "equal records lie below a point",
        "quantiles",
        'less = ranks[np.searchsorted(numbers, points, side="left")]',
        'less = ranks[np.searchsorted(numbers, points, side="right")]',
        "quantiles, odd epsilon",
        "wrong score",
    ),
    (
        "a rho buys half its variance",
        "guarded",
        "variance = self._privacy.squared_l2_sensitivity(query) / (2 * exact)",
        "variance = self._privacy.squared_l2_sensitivity(query) / (4 * exact)",
        "cells",
        "overspent",
    ),
    (
        "L1 sensitivities are those of add-remove",
        "charged_noise",
        "Fraction(privacy.l1_sensitivity(query))}",
        'Fraction(query.l1_sensitivity("add-remove") * privacy.records_per_person)}',
        "cells, pure",
        "wrong relation",
    ),
    (
        "all of many have the noise of the first",
        "private_table",
        "values.append(noises[i].add(",
        "values.append(noises[0].add(",
        "many, weighted",
        "scale differs from the charge",
    ),
    (
        "the largest change is that of one record",
        "charged_noise",
        'parameters["largest_change"] = Fraction(privacy.largest_change(query))',
        'parameters["largest_change"] = Fraction(query.largest_change(privacy.neighbours))',
        "cells",
        "sensitivity",
    ),
    (
        "counts are handed to a query of one's own",
        "private_table",
        "values = noise.add(_answers(done, self.__records().count([attributes], self._n_threads)[0]))",
        "values = noise.add(_answers(query or done, self.__records().count([attributes], self._n_threads)[0]))",
        "products that lie",
        "lost user bound",
    ),
    (
        "permute-and-flip is asked for by its range",
        "selector",
        "rate, used = self._rate(selection_epsilon(rho, epsilon, 2))",
        "rate, used = self._rate(selection_epsilon(rho, epsilon, 8))",
        "permute-and-flip",
        "overspent",
    ),
    (
        "a lattice has the noise of its unit",
        "real_queries",
        "table.measure(clique, on_lattice(matrix, lattice), rho=rho, variance=variance, scale=scale)",
        "table.measure(\n        clique,\n        on_lattice(matrix, lattice),\n"
        "        variance=table.privacy.squared_l2_sensitivity(on_lattice(matrix, 1)) / (2 * rho),\n    )",
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
