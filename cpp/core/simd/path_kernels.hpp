#pragma once
// Loops of accelerated descent over the cells of one measured table.
#include <cstddef>

namespace pypgm {

/// The cells of a table that is measured cell by cell, at an iterate of accelerated descent.
struct PathTable {
  const double* x;         ///< the average
  const double* z;         ///< the last marginals
  const double* y;         ///< measured counts
  const double* w;         ///< their weights; only the first is used if one_weight
  const double* held_out;  ///< the counts to validate with are held_out + beyond (held_out - y); may be null
  double beyond;
  bool one_weight;
  std::size_t n;
};

/// What a step shows of the cells it moved, in count units, the average x being where it is after it.
struct PathSums {
  double loss = 0;           ///< L at x
  double held_out_loss = 0;  ///< the same against the counts to validate with; 0 without them
  double slope = 0;          ///< <g, z' - z>, g the gradient the step went along
  double curvature = 0;      ///< <g', z' - z>, g' the change of the gradient from z to z'

  PathSums& operator+=(const PathSums& other) {
    loss += other.loss;
    held_out_loss += other.held_out_loss;
    slope += other.slope;
    curvature += other.curvature;
    return *this;
  }
};

/// Steps of accelerated descent over the cells of one table, compiled for each instruction set. Averages and
/// marginals times `total` are counts.
struct PathKernels {
  /// With v = total * (x + a (z - x)): theta -= step * w (v - y), and unless they are null, window += step *
  /// v and mean += a (theta - mean), but for cells of theta at -inf.
  void (*descend)(const PathTable& table, double total, double a, double step, double* theta, double* window,
                  double* mean);
  /// With d = next - z and the v above: mean = x + a (next - x), which may lie where x does. Adds half
  /// w (total mean - y)^2, the same with the counts to validate with (if any), w (v - y) d, and w d^2.
  void (*follow)(const PathTable& table, const double* next, double total, double a, double* mean,
                 PathSums& sums);
};

/// The set for the fastest instruction set of this machine.
const PathKernels& path_kernels();

}  // namespace pypgm
