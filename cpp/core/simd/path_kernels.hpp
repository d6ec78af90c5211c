#pragma once
#include <cstddef>

namespace pypgm {

/// The cells of a table that is measured cell by cell, at a point of an accelerated path.
struct PathTable {
  const double* x;     ///< the average
  const double* z;     ///< the last marginals
  const double* y;     ///< measured counts
  const double* w;     ///< their weights; the first serves all where one_weight says so
  const double* held;  ///< those to validate with are held + beyond (held - y); null without them
  double beyond;
  bool one_weight;
  std::size_t n;
};

/// What a step shows of the cells it moved, in count units, the average x and its own average, the answer,
/// being where they are after it.
struct PathSums {
  double loss = 0;             ///< L at the answer
  double mean_validation = 0;  ///< the same of x, against the counts to validate with; 0 without them
  double validation = 0;       ///< and of the answer
  double slope = 0;            ///< <g, z' - z>, g the gradient the step went along
  double curvature = 0;        ///< <g', z' - z>, g' the change of the gradient from z to z'

  PathSums& operator+=(const PathSums& other) {
    loss += other.loss;
    mean_validation += other.mean_validation;
    validation += other.validation;
    slope += other.slope;
    curvature += other.curvature;
    return *this;
  }
};

/// Steps of an accelerated path over the cells of one table, compiled once for each instruction set. Averages
/// and marginals times `total` are counts.
struct PathKernels {
  /// With v = total * (x + a (z - x)): theta -= step * w (v - y), and window += step * v unless it is null.
  void (*descend)(const PathTable& table, double total, double a, double step, double* theta, double* window);
  /// With d = next - z and the v above: mean = x + a (next - x), which may lie where x does, and unless
  /// second is null second += share (mean - second), the last of the two being the answer. Adds half w (total
  /// m - y)^2 with m the answer, the same with the counts to validate with (if any) for both, w (v - y) d,
  /// and w d^2.
  void (*follow)(const PathTable& table, const double* next, double total, double a, double share,
                 double* mean, double* second, PathSums& sums);
};

/// The fastest set of loops this machine runs.
const PathKernels& path_kernels();

}  // namespace pypgm
