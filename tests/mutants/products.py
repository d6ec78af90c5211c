"""Products, unions and finer tables of queries whose properties or sensitivities are wrong in one place."""

from __future__ import annotations

from functools import partial

from mutate import Mutant
from operators import as_given, instead, one_case, other_extreme
from selfcheck.operators import check_operators, check_sensitivities, check_wide_sensitivities
from selfcheck.written_out import SMALL, WIDE

operators = partial(check_operators, SMALL)
wide_products = partial(check_wide_sensitivities, [s for s in WIDE if s[0] == "product"])

_PLACES = [
    # name, module of pypgm.queries, old, new, check, defect
    (
        "unit columns in a product do not part the others under replace",
        "kronecker",
        "Kronecker._sensitivity",
        as_given(7),
        check_sensitivities,
        "sensitivity",
    ),
    (
        "a product's factors are compared by their largest",
        "kronecker",
        "Kronecker._sensitivity",
        instead("math.prod", "max"),
        check_sensitivities,
        "sensitivity",
    ),
    (
        "a product's first factor is not counted",
        "kronecker",
        "Kronecker._sensitivity",
        instead(
            "(f._sensitivity('add-remove', norm) for f in self.factors)",
            "(f._sensitivity('add-remove', norm) for f in self.factors[1:])",
        ),
        check_sensitivities,
        "sensitivity",
    ),
    (
        "signed products fall back to the factor of unsigned ones",
        "kronecker",
        "Kronecker._sensitivity",
        one_case(4),
        wide_products,
        "sensitivity",
    ),
    (
        "a product is signed where all its factors are",
        "kronecker",
        "Kronecker._sensitivity",
        instead("all((f.is_non_negative for f in others))", "any((f.is_non_negative for f in self.factors))"),
        wide_products,
        "sensitivity",
    ),
    (
        "one answer of a signed product changes by its largest entry",
        "kronecker",
        "Kronecker._largest_change",
        one_case(2),
        check_sensitivities,
        "sensitivity",
    ),
    (
        "one factor of unit columns makes a product of unit columns",
        "kronecker",
        "Kronecker.__init__",
        other_extreme(1),
        operators,
        "operator",
    ),
    (
        "a union costs what its worst part does",
        "union",
        "Union._sensitivity",
        other_extreme(),
        check_sensitivities,
        "sensitivity",
    ),
    (
        "a union's first part alone changes its answers",
        "union",
        "Union._largest_change",
        instead(
            "max((p._largest_change(neighbours) for p in self.parts))", "self.parts[0]._largest_change(neighbours)"
        ),
        check_sensitivities,
        "sensitivity",
    ),
    (
        "a query on finer cells sums cells in another order",
        "folded",
        "Folded._apply",
        instead("self._sums._apply(table)", "self._sums._apply(table)[:, ::-1]"),
        operators,
        "operator",
    ),
]

MUTANTS = [
    Mutant(name, f"pypgm.queries.{home}", old, new, check, defect) for name, home, old, new, check, defect in _PLACES
]
