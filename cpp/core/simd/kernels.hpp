#pragma once
// The basic loops over one table, or a table inside another; `kernels()` picks the set for this machine.
#include <cstddef>
#include <span>

#include "core/tables/layout.hpp"

namespace pypgm {

/// The range of a table of logarithms without its entries at -inf.
struct Extent {
  double least;    ///< smallest entry above -inf; +inf if there is none
  double largest;  ///< -inf if there is none
};

/// Loops compiled for each instruction set; `axes` are those of a Layout.
struct Kernels {
  /// large[i] = small[j], j the cell of the small table at i
  using Assign = void (*)(double* large, const double* small, AxisRange axes);
  /// out[i] = in[i] op small[j]; in == out is allowed
  using Combine = void (*)(double* out, const double* in, const double* small, AxisRange axes);
  /// small[j] = small[j] op all large cells at j
  using Reduce = void (*)(const double* large, double* small, AxisRange axes);

  const char* instruction_set;
  /// out[i] = exp(in[i] - shift), within 1 ulp or so; 0 where the difference is below -708, NaN stays. The
  /// difference must be at most 709. in == out is allowed.
  void (*exp_shifted)(const double* in, std::size_t n, double shift, double* out);
  /// out[i] = log(max(in[i], floor)), within 2 ulp or so. Requires a normal floor > 0 and finite numbers.
  void (*log_floored)(const double* in, std::size_t n, double floor, double* out);
  /// message[i] += log(sums[i]), -inf where that is not positive, then less the largest, which is returned
  /// (and not subtracted where it is -inf). Requires messages below +inf.
  double (*add_logs)(const double* sums, std::size_t n, double* message);
  double (*max)(const double* in, std::size_t n);  ///< -inf if n == 0
  Extent (*extent)(const double* in, std::size_t n);
  Extent (*magnitudes)(const double* in, std::size_t n);  ///< the smallest above 0, and the largest
  double (*sum)(const double* in, std::size_t n);
  double (*dot)(const double* a, const double* b, std::size_t n);
  void (*scale)(double* table, std::size_t n, double factor);
  /// out[i] = a[i] + factor * b[i]
  void (*add_scaled)(const double* a, const double* b, double factor, std::size_t n, double* out);
  /// out[i] = a[i] / (b[i] * factor), 0 where b[i] is not positive
  void (*divide)(const double* a, const double* b, double factor, std::size_t n, double* out);
  /// Weights of cells: one each, or `weight` for all if the array is null.
  /// Returns half the weighted sum of squared differences of table and value (0 if null); writes
  /// weight[i] * (table[i] - value[i]) to a gradient that is not null.
  double (*residuals)(const double* table, const double* value, const double* weights, double weight,
                      std::size_t n, double* gradient);
  Assign assign;
  Combine add, multiply;
  Reduce reduce_sum, reduce_max;  ///< small must be initialised to 0, or -inf
  /// out = exp(large - shift[j]), as exp_shifted, unless out is null; sums[j] += those at j. large == out is
  /// allowed.
  void (*exp_rows)(const double* large, const double* shift, double* out, double* sums, AxisRange axes);
};

/// The set for the fastest instruction set of this machine, chosen at the first call.
const Kernels& kernels();

/// Requires arrays of one length.
inline double dot(std::span<const double> a, std::span<const double> b) {
  return kernels().dot(a.data(), b.data(), a.size());
}

}  // namespace pypgm
