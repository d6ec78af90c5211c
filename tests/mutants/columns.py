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
        "if count >= threshold}",
        "if count >= threshold - access.privacy.records_per_person}",
        "threshold",
    ),
    (
        "the threshold of keys is lower for more than three records per person",
        "unknown_keys",
        "if count >= threshold}",
        "if count >= threshold - 4 * (access.privacy.records_per_person > 3)}",
        "threshold",
    ),
    (
        "keys that reach the threshold exactly or miss it by one",
        "unknown_keys",
        "if count >= threshold}",
        "if count >= threshold - 1}",
        "threshold",
    ),
    (
        "keys are released for large noise of either sign",
        "unknown_keys",
        "if count >= threshold}",
        "if abs(count) >= threshold}",
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
        "access",
        "        payer.charge(what, on, law)",
        "        payer.charge(what, on, replace(law, threshold=None, records_per_person=None, delta=0))",
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
        "access.charge_noise(Identity(2),",
        "access.charge_noise(Identity(1 + (rho is not None)),",
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
        "access",
        "law = DiscreteGaussian(s, relation.squared_l2_sensitivity(query),",
        "law = DiscreteGaussian(s, relation.l1_sensitivity(query),",
        "lost user bound",
    ),
    (
        "Gaussian noise is drawn where Laplace noise is charged",
        "laws",
        "return sampler.laplace(self.scale)",
        "return sampler.gaussian(self.scale)",
        "scale differs from the charge",
    ),
    (
        "a quarter of the variance is drawn",
        "laws",
        "return sampler.gaussian(self.variance)",
        "return sampler.gaussian(self.variance / 4)",
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
        "law = PoissonSample(chance, inner.budget.limit)",
        "law = PoissonSample(chance, inner.budget.limit / 2)",
        "wrong charge",
    ),
    (
        "more records are kept than the rate says",
        "private_table",
        "kept = law.kept(data.n_records, self._sampler)",
        "kept = PoissonSample((1 + law.rate) / 2, 1).kept(data.n_records, self._sampler)",
        "scale differs from the charge",
    ),
    (
        "a sample is the whole table",
        "private_table",
        "            kept = self.__sampled(law)",
        "            kept = self.__records()",
        "answer of another table",
    ),
    (
        "a sample is the records that were not kept",
        "private_table",
        "kept = law.kept(data.n_records, self._sampler)",
        "kept = ~law.kept(data.n_records, self._sampler)",
        "answer of another table",
    ),
    (
        "coins of denominators above 1000 are fair",
        "sampler",
        "core.flip_coins(count, probability.numerator, probability.denominator, self.__words)",
        "core.flip_coins(\n"
        "            count, *((1, 2) if probability.denominator > 1000 else probability.as_integer_ratio()), "
        "self.__words\n"
        "        )",
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
    (
        "selections are charged after the end",
        "selector",
        "if self._access.is_closed():",
        "if not self._now.candidates:",
    ),
    ("columns are charged after the end", "private_column", "self.__values.check_open()", "len(self.__values.levels)"),
    (
        "a closed table keeps its records",
        "private_table",
        "        self.__data = None\n",
        "        self._domain = self._domain\n",
    ),
]

_ASKED = [
    # name, module, old, new, what is asked, defect
    (
        "bounds are those of the counts",
        "quantiles",
        "filled = np.flatnonzero(noisy >= ",
        "filled = np.flatnonzero(_cell_counts(access, points) >= ",
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
        "for q, law in zip(wanted, laws, strict=True):",
        "for q, law in [(wanted[0], laws[0])]:",
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
        "for q, law in zip(wanted, laws, strict=True)\n    ]",
        "for q, law in zip(wanted, laws[::-1], strict=True)\n    ]",
        "quantiles",
        "score sensitivity",
    ),
    (
        "quantiles after the first are exact",
        "quantiles",
        "points[law.draw(rank_scores(numbers, counts, q, points), access.sampler)]",
        "points[law.draw(rank_scores(numbers, counts, q, points), access.sampler)]\n"
        "        if q == wanted[0]\n"
        "        else points[int(np.argmax(rank_scores(numbers, counts, q, points)))]",
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
        "access",
        "return squared_sensitivity / (2 * exact)",
        "return squared_sensitivity / (4 * exact)",
        "cells",
        "overspent",
    ),
    (
        "L1 sensitivities are those of add-remove",
        "access",
        "law = DiscreteLaplace(b, relation.l1_sensitivity(query),",
        'law = DiscreteLaplace(b, query.l1_sensitivity("add-remove") * relation.records_per_person,',
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
        "access",
        "relation.squared_l2_sensitivity(query), relation.largest_change(query))",
        "relation.squared_l2_sensitivity(query), query.largest_change(relation.neighbours))",
        "cells",
        "sensitivity",
    ),
    (
        "counts are handed to a query of one's own",
        "private_table",
        "values = noise.add(_answers(done, next(access.count([attributes]))))",
        "values = noise.add(_answers(query or done, next(access.count([attributes]))))",
        "products that lie",
        "lost user bound",
    ),
    (
        "permute-and-flip is asked for by its range",
        "selector",
        "PermuteAndFlip(self._drawable(selection_epsilon(rho, epsilon, 2)),",
        "PermuteAndFlip(self._drawable(selection_epsilon(rho, epsilon, 8)),",
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
