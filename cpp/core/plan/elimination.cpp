#include "core/plan/elimination.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>

#include "core/base/numbers.hpp"
#include "core/base/xoshiro.hpp"
#include "core/plan/elimination_bound.hpp"
#include "core/plan/elimination_core.hpp"
#include "core/plan/elimination_graph.hpp"
#include "core/plan/elimination_state.hpp"

namespace pypgm {

namespace {

constexpr int kRounds = 30;            // restarts of the exhaustive search, at least,
constexpr int kMostRounds = 2000;      // and at most,
constexpr double kSmallWork = 6e6;     // where they are cheap, for up to
constexpr std::size_t kSmall = 50;     // attributes,
constexpr double kLargeWork = 1e8;     // and for more;
constexpr double kMostWork = 4e8;      // and what ends it where they are not
constexpr int kPatience = 10;          // rounds without a better tree that end the short search
constexpr double kTableWork = 200;     // of a table beside its cells: 160 to 230 ns on networks of 20 to 76
constexpr double kMostCells = 1e7;     // a larger tree is not searched for as long as it would run
constexpr double kLargeScore = 1e300;  // what scores are cut to, so that none looks like one taken out

/// Operations of one propagation, an operation being about a nanosecond: passes over the cells, and what each
/// table takes beside them.
double propagation_work(double cells, std::size_t n_tables) {
  return 3 * cells + kTableWork * static_cast<double>(n_tables);
}

/// Sums the tables over the bags that stay in the junction tree: bag i lies in an earlier bag exactly if an
/// earlier one, once its own attribute is out, is bag i.
double tree_cells(std::span<const std::size_t> sizes, const Steps& steps) {
  const std::size_t n = steps.order.size();
  std::vector<std::size_t> position(sizes.size());
  for (std::size_t i = 0; i < n; ++i) position[static_cast<std::size_t>(steps.order[i])] = i;
  std::vector<std::uint8_t> contained(n, 0);
  double cells = 0;
  for (std::size_t i = 0; i < n; ++i) {
    std::size_t next = n;
    double table = static_cast<double>(sizes[static_cast<std::size_t>(steps.order[i])]);
    for (const std::int32_t u : steps.neighbours(i)) {
      next = std::min(next, position[at(u)]);
      table *= static_cast<double>(sizes[at(u)]);
    }
    if (next < n && steps.neighbours(next).size() + 1 == steps.neighbours(i).size()) contained[next] = 1;
    if (contained[i] == 0) cells += table;
  }
  return cells;
}

Elimination finished(std::span<const std::size_t> sizes, const Steps& steps, double work) {
  Elimination result;
  result.order = steps.order;
  result.cells = tree_cells(sizes, steps);
  result.work = work;
  result.bags.reserve(steps.order.size());
  for (std::size_t i = 0; i < steps.order.size(); ++i) {
    const auto near = steps.neighbours(i);
    Scope bag(near.begin(), near.end());
    bag.push_back(steps.order[i]);
    std::sort(bag.begin(), bag.end());
    result.bags.push_back(std::move(bag));
  }
  return result;
}

/// The same permutation for the same round, on every machine.
std::vector<std::int32_t> shuffled(std::size_t n, std::uint64_t round) {
  std::vector<std::int32_t> ranks(n);
  std::iota(ranks.begin(), ranks.end(), 0);
  SplitMix words(round * 0x9e3779b97f4a7c15U);
  for (std::size_t i = n; round != 0 && i > 1; --i) std::swap(ranks[i - 1], ranks[words.next() % i]);
  return ranks;
}

/// Values in the order of the ranks.
template <class T>
std::vector<T> by_rank(const std::vector<T>& values, std::span<const std::int32_t> ranks) {
  std::vector<T> placed(values.size());
  for (std::size_t i = 0; i < values.size(); ++i) placed[at(ranks[i])] = values[i];
  return placed;
}

/// The attributes of a vertex and its neighbours, ascending.
template <class Graph>
Scope clique_of(const Graph& graph, const Scope& named, std::int32_t v) {
  Scope clique{named[at(v)]};
  graph.for_neighbours(v, [&](std::int32_t u) { clique.push_back(named[at(u)]); });
  std::sort(clique.begin(), clique.end());
  return clique;
}

/// Eliminates the core by a rule, ties going to the smaller rank. Gives up, with an empty order, at a
/// hopeless table, whose clique it leaves behind, or where the tables so far are certain to exceed `limit`
/// cells: bags inside others at most double the sum of those that stay, as long as every attribute has two
/// values.
template <class Graph>
Steps eliminate_core(const EliminationCore& core, Rule rule, std::span<const std::int32_t> ranks,
                     double limit, double& work, Scope& hopeless) {
  const std::size_t n = core.names.size();
  const Scope named = by_rank(core.names, ranks);
  const std::vector<double> sizes = by_rank(core.sizes, ranks);
  const bool all_choose = *std::min_element(sizes.begin(), sizes.end()) > 1;
  State<Graph> state = renamed<Graph>(core, rule, ranks);
  const bool scored = rule == Rule::fill || rule == Rule::weighted_fill;
  const auto table = [&](std::int32_t v) {
    double cells = sizes[at(v)];
    state.graph.for_neighbours(v, [&](std::int32_t u) { cells *= sizes[at(u)]; });
    state.work += state.graph.reads(v, v) + state.degree[at(v)];
    return std::min(cells, kLargeScore);
  };
  const auto score = [&](std::int32_t v) {
    if (rule == Rule::neighbours) return static_cast<double>(state.degree[at(v)]);
    return scored ? std::min(state.fill[at(v)], kLargeScore) : table(v);
  };
  MinTree queue(n);
  for (std::int32_t v = 0; at(v) < n; ++v) queue.set(v, score(v));
  Steps steps = core.steps;
  Scope near, touched, names_near;
  const auto add = [&](std::int32_t v) {
    names_near.clear();
    for (const std::int32_t u : near) names_near.push_back(named[at(u)]);
    steps.add(named[at(v)], names_near);
  };
  double cells = 0;
  for (std::size_t left = n; left > 0; --left) {
    const std::int32_t v = queue.argmin();
    queue.take_out(v);
    const double own = table(v);
    if (own > kHopelessCells) hopeless = clique_of(state.graph, named, v);
    cells += own;
    if (own > kHopelessCells || (all_choose && cells > 2 * limit)) {
      work += state.work;
      return {};
    }
    state.take_out(v, scored, near, touched);
    add(v);
    state.work += 8 * static_cast<double>(touched.size());
    if (near.size() + 1 == left) {
      // All that is left stood beside v, and so is one clique: nothing is left to choose.
      while (!near.empty()) {
        const std::int32_t first = near.front();
        near.erase(near.begin());
        add(first);
      }
      break;
    }
    for (const std::int32_t u : touched) queue.set(u, score(u));
  }
  work += state.work;
  return steps;
}

template <class Graph>
Elimination search(std::span<const std::size_t> sizes, std::span<const Scope> cliques, bool exhaustive) {
  constexpr Rule kRules[] = {Rule::fill, Rule::weighted_fill, Rule::weight, Rule::neighbours};
  const EliminationCore core = core_of<Graph>(sizes, cliques);
  const std::size_t n = core.names.size();
  if (n == 0) return finished(sizes, core.steps, core.work);
  Steps best;
  Scope hopeless;
  double least = kInfinity;
  double work = core.work;
  int improved = 0;
  const auto enough = [&](int round) {
    if (best.order.empty()) return false;
    if (exhaustive)
      return work >= kMostWork ||
             (round >= kRounds && work >= (sizes.size() <= kSmall ? kSmallWork : kLargeWork));
    return round > improved + kPatience ||
           work >= propagation_work(std::min(least, kMostCells), cliques.size());
  };
  for (int round = 0; round < kMostRounds; ++round) {
    const std::vector<std::int32_t> ranks = shuffled(n, static_cast<std::uint64_t>(round));
    for (const Rule rule : kRules) {
      if (enough(round)) return finished(sizes, best, work);
      Steps next = eliminate_core<Graph>(core, rule, ranks, least, work, hopeless);
      if (next.order.empty()) continue;
      const double cells = tree_cells(sizes, next);
      work += 2 * static_cast<double>(next.near.size() + next.order.size());
      if (cells < least) {
        least = cells;
        improved = round;
        best = std::move(next);
      }
    }
    if (best.order.empty()) throw HopelessElimination(hopeless);
  }
  return finished(sizes, best, work);
}

template <class Graph>
Elimination greedily(std::span<const std::size_t> sizes, std::span<const Scope> cliques, Rule rule) {
  const EliminationCore core = core_of<Graph>(sizes, cliques);
  double work = core.work;
  if (core.names.empty()) return finished(sizes, core.steps, work);
  const std::vector<std::int32_t> ranks = shuffled(core.names.size(), 0);
  Scope hopeless;
  const Steps steps = eliminate_core<Graph>(core, rule, ranks, kInfinity, work, hopeless);
  if (!steps.order.empty()) return finished(sizes, steps, work);
  Elimination none;
  none.cells = kInfinity;
  return none;
}

template <class Graph>
Elimination in_order(std::span<const std::size_t> sizes, std::span<const Scope> cliques,
                     std::span<const std::int32_t> order) {
  State<Graph> state = graph_of<Graph>(std::vector<double>(sizes.size(), 1.0), cliques, false);
  Steps steps;
  Scope near, touched;
  for (const std::int32_t v : order) {
    state.take_out(v, false, near, touched);
    check_table(sizes, v, near);
    steps.add(v, near);
  }
  return finished(sizes, steps, state.work);
}

}  // namespace

Elimination eliminate_greedily(std::span<const std::size_t> sizes, std::span<const Scope> cliques,
                               Rule rule) {
  return sizes.size() <= kDense ? greedily<BitGraph>(sizes, cliques, rule)
                                : greedily<ListGraph>(sizes, cliques, rule);
}

Elimination eliminate_in_order(std::span<const std::size_t> sizes, std::span<const Scope> cliques,
                               std::span<const std::int32_t> order) {
  return sizes.size() <= kDense ? in_order<BitGraph>(sizes, cliques, order)
                                : in_order<ListGraph>(sizes, cliques, order);
}

Elimination eliminate(std::span<const std::size_t> sizes, std::span<const Scope> cliques, bool exhaustive) {
  check_bound(sizes, cliques);
  return sizes.size() <= kDense ? search<BitGraph>(sizes, cliques, exhaustive)
                                : search<ListGraph>(sizes, cliques, exhaustive);
}

}  // namespace pypgm
