"""Products, unions and finer tables of queries whose properties or sensitivities are wrong in one place."""

from __future__ import annotations

from functools import partial

from mutate import Mutant

from pypgm.audit.operators import check_operators, check_sensitivities, check_wide_sensitivities
from pypgm.audit.written_out import SMALL, WIDE

operators = partial(check_operators, SMALL)
wide_products = partial(check_wide_sensitivities, [s for s in WIDE if s[0] == "product"])

_PLACES = [
    # name, module of pypgm.queries, old, new, check, defect
    (
        "unit columns in a product do not part the others under replace",
        "kronecker",
        "max(2 * largest * units, int(largest_distance(columns, norm)))",
        "int(largest_distance(columns, norm))",
        check_sensitivities,
        "sensitivity",
    ),
    (
        "a product's factors are compared by their largest",
        "kronecker",
        'largest = math.prod(f._sensitivity("add-remove", norm) for f in self.factors)',
        'largest = max(f._sensitivity("add-remove", norm) for f in self.factors)',
        check_sensitivities,
        "sensitivity",
    ),
    (
        "a product's first factor is not counted",
        "kronecker",
        'largest = math.prod(f._sensitivity("add-remove", norm) for f in self.factors)',
        'largest = math.prod(f._sensitivity("add-remove", norm) for f in self.factors[1:])',
        check_sensitivities,
        "sensitivity",
    ),
    (
        "signed products fall back to the factor of unsigned ones",
        "kronecker",
        "bound = (2 if norm == 1 or all(f.is_non_negative for f in others) else 4) * largest",
        "bound = 2 * largest",
        wide_products,
        "sensitivity",
    ),
    (
        "a product is signed where all its factors are",
        "kronecker",
        "all(f.is_non_negative for f in others) else 4",
        "any(f.is_non_negative for f in self.factors) else 4",
        wide_products,
        "sensitivity",
    ),
    (
        "one answer of a signed product changes by its largest entry",
        "kronecker",
        'return largest if neighbours == "add-remove" or self.is_non_negative else 2 * largest',
        "return largest",
        check_sensitivities,
        "sensitivity",
    ),
    (
        "one factor of unit columns makes a product of unit columns",
        "kronecker",
        "units, nnz = all(f.has_unit_columns for f in own)",
        "units, nnz = any(f.has_unit_columns for f in own)",
        operators,
        "operator",
    ),
    (
        "a union costs what its worst part does",
        "union",
        "parts = sum(p._sensitivity(neighbours, norm) for p in self.parts)",
        "parts = max(p._sensitivity(neighbours, norm) for p in self.parts)",
        check_sensitivities,
        "sensitivity",
    ),
    (
        "a union's first part alone changes its answers",
        "union",
        "return max(p._largest_change(neighbours) for p in self.parts)",
        "return self.parts[0]._largest_change(neighbours)",
        check_sensitivities,
        "sensitivity",
    ),
    (
        "a query on finer cells sums cells in another order",
        "folded",
        "return self.query._apply(self._sums._apply(table))",
        "return self.query._apply(self._sums._apply(table)[:, ::-1])",
        operators,
        "operator",
    ),
]

MUTANTS = [
    Mutant(name, f"pypgm.queries.{home}", old, new, check, defect) for name, home, old, new, check, defect in _PLACES
]
