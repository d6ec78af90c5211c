"""Open columns of schemas that show or cost something else in one place."""

from __future__ import annotations

from mutate import Mutant

from pypgm.audit.settled import check_open_sets

_OPEN = [
    # name, old, new, defect
    (
        "an open set lists all values that occur",
        "return column.closed(sparse_histogram(values, delta=delta, rho=amount))",
        "return column.closed({*sparse_histogram(values, delta=delta, rho=amount), *values._keys()})",
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
        "*(k for k, n in values._keys().items() if n >= 1000)})",
        "unnoised answer",
    ),
    (
        "quantiles on long grids are exact",
        "return column.closed(private_quantiles(values, steps, column.grid, **cost))",
        "found = private_quantiles(values, steps, column.grid, **cost); "
        "from numpy import quantile; exact = quantile(values._numbers()[0], [float(s) for s in steps]); "
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

MUTANTS = [
    Mutant(name, "pypgm.privacy.settling", old, new, check_open_sets, defect) for name, old, new, defect in _OPEN
]
