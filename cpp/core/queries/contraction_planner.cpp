// The order of products and sums that eliminates attributes at the least cost and ends with those to keep.
#include "core/queries/contraction_planner.hpp"

#include <algorithm>
#include <limits>
#include <queue>
#include <tuple>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/watch.hpp"
#include "core/plan/elimination.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kFew = 12;  // of so many tables all pairs are compared

/// The attributes some leaf or the answer has, ascending: planning does not touch the others.
Axes attributes_of(const std::vector<Leaf>& leaves, const Axes& keep) {
  Axes used = keep;
  for (const Leaf& leaf : leaves) used.insert(used.end(), leaf.axes.begin(), leaf.axes.end());
  std::sort(used.begin(), used.end());
  used.erase(std::unique(used.begin(), used.end()), used.end());
  return used;
}

/// A perfect order of the graph an elimination filled in that ends with `keep`, a clique of it: the reverse
/// of a maximum cardinality search from there. Of equals those that go late in the elimination are met first.
std::vector<std::int32_t> order_ending_with(const Elimination& elimination, const Scope& keep) {
  const std::size_t n = elimination.order.size();
  std::vector<std::int32_t> position(n);
  std::vector<Scope> neighbours(n);
  for (std::size_t i = 0; i < n; ++i) {
    const std::int32_t v = elimination.order[i];
    position[at(v)] = static_cast<std::int32_t>(i);
    for (const std::int32_t u : elimination.bags[i]) {
      if (u == v) continue;
      neighbours[at(u)].push_back(v);
      neighbours[at(v)].push_back(u);
    }
  }
  std::priority_queue<std::pair<std::int32_t, std::int32_t>> queue;  // visited neighbours, position
  std::vector<std::int32_t> weight(n, 0);
  std::vector<std::int32_t> reversed;
  const auto top = static_cast<std::int32_t>(n);
  for (std::size_t v = 0; v < n; ++v) queue.emplace(0, position[v]);
  for (const std::int32_t v : keep) queue.emplace(top, position[at(v)]);
  std::vector<std::uint8_t> seen(n, 0);
  while (!queue.empty()) {
    const std::int32_t v = elimination.order[at(queue.top().second)];
    queue.pop();
    if (seen[at(v)]++ != 0) continue;
    reversed.push_back(v);
    for (const std::int32_t u : neighbours[at(v)]) {
      if (seen[at(u)] == 0) queue.emplace(++weight[at(u)], position[at(u)]);
    }
  }
  std::reverse(reversed.begin(), reversed.end());
  return reversed;
}

/// A good order over all attributes in use, those to keep at the end.
Axes find_order(const std::vector<std::size_t>& sizes, const std::vector<Leaf>& leaves, const Axes& keep) {
  const Axes used = attributes_of(leaves, keep);
  const auto compact = [&](const Axes& axes) {
    Scope scope;
    for (const std::int32_t a : axes) {
      scope.push_back(
          static_cast<std::int32_t>(std::lower_bound(used.begin(), used.end(), a) - used.begin()));
    }
    std::sort(scope.begin(), scope.end());
    return scope;
  };
  const std::vector<std::size_t> own = sizes_of(sizes, used);
  std::vector<Scope> cliques;
  cliques.reserve(leaves.size() + 1);
  for (const Leaf& leaf : leaves) cliques.push_back(compact(leaf.axes));
  const Scope last = compact(keep);
  cliques.push_back(last);
  const auto elimination = [&] {
    try {
      return eliminate(own, cliques, false);
    } catch (const HopelessElimination& error) {
      Scope clique;
      for (const std::int32_t v : error.clique()) clique.push_back(used[at(v)]);
      throw HopelessElimination(clique);
    }
  };
  Axes order = order_ending_with(elimination(), last);
  for (std::int32_t& v : order) v = used[at(v)];
  return order;
}

class EliminationPlanner {
 public:
  EliminationPlanner(const std::vector<std::size_t>& sizes, const std::vector<Leaf>& leaves,
                     const Axes& order, std::size_t n_keep)
      : sizes_(sizes),
        rank_(sizes.size(), std::numeric_limits<std::size_t>::max()),
        kept_from_(order.size() - n_keep),
        holders_(sizes.size()),
        n_holders_(sizes.size(), 0) {
    for (std::size_t i = 0; i < order.size(); ++i) rank_[at(order[i])] = i;
    for (const Leaf& leaf : leaves) add(leaf.axes);
  }

  std::vector<ContractionStep> steps;

  /// Joins all tables that hold an attribute and sums it out.
  void eliminate(std::int32_t attribute) {
    leave_if_abandoned();
    std::vector<int> own = live(holders_[at(attribute)]);
    if (own.size() == 1) take(own[0], -1, what_stays(own[0], -1));
    join_many(own);
    while (own.size() > 1) join_two(own);  // the last product sums the attribute out
  }

  /// The product of what is left, with the axes asked for.
  void finish(const Axes& keep) {
    std::vector<int> rest;
    for (std::size_t t = 0; t < tables_.size(); ++t) {
      if (alive_[t] != 0) rest.push_back(static_cast<int>(t));
    }
    join_many(rest);
    while (rest.size() > 2) join_two(rest);
    if (rest.size() == 1 && !steps.empty() && tables_[at(rest[0])] == keep) return;
    take(rest[0], rest.size() > 1 ? rest[1] : -1, keep);
  }

