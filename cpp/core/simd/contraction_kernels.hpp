#pragma once
#include <cstddef>

namespace pypgm {

/// One loop of a contraction: its length, and how far each table moves at a step (0: it lacks the axis).
struct Loop {
  std::size_t size;
  std::size_t left;
  std::size_t right;
  std::size_t out;
};

/// Loops over two tables and their product, compiled once for each instruction set; outermost loop first.
struct ContractionKernels {
  /// out += left * right, summed over the loops in which out stands still. Each cell of out is added to in an
  /// order that depends on the loops alone, so that cutting a loop in which out moves changes no bit.
  void (*contract)(const double* left, const double* right, double* out, const Loop* loops, std::size_t n);
  double (*largest)(const double* in, std::size_t n);  ///< of the magnitudes; 0 if n == 0
};

/// The fastest set of loops this machine runs.
const ContractionKernels& contraction_kernels();

}  // namespace pypgm
