// Inner products, compiled once for each instruction set (see kernels.cpp).
#include "core/simd/dot_kernels.hpp"

#include "core/simd/kernel_set.hpp"
#include "core/simd/lanes.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kTogether = 4;  // rows for which the shared one is loaded once

template <std::size_t rows_at_once>
void add_up(const double* shared, const double* rows, std::size_t stride, std::size_t n, double* sums) {
  Lanes sum[rows_at_once];
  for (Lanes& s : sum) s = fill(0.0);
  std::size_t k = 0;
  for (; k + kLanes <= n; k += kLanes) {
    const Lanes one = load(shared + k);
    for (std::size_t r = 0; r < rows_at_once; ++r) sum[r] = sum[r] + one * load(rows + r * stride + k);
  }
  if (k < n) {
    const Lanes one = load_some(shared + k, n - k);
    for (std::size_t r = 0; r < rows_at_once; ++r) {
      sum[r] = sum[r] + one * load_some(rows + r * stride + k, n - k);
    }
  }
  for (std::size_t r = 0; r < rows_at_once; ++r) sums[r] = sum_lanes(sum[r]);
}

void dots(const double* shared, const double* rows, std::size_t stride, std::size_t n_rows, std::size_t n,
          double* sums) {
  std::size_t r = 0;
  for (; r + kTogether <= n_rows; r += kTogether) {
    add_up<kTogether>(shared, rows + r * stride, stride, n, sums + r);
  }
  for (; r < n_rows; ++r) add_up<1>(shared, rows + r * stride, stride, n, sums + r);
}

}  // namespace

PYPGM_KERNEL_SET(DotKernels, dot_kernels) = {dots};

}  // namespace pypgm
