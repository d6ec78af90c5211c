"""Columns of schemas, open or dependent on others, that show or cost something else in one place."""

from __future__ import annotations

from mutate import Mutant

from pypgm.audit.dependent import check_dependent
from pypgm.audit.settled import check_open_sets

_OPEN = [
    # name, old, new, defect
    (
        "an open set lists all values that occur",
        "return column.closed(sparse_histogram(values, delta=delta, rho=amount))",
        "return column.closed({*sparse_histogram(values, delta=delta, rho=amount), *values.trusted_access.keys()})",
        "threshold",
    ),
    (
        "an open column costs twice its share",
        'as_fraction("share", c.share) * ledger.budget.limit',
        'as_fraction("share", c.share) * ledger.budget.limit * 2',
        "overspent",
    ),
    (
        "values are looked at before their charge",
        "deltas = ledger.remaining_delta() if n_sets else",
        "deltas = ledger.remaining_delta() if n_sets and all({*columns[n]} for n in schema.open) else",
        "read before the charge",
    ),
    (
        "values that a thousand have are listed without noise",
        "return column.closed(sparse_histogram(values, delta=delta, rho=amount))",
        "return column.closed({*sparse_histogram(values, delta=delta, rho=amount), "
        "*(k for k, n in values.trusted_access.keys().items() if n >= 1000)})",
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
        "found in texts if isinstance(found, str)",
        "found in texts and len(self._values) < 5000 if isinstance(found, str)",
        "answer of another table",
    ),
]

_DEPENDENT = [
    # name, module, old, new, defect
    (
        "a difference is from the record before",
        "pypgm.data.difference",
        "starts, ends = first.steps(of_first), second.steps(of_second)",
        "starts, ends = np.roll(first.steps(of_first), 1), second.steps(of_second)",
        "wrong counts",
    ),
    (
        "a birthday counts the day after",
        "pypgm.data.spans",
        "apart = places_of(second, unit, has_times) - places_of(first, unit, has_times)",
        "apart = places_of(second - 1, unit, has_times) - places_of(first, unit, has_times)",
        "wrong counts",
    ),
    (
        "the bin of what a difference is from ends a day late",
        "pypgm.data.difference",
        'own = np.searchsorted(column.ends()[0], self.steps(codes), side="right") - 1',
        'own = (np.searchsorted(column.ends()[0], self.steps(codes), side="left") - 1).clip(0)',
        "wrong counts",
    ),
    (
        "a difference that does not fit is told",
        "pypgm.data.difference",
        "Misfit(problem.row, what)",
        'Misfit(problem.row, f"{what}: {places[problem.row]}")',
        "exception tells",
    ),
    (
        "columns that are made anew are read",
        "pypgm.data.encoding",
        "given = as_columns(table)",
        "given = {name: list(values) for name, values in as_columns(table).items()}",
        "read before the charge",
    ),
    (
        "attributes that follow from others are counted",
        "pypgm.privacy.counts",
        "return self._whole.count(cliques, n_threads)",
        "return self._whole.count([*cliques, self._whole.domain.attributes], n_threads)[: len(cliques)]",
        "records counted exactly",
    ),
    (
        "a part of a table has a ledger of its own",
        "pypgm.privacy.private_table",
        "found = PrivateTable(part, self._privacy, self._ledger,",
        "found = PrivateTable(part, self._privacy, Ledger(self._ledger.budget),",
        "uncharged draw",
    ),
]

MUTANTS = [
    Mutant(name, "pypgm.privacy.settling", old, new, check_open_sets, defect) for name, old, new, defect in _OPEN
]
MUTANTS += [Mutant(name, module, old, new, check_dependent, defect) for name, module, old, new, defect in _DEPENDENT]
