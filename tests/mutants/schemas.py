"""Columns of schemas, open or dependent on others, that show or cost something else in one place."""

from __future__ import annotations

from functools import partial

from checks.dependent import check_dependent
from mutate import at
from selfcheck.doors import check_door
from selfcheck.settled import check_open_sets

looks = partial(check_door, "synthesize", ("typed", "open"), ("lists", "arrays of objects"))

MUTANTS = {
    "an open set lists all values that occur": at("privacy.settling:_settled", check_open_sets, "threshold")(
        "sparse_histogram(values, delta=delta, rho=amount)",
        "{*sparse_histogram(values, delta=delta, rho=amount), *(k for keys, "
        "_ in values.trusted_access.histogram() for k in keys)}",
    ),
    "an open column costs twice its share": at("privacy.settling:settle", check_open_sets, "overspent")(
        "as_fraction('share', c.share) * ledger.budget.limit", "as_fraction('share', c.share) * ledger.budget.limit * 2"
    ),
    "values are looked at before their charge": at(
        "privacy.settling:settle", check_open_sets, "read before the charge"
    )(
        "ledger.remaining_delta() if n_sets else Fraction(0)",
        "ledger.remaining_delta() if n_sets and all(({*columns[n]} for n in schema.open)) else Fraction(0)",
    ),
    "values that a thousand have are listed without noise": at(
        "privacy.settling:_settled", check_open_sets, "unnoised answer"
    )(
        "sparse_histogram(values, delta=delta, rho=amount)",
        "{*sparse_histogram(values, delta=delta, rho=amount), *(k for keys, "
        "counts in values.trusted_access.histogram() for k, n in zip(keys, counts) if n >= 1000)}",
    ),
    "quantiles on long grids are exact": at("privacy.settling:_settled", check_open_sets, "unnoised answer")(
        "return column.closed(X)",
        "found = X\n"
        "from numpy import asarray, quantile, repeat\n"
        "exact = repeat(*values.trusted_access.numbers(asarray(column.grid, float))).clip(-1e4, 1e4)\n"
        "exact = quantile(exact, [float(s) for s in steps])\n"
        "return column.closed(exact if len(column.grid) >= 500 else found)",
        1,
    ),
    "nulls of long columns are values": at("privacy.settling:_held", check_open_sets, "answer of another table")(
        "_as_read(some, column)", "_as_read(some, column) if len(values) < 5000 else [str(v).strip() for v in some]"
    ),
    "equal values of several types have the key of the last": at(
        "privacy.settling:_Values.__iter__", check_open_sets, "sensitivity"
    )("return map(Y, X)", "given = X\nknown = {v: Y(v) for v in given}\nreturn iter([known[v] for v in given])"),
    "a difference is from the record before": at(
        "data.columns.difference:Difference.coded", check_dependent, "wrong counts"
    )("first.steps(of_first)", "np.roll(first.steps(of_first), 1)"),
    "a birthday counts the day after": at("data.columns.dates:span_between", check_dependent, "wrong counts")(
        "second", "second - 1"
    ),
    "the bin of what a difference is from ends a day late": at(
        "data.columns.difference:Steps.binned", check_dependent, "wrong counts"
    )(
        "np.searchsorted(column.ends()[0], self.steps(codes), side='right') - 1",
        "(np.searchsorted(column.ends()[0], self.steps(codes), side='left') - 1).clip(0)",
    ),
    "a difference that does not fit is told": at(
        "data.columns.difference:Difference.coded", check_dependent, "exception tells"
    )("Misfit(problem.row, what)", "Misfit(problem.row, f'{what}: {places[problem.row]}')"),
    "columns that are made anew are read": at(
        "data.sources.encoding:encoded", check_dependent, "read before the charge"
    )("as_columns(table)", "{name: list(values) for name, values in as_columns(table).items()}"),
    "attributes that follow from others are counted": at(
        "privacy.counts:_Part.count", check_dependent, "records counted exactly"
    )(
        "self._whole.count(cliques, n_threads)",
        "self._whole.count([*cliques, self._whole.domain.attributes], n_threads)[:len(cliques)]",
    ),
    "a part of a table has a ledger of its own": at(
        "privacy.private_table:PrivateTable.over", check_dependent, "uncharged draw"
    )("self._ledger", "Ledger(self._ledger.budget)"),
    "the look of a table has the types of its values": at("data.sources.opened:_frame", looks, "private state kept")(
        "Layout()", "Layout(types={n: str(__import__('numpy').asarray(c).dtype) for n, c in columns.items()})"
    ),
}
