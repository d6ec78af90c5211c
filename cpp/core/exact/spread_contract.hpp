#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/tables/loops.hpp"

namespace pypgm {

/// A table of weights for a contraction: as they stand, or spread: each in [1, 2), or 0, and times
/// 2^exponent.
struct SpreadTable {
  const double* weights;
  const double* exponents;  ///< null where the weights are as they stand
  double high = 1;          ///< no weight is above 2^high
};

/// out = sum of a * b over what out lacks, spread: exact to rounding for weights however far apart, where one
/// of a and b is spread. Plain weights lie within 2^-400 and 2^high, high <= 450. What one
/// table has more of for a shared code, and the other less, is evened out; each table is scaled to a largest
/// weight of about 1 in each row; cells whose rows meet only in weights far below that are summed
/// term by term. `scratch` has room for both tables' Rows::room(). Any n_threads gives the same bits; no
/// allocation.
void contract_spread(const Loops& loops, const Rows& rows_a, const Rows& rows_b, const SpreadTable& a,
                     const SpreadTable& b, double* out, double* out_exponents, double* scratch,
                     int n_threads);

}  // namespace pypgm
