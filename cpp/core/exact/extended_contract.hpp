#pragma once
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/tables/loops.hpp"

namespace pypgm {

/// A table of weights for a contraction: plain, or extended: each is 0 or in [1, 2), times 2^exponent.
struct ExtendedTable {
  const double* weights;
  const double* exponents;  ///< null where the weights are plain
  double high = 1;          ///< no weight is above 2^high
};

/// out = sum of a * b over what out lacks, extended: exact to rounding for weights however far apart, where
/// one of a and b is extended. Plain weights lie within 2^-400 and 2^high, high <= 450. What one table has
/// more of for a shared code, and the other less, is evened out; each table is scaled to a largest weight of
/// about 1 in each row; cells whose rows meet only in weights far below that are summed term by term.
/// `scratch` has room for both tables' Rows::room(). Any n_threads gives the same bits; no allocation.
void contract_extended(const Loops& loops, const Rows& rows_a, const Rows& rows_b, const ExtendedTable& a,
                       const ExtendedTable& b, double* out, double* out_exponents, double* scratch,
                       int n_threads);

}  // namespace pypgm
