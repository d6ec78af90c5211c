#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/base/watch.hpp"
#include "core/exact/weight_range.hpp"
#include "core/tables/loops.hpp"

namespace pypgm {

/// A factor of a contraction: plain weights, or extended ones: each is 0 or of a magnitude in [1, 2), times
/// 2^exponent.
struct Operand {
  const double* weights;
  const double* exponents;  ///< null where the weights are plain
  WeightRange range = {};   ///< of the weights
};

/// out = sum of a * b over what out lacks, extended: exact to rounding for weights however far apart, where
/// one of a and b is extended. Plain weights lie within 2^-400 and 2^high, high <= 450. What one table has
/// more of for a shared code, and the other less, is evened out; each table is scaled to a largest weight of
/// about 1 in each row; cells whose rows meet only in weights far below that are summed term by term.
/// Any n_threads gives the same bits. Once the watch is abandoned, the answer means nothing.
void contract_extended(const Loops& loops, const Operand& a, const Operand& b, double* out,
                       double* out_exponents, int n_threads, const Watch* watch = nullptr);

}  // namespace pypgm
