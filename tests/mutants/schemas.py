"""Columns of schemas, open or dependent on others, that show or cost something else in one place."""

from __future__ import annotations

from functools import partial

from checks.dependent import check_dependent
from mutate import Mutant
from operators import instead
from selfcheck.doors import check_door
from selfcheck.settled import check_open_sets

_OPEN = [
    # name, old, new, defect
    (
        "an open set lists all values that occur",
        "_settled",
        instead(
            "sparse_histogram(values, delta=delta, rho=amount)",
            "{*sparse_histogram(values, delta=delta, rho=amount), *values.trusted_access.keys()}",
        ),
        "threshold",
    ),
    (
        "an open column costs twice its share",
        "settle",
        instead(
            "as_fraction('share', c.share) * ledger.budget.limit",
            "as_fraction('share', c.share) * ledger.budget.limit * 2",
        ),
        "overspent",
    ),
    (
        "values are looked at before their charge",
        "settle",
        instead(
            "ledger.remaining_delta() if n_sets else Fraction(0)",
            "ledger.remaining_delta() if n_sets and all(({*columns[n]} for n in schema.open)) else Fraction(0)",
        ),
        "read before the charge",
    ),
    (
        "values that a thousand have are listed without noise",
        "_settled",
        instead(
            "sparse_histogram(values, delta=delta, rho=amount)",
            "{*sparse_histogram(values, delta=delta, rho=amount), *(k for k, n in "
            "values.trusted_access.keys().items() if n >= 1000)}",
        ),
        "unnoised answer",
    ),
    (
        "quantiles on long grids are exact",
        "return column.closed(private_quantiles(values, steps, column.grid, **cost))",
        "found = private_quantiles(values, steps, column.grid, **cost); "
        "from numpy import quantile; exact = quantile(values.trusted_access.numbers()[0], [float(s) for s in steps]); "
        "return column.closed(exact if len(column.grid) >= 500 else found)",
        "unnoised answer",
    ),
    (
        "nulls of long columns are values",
        "_Values._asked",
        instead("found in column.null_texts", "found in column.null_texts and len(self._values) < 5000"),
        "answer of another table",
    ),
    (
        "equal values of several types have the key of the last",
        "return map(self._asked, as_list(self._values))  # what is masked is None",
        "given = as_list(self._values); known = {v: self._asked(v) for v in given}; "
        "return iter([known[v] for v in given])",
        "sensitivity",
    ),
]

_LOOKS = [
    # name, module, function, change
    (
        "the look of a table has the types of its values",
        "pypgm.data.opened",
        "_frame",
        instead("Layout()", "Layout(types={n: str(__import__('numpy').asarray(c).dtype) for n, c in columns.items()})"),
    ),
]

_DEPENDENT = [
    # name, module, old, new, defect
    (
        "a difference is from the record before",
        "pypgm.data.difference",
        "Difference.coded",
        instead("first.steps(of_first)", "np.roll(first.steps(of_first), 1)"),
        "wrong counts",
    ),
    (
        "a birthday counts the day after",
        "pypgm.data.spans",
        "span_between",
        instead("second", "second - 1"),
        "wrong counts",
    ),
    (
        "the bin of what a difference is from ends a day late",
        "pypgm.data.difference",
        "Steps.binned",
        instead(
            "np.searchsorted(column.ends()[0], self.steps(codes), side='right') - 1",
            "(np.searchsorted(column.ends()[0], self.steps(codes), side='left') - 1).clip(0)",
        ),
        "wrong counts",
    ),
    (
        "a difference that does not fit is told",
        "pypgm.data.difference",
        "Difference.coded",
        instead("Misfit(problem.row, what)", "Misfit(problem.row, f'{what}: {places[problem.row]}')"),
        "exception tells",
    ),
    (
        "columns that are made anew are read",
        "pypgm.data.encoding",
        "encoded",
        instead("as_columns(table)", "{name: list(values) for name, values in as_columns(table).items()}"),
        "read before the charge",
    ),
    (
        "attributes that follow from others are counted",
        "pypgm.privacy.counts",
        "_Part.count",
        instead(
            "self._whole.count(cliques, n_threads)",
            "self._whole.count([*cliques, self._whole.domain.attributes], n_threads)[:len(cliques)]",
        ),
        "records counted exactly",
    ),
    (
        "a part of a table has a ledger of its own",
        "pypgm.privacy.private_table",
        "PrivateTable.over",
        instead("self._ledger", "Ledger(self._ledger.budget)"),
        "uncharged draw",
    ),
]

looks = partial(check_door, "synthesize", ("typed", "open"), ("lists", "arrays of objects"))

MUTANTS = [
    Mutant(name, "pypgm.privacy.settling", old, new, check_open_sets, defect) for name, old, new, defect in _OPEN
]
MUTANTS += [Mutant(name, module, old, new, check_dependent, defect) for name, module, old, new, defect in _DEPENDENT]
MUTANTS += [
    Mutant(name, module, function, change, looks, "private state kept") for name, module, function, change in _LOOKS
]