 private:
  const std::vector<std::size_t>& sizes_;
  std::vector<std::size_t> rank_;
  std::size_t kept_from_;
  std::vector<std::vector<int>> holders_;
  std::vector<std::size_t> n_holders_;  ///< of those alive
  std::vector<Axes> tables_;
  std::vector<std::uint8_t> alive_;

  void add(const Axes& axes) {
    for (const std::int32_t a : axes) {
      holders_[at(a)].push_back(static_cast<int>(tables_.size()));
      ++n_holders_[at(a)];
    }
    tables_.push_back(axes);
    alive_.push_back(1);
  }

  void retire(int table) {
    for (const std::int32_t a : tables_[at(table)]) --n_holders_[at(a)];
    alive_[at(table)] = 0;
  }

  std::vector<int> live(std::vector<int>& tables) {
    std::erase_if(tables, [&](int t) { return alive_[at(t)] == 0; });
    return tables;
  }

  Axes joined(int left, int right) const {
    Axes axes = tables_[at(left)];
    if (right >= 0) axes.insert(axes.end(), tables_[at(right)].begin(), tables_[at(right)].end());
    std::sort(axes.begin(), axes.end(),
              [&](std::int32_t a, std::int32_t b) { return rank_[at(a)] < rank_[at(b)]; });
    axes.erase(std::unique(axes.begin(), axes.end()), axes.end());
    return axes;
  }

  /// The axes of a product without those that no other table has and that are not to be kept.
  Axes what_stays(int left, int right) const {
    const auto holds = [&](int table, std::int32_t a) -> std::size_t {
      return table >= 0 && std::ranges::find(tables_[at(table)], a) != tables_[at(table)].end() ? 1 : 0;
    };
    Axes axes = joined(left, right);
    std::erase_if(axes, [&](std::int32_t a) {
      return rank_[at(a)] < kept_from_ && n_holders_[at(a)] == holds(left, a) + holds(right, a);
    });
    return axes;
  }

  double cells(const Axes& axes) const { return count_cells(sizes_, axes); }

  /// Adds a step; refuses a table that fits no memory at once, as planning the rest may take minutes.
  int take(int left, int right, const Axes& axes) {
    if (cells(axes) > kHopelessCells) {
      Scope clique = axes;
      std::sort(clique.begin(), clique.end());
      throw HopelessElimination(clique);
    }
    steps.push_back({left, right, axes});
    retire(left);
    if (right >= 0) retire(right);
    add(axes);
    return static_cast<int>(tables_.size()) - 1;
  }

  /// Joins the two smallest of many tables, the older ones of equals, until there are few.
  void join_many(std::vector<int>& own) {
    if (own.size() <= kFew) return;
    using Entry = std::tuple<double, std::size_t, int>;  // cells, age, table
    std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
    std::size_t age = 0;
    const auto enter = [&](int table) { queue.emplace(cells(tables_[at(table)]), age++, table); };
    const auto smallest = [&] {
      const int table = std::get<int>(queue.top());
      queue.pop();
      return table;
    };
    for (const int table : own) enter(table);
    own.clear();
    int product = -1;
    while (queue.size() + (product < 0 ? 0 : 1) > kFew) {
      leave_if_abandoned();
      if (product >= 0) enter(product);
      const int left = smallest();
      const int right = smallest();
      product = take(left, right, what_stays(left, right));
    }
    while (!queue.empty()) own.push_back(smallest());
    own.push_back(product);
  }

  /// Joins the two tables with the smallest product.
  void join_two(std::vector<int>& own) {
    std::size_t first = 0;
    std::size_t second = 1;
    double best = kInfinity;
    for (std::size_t i = 0; i < own.size(); ++i) {
      for (std::size_t j = i + 1; j < own.size(); ++j) {
        const double size = cells(joined(own[i], own[j]));
        if (size < best) std::tie(best, first, second) = std::tuple(size, i, j);
      }
    }
    leave_if_abandoned();
    const int product = take(own[first], own[second], what_stays(own[first], own[second]));
    own.erase(own.begin() + static_cast<std::ptrdiff_t>(second));
    own.erase(own.begin() + static_cast<std::ptrdiff_t>(first));
    own.push_back(product);
  }
};

}  // namespace

Contraction plan_elimination(std::vector<std::size_t> sizes, std::vector<Leaf> leaves, const Axes& keep,
                             std::span<const std::int32_t> order) {
  Axes own = order.empty() ? find_order(sizes, leaves, keep) : Axes(order.begin(), order.end());
  std::erase_if(own, [&](std::int32_t a) { return std::find(keep.begin(), keep.end(), a) != keep.end(); });
  own.insert(own.end(), keep.begin(), keep.end());
  EliminationPlanner planner(sizes, leaves, own, keep.size());
  for (std::size_t i = 0; i + keep.size() < own.size(); ++i) planner.eliminate(own[i]);
  planner.finish(keep);
  const int last = static_cast<int>(leaves.size() + planner.steps.size()) - 1;
  // What is summed out first is outermost: the loops inside are then long.
  return make_contraction(std::move(sizes), std::move(leaves), std::move(planner.steps), {last}, own);
}

}  // namespace pypgm
