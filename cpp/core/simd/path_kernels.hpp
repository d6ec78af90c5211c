#pragma once
// Loops of accelerated descent over the cells of one measured table.
#include <cstddef>

namespace pypgm {

/// The cells of a table that is measured cell by cell, at an iterate of accelerated descent.
struct PathTable {
  const double* x;     ///< the average
  const double* z;     ///< the last marginals
  const double* y;     ///< measured counts
  const double* w;     ///< their weights; only the first is used if one_weight
  const double* held;  ///< the counts to validate with are held + beyond (held - y); may be null
  double beyond;
  bool one_weight;
  std::size_t n;
};

/// Sums over the cells a step moved, in count units. The average x and the result (x, or its own average) are
/// taken after the step.
struct PathSums {
  double loss = 0;             ///< L at the result
  double mean_validation = 0;  ///< the loss of x against the counts to validate with; 0 without them
  double validation = 0;       ///< the same at the result
  double slope = 0;            ///< <g, z' - z>, g the gradient of the step
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

/// Steps of accelerated descent over the cells of one table, compiled for each instruction set. Averages and
/// marginals times `total` are counts.
struct PathKernels {
  /// With v = total * (x + a (z - x)): theta -= step * w (v - y), and window += step * v unless it is null.
  void (*descend)(const PathTable& table, double total, double a, double step, double* theta, double* window);
  /// mean = x + a (next - x); mean may be x. Unless second is null, second += share (mean - second). The
  /// result m is second, or mean without it. Adds to sums, with d = next - z and v as above: the loss w
  /// (total m - y)^2 / 2; the same against the counts to validate with, at mean and at m; the slope w (v - y)
  /// d; the curvature w d^2.
  void (*follow)(const PathTable& table, const double* next, double total, double a, double share,
                 double* mean, double* second, PathSums& sums);
};

/// The set for the fastest instruction set of this machine.
const PathKernels& path_kernels();

}  // namespace pypgm
