// Takes pairs in their order while some greedy rule still finds a tree within the budget.
#include "core/plan/bounded_tree.hpp"

namespace pypgm {

std::vector<std::uint8_t> choose_pairs(std::span<const std::size_t> sizes, std::span<const Scope> pairs,
                                       std::size_t forced, double max_cells, std::size_t patience,
                                       Watch& watch) {
  std::vector<std::uint8_t> taken(pairs.size(), 0);
  std::vector<Scope> chosen;
  Rule rule = Rule::fill;  // the one that fitted last
  std::size_t refused = 0;
  for (std::size_t i = 0; i < pairs.size() && refused < patience && (i < forced || !watch.is_over()); ++i) {
    watch.count();
    chosen.push_back(pairs[i]);
    if (i < forced || fits_greedily(sizes, chosen, max_cells, rule)) {
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
