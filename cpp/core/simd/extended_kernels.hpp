#pragma once
#include <cstddef>

namespace pypgm {

/// Weights, and their exponents: one for each, or one for all.
struct Terms {
  const double* weights;
  const double* exponents;
  bool one;  ///< for all
};

/// Passes over weights that have a power of two each, compiled once for each instruction set. Exponents are
/// whole numbers; that of weight zero is -inf.
struct ExtendedKernels {
  /// out[i] = weights[i] * 2^exponents[i], 0 where the exponent is below kLeastPower; none is above 900. NaN
  /// stays. In place is allowed.
  void (*weigh)(const double* weights, const double* exponents, std::size_t n, double* out);
  /// Brings the magnitude of weights[i] into [1, 2) and adds the power of two taken out to exponents[i].
  /// Weights that are not zero are normal numbers; NaN stays, with exponent 0.
  void (*split)(double* weights, double* exponents, std::size_t n);
  /// tops[i] = the larger of it and the exponent of a[i] * b[i], where that is not zero.
  void (*raise)(const Terms& a, const Terms& b, std::size_t n, double* tops);
  /// sums[i] += a[i] * b[i] / 2^tops[i]
  void (*add)(const Terms& a, const Terms& b, std::size_t n, const double* tops, double* sums);
  /// Whether the magnitude of any weight is below `least` > 0.
  bool (*any_below)(const double* weights, double least, std::size_t n);
};

inline constexpr double kLeastPower = -1000;

/// The set of loops for this machine, chosen at the first call.
const ExtendedKernels& extended_kernels();

}  // namespace pypgm
