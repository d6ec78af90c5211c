// Takes pairs in their order, many at once, while some greedy rule still finds a tree within the budget.
#include "core/plan/bounded_tree.hpp"

#include <algorithm>

namespace pypgm {

std::vector<std::uint8_t> choose_pairs(std::span<const std::size_t> sizes, std::span<const Scope> pairs,
                                       std::size_t forced, double max_cells, std::size_t patience,
                                       Watch& watch) {
  forced = std::min(forced, pairs.size());
  std::vector<std::uint8_t> taken(pairs.size(), 0);
  std::vector<Scope> chosen(pairs.begin(), pairs.begin() + static_cast<std::ptrdiff_t>(forced));
  std::fill_n(taken.begin(), forced, 1);
  Rule rule = Rule::fill;   // the one that fitted last
  std::size_t refused = 0;  // in a row
  std::size_t tried = 1;    // at once: twice as many after some that fit, half of some that do not
  for (std::size_t i = forced; i < pairs.size() && refused < patience && !watch.is_over();) {
    tried = std::min(tried, pairs.size() - i);
    watch.count();
    const std::span<const Scope> next = pairs.subspan(i, tried);
    chosen.insert(chosen.end(), next.begin(), next.end());
    if (fits_greedily(sizes, chosen, max_cells, rule)) {
      std::fill_n(taken.begin() + static_cast<std::ptrdiff_t>(i), tried, 1);
      refused = 0;
      i += tried;
      tried *= 2;
    } else {
      chosen.resize(chosen.size() - tried);
      if (tried == 1) {
        ++refused;
        ++i;
      }
      tried = std::max<std::size_t>(1, tried / 2);
    }
  }
  return taken;
}

}  // namespace pypgm
