#pragma once
#include <cstddef>

namespace pypgm {

/// Passes over weights that have a power of two each, compiled once for each instruction set. Exponents are
/// whole numbers; that of weight zero is -inf.
struct SpreadKernels {
  /// out[i] = weights[i] * 2^exponents[i], 0 where the exponent is below kLeastPower; none is above 900. NaN
  /// stays. In place is allowed.
  void (*weigh)(const double* weights, const double* exponents, std::size_t n, double* out);
  /// Brings weights[i] into [1, 2) and adds the power of two taken out to exponents[i]. Weights that are not
  /// zero are normal numbers; NaN stays, with exponent 0.
  void (*split)(double* weights, double* exponents, std::size_t n);
  /// Whether any weight is below `least`.
  bool (*any_below)(const double* weights, double least, std::size_t n);
};

inline constexpr double kLeastPower = -1000;

/// The set of loops for this machine, chosen at the first call.
const SpreadKernels& spread_kernels();

}  // namespace pypgm
