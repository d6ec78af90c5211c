#pragma once
#include <vector>

#include "core/simd/contraction_kernels.hpp"

namespace pypgm {

/// Two tables of logarithms of magnitudes, and the signs beside them: null where no weight is negative.
struct LogFactors {
  const double* left;
  const double* right;
  const double* left_signs;
  const double* right_signs;
};

/// out = max(out, left + right) over the loops; the three tables begin at the offsets `from`.
void largest_products(const std::vector<Loop>& loops, const Loop& from, const LogFactors& logs, double* out);

/// sums += sign * exp(left + right - tops) over the loops; tops and sums lie like the product.
void sum_products(const std::vector<Loop>& loops, const Loop& from, const LogFactors& logs,
                  const double* tops, double* sums);

}  // namespace pypgm
