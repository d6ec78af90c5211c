"""Queries whose products, properties or sensitivities are wrong in one place."""

from __future__ import annotations

from functools import partial

from mutate import at
from operators import as_given, no_addend, no_factor, off_by_one, one_case, one_less, other_extreme
from selfcheck.operators import check_operators, check_sensitivities, check_wide_sensitivities
from selfcheck.written_out import SMALL, WIDE

operators = partial(check_operators, SMALL)
wide_matrices = partial(check_wide_sensitivities, [s for s in WIDE if s[0] in {"matrix", "sparse", "union"}])
wide_ranges = partial(check_wide_sensitivities, [s for s in WIDE if s[0] in {"ranges", "subset", "partition"}])
wide_contrasts = partial(check_wide_sensitivities, [s for s in WIDE if s[0] == "contrasts"])
wide_operators = partial(check_operators, [s for s in WIDE if s[0] == "contrasts"])

MUTANTS = {
    "sums over groups change by 1 when a record is replaced": at(
        "queries.partition:Partition._sensitivity", check_sensitivities, "sensitivity"
    )(one_less(1)),
    "two cells in one group make all of them one": at(
        "queries.partition:Partition._sensitivity", check_sensitivities, "sensitivity"
    )("(self.groups != self.groups[0]).any", "(self.groups[1:] != self.groups[0]).all"),
    "sums over more than 64 cells change by 1 when a record is replaced": at(
        "queries.partition:Partition._sensitivity", check_sensitivities, "sensitivity"
    )(
        "2 if bool((self.groups != self.groups[0]).any()) else 0",
        "2 - (self.shape[1] > 64) if bool((self.groups != self.groups[0]).any()) else 0",
    ),
    "sums over groups of more than 4096 cells cost nothing": at(
        "queries.partition:Partition._sensitivity", wide_ranges, "sensitivity"
    )("return 1", "return int(self.shape[1] <= 4096)"),
    "groups that come twice are added once": at("queries.partition:Partition._apply", operators, "operator")(
        "np.add.at(sums, self.groups, table.reshape(-1))", "sums[self.groups] += table.reshape(-1)"
    ),
    "the total is no sum of its own cells in a transpose": at(
        "queries.partition:Partition._transpose", operators, "operator"
    )("self.groups", "np.sort(self.groups)"),
    "sums over cells change no answer": at(
        "queries.query:ZeroOneQuery._largest_change", check_sensitivities, "sensitivity"
    )(one_less()),
    "a list of ranges is charged by its first cell": at(
        "queries.ranges:RangeList._sensitivity", check_sensitivities, "sensitivity"
    )("counts.max()", "counts[0]"),
    "a list of ranges under replace is charged as under add-remove": at(
        "queries.ranges:RangeList._sensitivity", check_sensitivities, "sensitivity"
    )("largest_distance(columns, 2)", "counts.max()"),
    "the last cell of a range is left out where columns are compared": at(
        "queries.ranges:RangeList.columns", check_sensitivities, "sensitivity"
    )(off_by_one(4)),
    "ends of ranges do not part the cells": at("queries.ranges:RangeList.columns", check_sensitivities, "sensitivity")(
        "[[0], self.ranges[:, 0], self.ranges[:, 1] + 1]", "[[0], self.ranges[:, 0]]"
    ),
    "many ranges under replace: one cell in place of two": at(
        "queries.ranges:RangeList._sensitivity", wide_ranges, "sensitivity"
    )(one_less()),
    "all ranges miss one cell": at("queries.ranges:AllRange._sensitivity", check_sensitivities, "sensitivity")(
        no_addend()
    ),
    "ranges leave their last cell out": at("queries.ranges:RangeList._apply", operators, "operator")(no_addend(1)),
    "a subset's weights are not squared": at(
        "queries.partition:Subset._sensitivity",
        check_sensitivities,
        "sensitivity",
    )(no_factor()),
    "a subset's weights keep their signs": at(
        "queries.partition:Subset._sensitivity",
        check_sensitivities,
        "sensitivity",
    )(as_given(1)),
    "a subset under replace: one cell in place of two": at(
        "queries.partition:Subset._sensitivity", check_sensitivities, "sensitivity"
    )(one_less(3)),
    "a subset of one cell is free under replace": at(
        "queries.partition:Subset._sensitivity", check_sensitivities, "sensitivity"
    )(one_less(1)),
    "a subset of more than 4096 cells forgets its weights": at(
        "queries.partition:Subset._sensitivity", wide_ranges, "sensitivity"
    )("int(amounts[-1])", "int(amounts[-1]) if amounts.size <= 4096 else 1"),
    "signed matrices fall back to the factor of unsigned ones": at(
        "queries.query:LinearQuery._sensitivity", wide_matrices, "sensitivity"
    )(one_case(2)),
    "matrices of many columns under replace are charged as under add-remove": at(
        "queries.query:LinearQuery._sensitivity", wide_matrices, "sensitivity"
    )(no_factor(2)),
    "matrices are never signed": at("queries.matrix:Matrix.__init__", operators, "operator")(other_extreme()),
    "the squares of a matrix are not taken": at(
        "queries.query:LinearQuery._largest_column", check_sensitivities, "sensitivity"
    )(no_factor()),
    "entries of a matrix cancel each other": at(
        "queries.query:LinearQuery._largest_column", check_sensitivities, "sensitivity"
    )(as_given()),
    "the largest column is the first": at(
        "queries.query:LinearQuery._largest_column", check_sensitivities, "sensitivity"
    )(
        "np.bincount(entries.indices, powers, minlength=self.shape[1]).max()",
        "np.bincount(entries.indices, powers, minlength=self.shape[1])[0]",
    ),
    "the largest change forgets negative entries": at(
        "queries.query:LinearQuery._largest_change", check_sensitivities, "sensitivity"
    )(as_given(1)),
    "the largest change under replace is that of one record more": at(
        "queries.query:LinearQuery._largest_change", check_sensitivities, "sensitivity"
    )("most - least", "np.maximum(most, -least)"),
    "the distance of two columns lacks half of their product": at(
        "queries.neighbours:largest_distance", check_sensitivities, "sensitivity"
    )(one_less(2)),
    "the L1 distance of two columns is that of their worst answer": at(
        "queries.neighbours:largest_distance", check_sensitivities, "sensitivity"
    )("pdist(points, 'cityblock')", "pdist(points, 'chebyshev')"),
    "different columns are compared up to the last but one": at(
        "queries.neighbours:few_columns", check_sensitivities, "sensitivity"
    )(
        "distinct if distinct.shape[1] <= MAX_COLUMNS else None",
        "distinct[:, :max(1, distinct.shape[1] - 1)] if distinct.shape[1] <= MAX_COLUMNS else None",
    ),
    "one unsigned query makes others unsigned": at("queries.query:LinearQuery._describe", operators, "operator")(
        "non_negative and query.is_non_negative", "non_negative or query.is_non_negative"
    ),
    "no two columns point apart": at("queries.query:LinearQuery._describe", operators, "operator")("acute", "True", 3),
    "running sums of columns run from the wrong end": at("queries.ranges:Prefix._transpose", operators, "operator")(
        "np.cumsum(table[:, ::-1], axis=1)[:, ::-1]", "np.cumsum(table, axis=1)"
    ),
    "contrasts of replaced records are no further apart than records that come": at(
        "queries.contrasts:Contrasts._sensitivity", check_sensitivities, "sensitivity"
    )(one_case(2)),
    "records differ in the attribute of most values alone": at(
        "queries.contrasts:Contrasts._with_opposite", check_sensitivities, "sensitivity"
    )(other_extreme()),
    "contrasts are charged as if they were orthonormal": at(
        "queries.contrasts:Contrasts._sensitivity", check_sensitivities, "sensitivity"
    )("n * (n - 1) if n > 2 else 1", "n - 1"),
    "contrasts of more than 4096 cells cost half": at(
        "queries.contrasts:Contrasts._sensitivity", wide_contrasts, "sensitivity"
    )(
        "math.prod((n * (n - 1) if n > 2 else 1 for n in self.sizes))",
        "math.prod((n * (n - 1) if n > 2 else 1 for n in self.sizes)) >> (self.shape[1] > 4096)",
    ),
    "the L1 norms of two columns of contrasts are compared where all attributes differ": at(
        "queries.contrasts:Contrasts._l1_sensitivity", check_sensitivities, "sensitivity"
    )(
        "max(worst, agreeing * sum((times * abs(a - b) for (a, b), times in pairs.items())))",
        "max(0, agreeing * sum((times * abs(a - b) for (a, b), times in pairs.items())))",
    ),
    "answers that neither record has a part in do not count": at(
        "queries.contrasts:_products", check_sensitivities, "sensitivity"
    )("n - 2", "0"),
    "one answer of contrasts changes by the largest entry under either relation": at(
        "queries.contrasts:Contrasts._largest_change", check_sensitivities, "sensitivity"
    )(one_case()),
    "binary attributes are summed, not subtracted": at(
        "queries.contrasts:Contrasts._along_axes", operators, "operator"
    )(no_factor(11)),
    "contrasts count the sums of groups twice": at("queries.contrasts:Contrasts._apply", operators, "operator")(
        "self._sums._apply(table)", "2 * self._sums._apply(table)"
    ),
    "contrasts are not blind to the sums of attributes above eight values": at(
        "queries.contrasts:Contrasts._along_axes", wide_operators, "operator"
    )("n * (n - 2) if squared else n", "n * (n - 2) if squared else n + (n > 8)"),
    "running sums forget the last answer under replace and add-remove alike": at(
        "queries.ranges:Prefix._sensitivity", check_sensitivities, "sensitivity"
    )("neighbours == 'replace'", "1"),
}
