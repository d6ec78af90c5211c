#pragma once
#include <cstddef>

namespace pypgm {

/// Loops over the tables of a region, compiled once for each instruction set.
struct RegionKernels {
  /// out[i] = log(max(in[i], floor)), within 2 ulp or so. Requires a normal floor > 0 and finite numbers.
  void (*log_floored)(const double* in, std::size_t n, double floor, double* out);
  /// theta[i] -= step * w[i] * (total * (x[i] + a (z[i] - x[i])) - y[i]); one_weight: w[0] serves all.
  void (*descend)(const double* x, const double* z, const double* y, const double* w, bool one_weight,
                  double total, double a, double step, std::size_t n, double* theta);
  /// With g the bracket of `descend` times w and d = b - z: x[i] += a (b[i] - x[i]), and adds to sums: half
  /// w (total x - y)^2, half w (total x - held)^2 (unless held is null), g d, and w d^2.
  void (*follow)(const double* b, const double* z, const double* y, const double* held, const double* w,
                 bool one_weight, double total, double a, std::size_t n, double* x, double* sums);
};

/// The fastest set of loops this machine runs.
const RegionKernels& region_kernels();

}  // namespace pypgm
