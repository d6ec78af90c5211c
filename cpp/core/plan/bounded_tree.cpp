// Takes pairs in their order while some greedy rule still finds a tree within the budget.
#include "core/plan/bounded_tree.hpp"

#include <algorithm>

namespace pypgm {

namespace {

/// Whether one of the greedy rules finds a tree of so few cells.
bool fits(std::span<const std::size_t> sizes, std::span<const Scope> pairs, double max_cells) {
  constexpr Rule kRules[] = {Rule::fill, Rule::weighted_fill, Rule::weight};
  return std::any_of(std::begin(kRules), std::end(kRules),
                     [&](Rule rule) { return eliminate_greedily(sizes, pairs, rule).cells <= max_cells; });
}

}  // namespace

std::vector<std::uint8_t> choose_pairs(std::span<const std::size_t> sizes, std::span<const Scope> pairs,
                                       std::size_t forced, double max_cells, std::size_t patience,
                                       Watch& watch) {
  std::vector<std::uint8_t> taken(pairs.size(), 0);
  std::vector<Scope> chosen;
  std::size_t refused = 0;
  for (std::size_t i = 0; i < pairs.size() && refused < patience && (i < forced || !watch.is_over()); ++i) {
    watch.count();
    chosen.push_back(pairs[i]);
    if (i < forced || fits(sizes, chosen, max_cells)) {
      taken[i] = 1;
      refused = 0;
    } else {
      chosen.pop_back();
      ++refused;
    }
  }
  return taken;
}

}  // namespace pypgm
