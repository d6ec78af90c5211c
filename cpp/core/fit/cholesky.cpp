// Column by column: each takes the inner products of its row with all rows below it.
#include "core/fit/cholesky.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <vector>

#include "core/base/watch.hpp"
#include "core/simd/dot_kernels.hpp"

namespace pypgm {

namespace {

constexpr double kNoPivot = 1e-13;  // of a diagonal entry: what rounding leaves of a pivot that is 0

}  // namespace

void multiply_rows(std::span<const double> left, std::span<const double> right, std::size_t inner,
                   std::span<double> out) {
  const std::size_t n_right = right.size() / inner;
  assert(out.size() == left.size() / inner * n_right);
  const DotKernels& kernels = dot_kernels();
  for (std::size_t i = 0; i < left.size() / inner; ++i) {
    leave_if_abandoned();
    kernels.dots(left.data() + i * inner, right.data(), inner, n_right, inner, out.data() + i * n_right);
  }
}

void factorise(std::span<double> rows, std::size_t n) {
  const std::size_t n_rows = rows.size() / n;
  assert(n_rows >= n && rows.size() == n_rows * n);
  const DotKernels& kernels = dot_kernels();
  std::vector<double> sums(n_rows);
  for (std::size_t j = 0; j < n; ++j) {
    leave_if_abandoned();
    double* const row = rows.data() + j * n;
    kernels.dots(row, row, n, n_rows - j, j, sums.data());
    const double pivot = row[j] - sums[0];
    const double scale = pivot > kNoPivot * row[j] ? 1 / std::sqrt(pivot) : 0.0;
    for (std::size_t i = j; i < n_rows; ++i) {
      double& entry = rows[i * n + j];
      entry = (entry - sums[i - j]) * scale;
    }
    std::fill(row + j + 1, row + n, 0.0);
  }
}

}  // namespace pypgm
