#pragma once
#include <cstddef>

#include "core/layout.hpp"

namespace pypgm {

/// Loops compiled once for each instruction set; `axes` are those of a Layout, outermost first.
/// expand: large[i] = large[i] op small[place of i].   reduce: small[j] = op over the large cells at j.
struct Kernels {
  using Expand = void (*)(double* large, const double* small, const Axis* axes, std::size_t n_axes);
  using Reduce = void (*)(const double* large, double* small, const Axis* axes, std::size_t n_axes);

  const char* instruction_set;
  /// out[i] = exp(in[i] - shift), within 1 ulp or so; -inf gives 0, NaN gives NaN. in == out is allowed.
  void (*exp_shifted)(const double* in, std::size_t n, double shift, double* out);
  /// out[i] = log(max(in[i], floor)), within 2 ulp or so. Requires a normal floor > 0 and finite numbers.
  void (*log_floored)(const double* in, std::size_t n, double floor, double* out);
  double (*max)(const double* in, std::size_t n);  ///< -inf if n == 0
  double (*sum)(const double* in, std::size_t n);
  double (*dot)(const double* a, const double* b, std::size_t n);
  void (*scale)(double* table, std::size_t n, double factor);
  /// out[i] = a[i] + factor * b[i]
  void (*add_scaled)(const double* a, const double* b, double factor, std::size_t n, double* out);
  /// gradient[i] += weight[i] * (table[i] - value[i]); returns half the weighted sum of squared differences
  double (*residuals)(const double* table, const double* value, const double* weight, std::size_t n,
                      double* gradient);
  /// half the weighted sum of squared differences
  double (*squares)(const double* table, const double* value, const double* weight, std::size_t n);
  /// theta[i] -= step * w[i] * (total * (x[i] + a (z[i] - x[i])) - y[i]); one_weight: w[0] serves all.
  void (*descend)(const double* x, const double* z, const double* y, const double* w, bool one_weight,
                  double total, double a, double step, std::size_t n, double* theta);
  /// With g the bracket of `descend` times w and d = b - z: x[i] += a (b[i] - x[i]), and adds to sums: half
  /// w (total x - y)^2, half w (total x - held)^2 (unless held is null), g d, w d^2, and half w (y^2 - (total
  /// v)^2), v that of g.
  void (*follow)(const double* b, const double* z, const double* y, const double* held, const double* w,
                 bool one_weight, double total, double a, std::size_t n, double* x, double* sums);
  Expand assign, add, multiply;
  Reduce reduce_sum, reduce_max;  ///< small must hold 0, or -inf, before
  /// small[j] += sum of exp(large - shift[j]); shift lies like small.
  void (*reduce_exp)(const double* large, const double* shift, double* small, const Axis* axes,
                     std::size_t n_axes);
};

/// The fastest set of loops this machine runs, chosen at the first call.
const Kernels& kernels();

}  // namespace pypgm
