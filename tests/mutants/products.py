"""Products, unions and finer tables of queries whose properties or sensitivities are wrong in one place."""

from __future__ import annotations

from functools import partial

from mutate import at
from operators import as_given, one_case, other_extreme
from selfcheck.operators import check_operators, check_sensitivities, check_wide_sensitivities
from selfcheck.written_out import SMALL, WIDE

operators = partial(check_operators, SMALL)
wide_products = partial(check_wide_sensitivities, [s for s in WIDE if s[0] == "product"])

MUTANTS = {
    "unit columns in a product do not part the others under replace": at(
        "queries.kronecker:Kronecker._sensitivity", check_sensitivities, "sensitivity"
    )(as_given(7)),
    "a product's factors are compared by their largest": at(
        "queries.kronecker:Kronecker._sensitivity", check_sensitivities, "sensitivity"
    )("math.prod", "max"),
    "a product's first factor is not counted": at(
        "queries.kronecker:Kronecker._sensitivity", check_sensitivities, "sensitivity"
    )(
        "(f._sensitivity('add-remove', norm) for f in self.factors)",
        "(f._sensitivity('add-remove', norm) for f in self.factors[1:])",
    ),
    "signed products fall back to the factor of unsigned ones": at(
        "queries.kronecker:Kronecker._sensitivity", wide_products, "sensitivity"
    )(one_case(4)),
    "a product is signed where all its factors are": at(
        "queries.kronecker:Kronecker._sensitivity", wide_products, "sensitivity"
    )("all((f.is_non_negative for f in others))", "any((f.is_non_negative for f in self.factors))"),
    "one answer of a signed product changes by its largest entry": at(
        "queries.kronecker:Kronecker._largest_change", check_sensitivities, "sensitivity"
    )(one_case(2)),
    "one factor of unit columns makes a product of unit columns": at(
        "queries.kronecker:Kronecker.__init__", operators, "operator"
    )(other_extreme(1)),
    "a union costs what its worst part does": at(
        "queries.union:Union._sensitivity", check_sensitivities, "sensitivity"
    )(other_extreme()),
    "a union's first part alone changes its answers": at(
        "queries.union:Union._largest_change", check_sensitivities, "sensitivity"
    )("max((p._largest_change(neighbours) for p in self.parts))", "self.parts[0]._largest_change(neighbours)"),
    "a query on finer cells sums cells in another order": at("queries.folded:Folded._apply", operators, "operator")(
        "self._sums._apply(table)", "self._sums._apply(table)[:, ::-1]"
    ),
}
