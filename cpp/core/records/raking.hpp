#pragma once
// Raking: weights of cells whose sums over groups are brought to given ones.
#include <cstddef>
#include <cstdint>
#include <span>

namespace pypgm {

/// Wanted sums of weights: cell i belongs to group groups[i] < sums.size().
struct WantedSums {
  std::span<const std::uint32_t> groups;
  std::span<const double> sums;
};

/// Whether all groups are below their number.
bool are_below(std::span<const std::uint32_t> groups, std::size_t n_groups);

/// `passes` times, for each of the wanted sums in turn, multiplies the weights of each group by wanted /
/// present sum, by 1000 at most, and not where the present sum is 0. Iterative proportional fitting on the
/// cells given. Requires finite weights >= 0, groups.size() == weights.size(). O(passes * wanted.size() *
/// weights.size()).
void rake(std::span<const WantedSums> wanted, int passes, std::span<double> weights);

}  // namespace pypgm
