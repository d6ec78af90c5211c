#pragma once
// Loops over a clique as rows of cells: products with row and column factors, and their sums.
#include <cstddef>

namespace pypgm {

/// A loop over rows of cells, and its steps in the tables that have them.
struct RowLoop {
  std::size_t size = 1;
  std::size_t along = 0;   ///< step in tables that have the cells of a row
  std::size_t across = 0;  ///< step in tables that have one number for a row
};

/// A run of cells as outer.size * inner.size consecutive rows of n >= 1 cells. One of the loops has step 0 in
/// tables along the rows.
struct RowGrid {
  std::size_t n = 1;
  RowLoop outer, inner;
};

/// The tables that the cells of rows are multiplied by, and their sums, which may be null.
struct RowTables {
  const double* along;
  const double* across;
  double* along_sums;
  double* across_sums;
};

/// Loops over the rows of a clique, compiled for each instruction set.
struct RowKernels {
  /// sums[row] += across[row] * sum of weights * along over the row
  void (*sum_across)(const RowGrid& rows, const double* weights, const double* along, const double* across,
                     double* sums);
  /// sums[cell of the row] += across[row] * weights
  void (*sum_along)(const RowGrid& rows, const double* weights, const double* across, double* sums);
  /// out = weights * along * across; adds it to the sums as well
  void (*multiply)(const RowGrid& rows, const double* weights, const RowTables& tables, double* out);
};

/// The set for the fastest instruction set of this machine.
const RowKernels& row_kernels();

}  // namespace pypgm
