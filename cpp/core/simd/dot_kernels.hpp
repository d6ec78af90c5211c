#pragma once
// Inner products of one row with several others.
#include <cstddef>

namespace pypgm {

/// Loops compiled for each instruction set.
struct DotKernels {
  /// sums[r] = sum_k shared[k] rows[r * stride + k] for r < n_rows, k < n.
  void (*dots)(const double* shared, const double* rows, std::size_t stride, std::size_t n_rows,
               std::size_t n, double* sums);
};

/// The set for the fastest instruction set of this machine.
const DotKernels& dot_kernels();

}  // namespace pypgm
