#pragma once
// Sums, maxima and log-sum-exp of a table over a Layout, and the expansion of a small table, in threads.
#include <span>

#include "core/tables/layout.hpp"

namespace pypgm {

// Each output cell is written by one thread in a fixed order: no result depends
// on n_threads. Tables may hold -inf (probability zero as a logarithm). O(layout.large) time, no allocation.

/// small[j] = sum of all large cells at j.
void reduce_sum(std::span<const double> large, const Layout& layout, std::span<double> small, int n_threads);

/// small[j] = maximum of all large cells at j.
void reduce_max(std::span<const double> large, const Layout& layout, std::span<double> small, int n_threads);

/// small[j] = log of the sum of exp of the large cells at j, evaluated around their maximum; -inf for a row
/// of -inf. `scratch` holds as many cells as small.
void reduce_logsumexp(std::span<const double> large, const Layout& layout, std::span<double> small,
                      std::span<double> scratch, int n_threads);

enum class Expand { assign, add, multiply };

/// large[i] = small[j], large[i] + small[j] or large[i] * small[j], j the cell of the small table at i.
void expand(Expand op, std::span<double> large, const Layout& layout, std::span<const double> small,
            int n_threads);

}  // namespace pypgm
