// Searches an elimination order: simplicial attributes first, then greedy rules and restarts on what is left,
// within a budget of counted work.
#include "core/plan/elimination.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>

#include "core/base/numbers.hpp"
#include "core/base/xoshiro.hpp"
#include "core/plan/elimination_graph.hpp"
#include "core/plan/elimination_state.hpp"
#include "core/tables/layout.hpp"

namespace pypgm {

namespace {

constexpr Rule kRules[] = {Rule::fill, Rule::weighted_fill, Rule::weight};
constexpr int kMinRestarts = 30;         // of the exhaustive search
constexpr int kMaxRestarts = 2000;       // of the exhaustive search, while a restart is cheap
constexpr std::size_t kSmallGraph = 50;  // attributes of a graph that is searched with the small budget
constexpr double kSmallGraphWork = 6e6;  // operations of restarts, small graphs
constexpr double kLargeGraphWork = 1e8;  // operations of restarts, larger graphs
constexpr double kMaxWork = 4e8;    // operations after which the minimum of restarts is not completed either
constexpr int kPatience = 10;       // restarts without a better tree that end the short search
constexpr double kTableWork = 200;  // ns of a table beside its cells: 160 to 230 ns on networks of 20 to 76
constexpr double kMaxSearchedCells = 1e7;  // a larger tree is not searched for as long as it would run
constexpr double kHopelessBits = 50;       // log2 of kHopelessCells
constexpr double kRounding = 1e-6;         // relative error of sums of logarithms
constexpr std::size_t kDense = 16;         // pairs an attribute, from which on a bound saves time
constexpr double kLargeScore = 1e300;      // upper limit of a score: below the mark of one that was taken out

/// An attribute and its neighbours, all ascending.
Scope bag_of(std::int32_t v, std::span<const std::int32_t> near) {
  Scope bag(near.begin(), near.end());
  bag.insert(std::lower_bound(bag.begin(), bag.end(), v), v);
  return bag;
}

/// Throws HopelessElimination if the table over an attribute and its neighbours is hopeless.
void check_table(std::span<const std::size_t> sizes, std::int32_t v, std::span<const std::int32_t> near) {
  const double cells = count_cells(sizes, near) * static_cast<double>(sizes[at(v)]);
  if (cells > kHopelessCells) throw HopelessElimination(bag_of(v, near));
}

/// Throws HopelessElimination where a bound says that every order makes a hopeless table: as long as each
/// attribute left has, with those of its neighbours that are left, a table of at least c cells, the first of
/// them to go makes a table of at least c. O(edges log n); weighted degeneracy. A sparse graph is not looked
/// at: a search finds out as soon.
void check_bound(std::span<const std::size_t> sizes, std::span<const Scope> cliques) {
  std::size_t pairs = 0;
  for (const Scope& clique : cliques) pairs += clique.size() * clique.size() / 2;
  if (pairs < kDense * sizes.size()) return;
  std::vector<double> bits(sizes.size());
  std::ranges::transform(sizes, bits.begin(), [](auto size) { return std::log2(static_cast<double>(size)); });
  State state(std::move(bits));
  for (const Scope& clique : cliques) state.join_all(clique, false);
  MinTree queue(sizes.size());
  const auto put = [&](std::int32_t v) { queue.set(v, state.weight[at(v)] + state.mass[at(v)]); };
  for (std::int32_t v = 0; at(v) < sizes.size(); ++v) put(v);
  while (queue.least() < MinTree::kOut) {
    const std::int32_t v = queue.argmin();
    state.find_near(v);
    if (queue.least() > kHopelessBits + kRounding) throw HopelessElimination(bag_of(v, state.near));
    queue.take_out(v);
    state.graph.remove(v, state.near);
    for (const std::int32_t u : state.near) {
      state.mass[at(u)] -= state.weight[at(v)];
      put(u);
    }
  }
}

Elimination finished(std::span<const std::size_t> sizes, const Steps& steps) {
  Elimination result{steps.order, {}, steps.tree_cells(sizes)};
  result.bags.reserve(steps.order.size());
  for (std::size_t i = 0; i < steps.order.size(); ++i) {
    result.bags.push_back(bag_of(steps.order[i], steps.neighbours(i)));
  }
  return result;
}

/// What remains when attributes whose neighbours are all adjacent have been eliminated: these add no edge and
/// come first under every good rule. It is searched many times, so it is small and has names 0, 1, ….
struct Core {
  Steps steps;       ///< of those gone
  Scope attributes;  ///< by name; ascending
  State counted;     ///< all weights 1
  State weighted;    ///< by the sizes
  State state;       ///< of a run; kept for its buffers
  double work;       ///< operations spent planning, each of about a nanosecond
};

Core core_of(std::span<const std::size_t> sizes, std::span<const Scope> cliques) {
  const std::size_t n = sizes.size();
  State state(std::vector<double>(n, 1.0));
  for (const Scope& clique : cliques) state.join_all(clique, true);
  MinTree queue(n);
  for (std::size_t v = 0; v < n; ++v) queue.set(static_cast<std::int32_t>(v), state.fill[v]);
  Steps steps;
  std::vector<std::int32_t> name(n, 0);
  while (queue.least() == 0) {
    const std::int32_t v = queue.argmin();
    queue.take_out(v);
    name[at(v)] = -1;
    state.find_near(v);
    state.take_out(v, true);
    steps.add(v, state.near);
    for (const std::int32_t u : state.touched) queue.set(u, state.fill[at(u)]);
  }
  Scope left;
  std::vector<double> weights;
  for (std::int32_t v = 0; at(v) < n; ++v) {
    if (name[at(v)] < 0) continue;
    name[at(v)] = static_cast<std::int32_t>(left.size());
    left.push_back(v);
    weights.push_back(static_cast<double>(sizes[at(v)]));
  }
  const State counted(std::vector<double>(left.size(), 1.0));
  Core core{steps, left, counted, State(weights), counted, state.work};
  for (const std::int32_t v : left) {
    state.graph.for_neighbours(v, [&](std::int32_t u) {
      if (u > v) return;
      core.counted.join(name[at(u)], name[at(v)], true);
      core.weighted.join(name[at(u)], name[at(v)], true);
    });
  }
  core.work += core.counted.work + core.weighted.work;
  return core;
}

/// The order in which names are chosen where scores tie.
struct Ties {
  std::vector<std::int32_t> rank_of;
  std::vector<std::int32_t> by_rank;
};

/// Ascending in the first round, and then a permutation: the same for the same round, on every machine.
Ties shuffled(std::size_t n, std::uint64_t round) {
  Ties ties{std::vector<std::int32_t>(n), std::vector<std::int32_t>(n)};
  auto& ranks = ties.rank_of;
  std::iota(ranks.begin(), ranks.end(), 0);
  SplitMix words(round * 0x9e3779b97f4a7c15U);
  for (std::size_t i = n; round != 0 && i > 1; --i) std::swap(ranks[i - 1], ranks[words.next() % i]);
  for (std::size_t i = 0; i < n; ++i) ties.by_rank[at(ranks[i])] = static_cast<std::int32_t>(i);
  return ties;
}

double score_of(State& state, const std::vector<double>& sizes, Rule rule, std::int32_t v) {
  if (rule != Rule::weight) return std::min(kLargeScore, state.fill[at(v)]);
  double cells = sizes[at(v)];
  state.graph.for_neighbours(v, [&](std::int32_t u) {
    cells *= sizes[at(u)];
    state.work += 1;
  });
  return std::min(kLargeScore, cells);
}

/// Adds the steps that eliminate attributes which are all adjacent, and nothing beside them: there is nothing
/// to choose.
void add_clique(Scope& rest, Steps& steps) {
  while (!rest.empty()) {
    const std::int32_t first = rest.front();
    rest.erase(rest.begin());
    steps.add(first, rest);
  }
}

/// Eliminates the core by a rule. Gives up, with an empty order, at a hopeless table, whose clique it leaves
/// behind, or where the tables so far are certain to exceed `limit` cells: bags inside others at most double
/// the sum of those that stay, where only attributes of two values or more count.
Steps eliminate_core(Core& core, Rule rule, const Ties& ties, double limit, Scope& hopeless) {
  const std::size_t n = core.attributes.size();
  const std::vector<double>& sizes = core.weighted.weight;
  State& state = core.state;
  state = rule == Rule::weighted_fill ? core.weighted : core.counted;
  state.work = 48 * static_cast<double>(n);  // copying and the queue
  MinTree queue(n);
  const auto put = [&](std::int32_t v) { queue.set(ties.rank_of[at(v)], score_of(state, sizes, rule, v)); };
  for (std::int32_t v = 0; at(v) < n; ++v) put(v);
  Steps steps = core.steps;
  Scope near;
  double cells = 0;
  for (std::size_t left = n; left > 0; --left) {
    const std::int32_t v = ties.by_rank[at(queue.argmin())];
    queue.take_out(ties.rank_of[at(v)]);
    state.find_near(v);
    near.clear();
    double own = sizes[at(v)];
    for (const std::int32_t u : state.near) {
      own *= sizes[at(u)];
      near.push_back(core.attributes[at(u)]);
    }
    if (sizes[at(v)] > 1) cells += own;
    if (own > kHopelessCells) hopeless = bag_of(core.attributes[at(v)], near);
    if (own > kHopelessCells || cells > 2 * limit) {
      steps = {};
      break;
    }
    state.take_out(v, rule != Rule::weight);
    steps.add(core.attributes[at(v)], near);
    if (near.size() + 1 == left) {
      add_clique(near, steps);
      break;
    }
    state.work += 8 * static_cast<double>(state.touched.size());
    std::ranges::for_each(state.touched, put);
  }
  core.work += state.work;
  return steps;
}

}  // namespace

Elimination eliminate_greedily(std::span<const std::size_t> sizes, std::span<const Scope> cliques,
                               Rule rule) {
  Core core = core_of(sizes, cliques);
  Scope hopeless;
  const Steps steps = eliminate_core(core, rule, shuffled(core.attributes.size(), 0), kInfinity, hopeless);
  if (!hopeless.empty()) return {{}, {}, kInfinity};
  return finished(sizes, steps);
}

Elimination eliminate_by_best_rule(std::span<const std::size_t> sizes, std::span<const Scope> cliques,
                                   double max_cells) {
  Core core = core_of(sizes, cliques);
  const Ties ties = shuffled(core.attributes.size(), 0);
  Scope hopeless;
  Steps best;
  double least = kInfinity;
  for (const Rule rule : kRules) {
    Steps steps = eliminate_core(core, rule, ties, std::min(least, max_cells), hopeless);
    if (steps.order.empty()) continue;
    const double cells = steps.tree_cells(sizes);
    if (cells > max_cells || cells >= least) continue;
    least = cells;
    best = std::move(steps);
  }
  return best.order.empty() ? Elimination{{}, {}, kInfinity} : finished(sizes, best);
}

Elimination eliminate_in_order(std::span<const std::size_t> sizes, std::span<const Scope> cliques,
                               std::span<const std::int32_t> order) {
  State state(std::vector<double>(sizes.size(), 1.0));
  for (const Scope& clique : cliques) state.join_all(clique, false);
  Steps steps;
  for (const std::int32_t v : order) {
    state.find_near(v);
    state.take_out(v, false);
    check_table(sizes, v, state.near);
    steps.add(v, state.near);
  }
  return finished(sizes, steps);
}

Elimination eliminate(std::span<const std::size_t> sizes, std::span<const Scope> cliques, bool exhaustive) {
  check_bound(sizes, cliques);
  Core core = core_of(sizes, cliques);
  for (std::size_t i = 0; i < core.steps.order.size(); ++i) {
    check_table(sizes, core.steps.order[i], core.steps.neighbours(i));
  }
  if (core.attributes.empty()) return finished(sizes, core.steps);
  Steps best;
  Scope hopeless;
  double least = kInfinity;
  int improved = 0;
  const double work = sizes.size() <= kSmallGraph ? kSmallGraphWork : kLargeGraphWork;
  const auto enough = [&](int round) {
    if (best.order.empty()) return false;
    if (exhaustive) return core.work >= kMaxWork || (round >= kMinRestarts && core.work >= work);
    // One propagation: passes over the cells, and what each table takes beside them.
    const double propagation =
        3 * std::min(least, kMaxSearchedCells) + kTableWork * static_cast<double>(cliques.size());
    return round > improved + kPatience || core.work >= propagation;
  };
  for (int round = 0; round < kMaxRestarts; ++round) {
    const Ties ties = shuffled(core.attributes.size(), static_cast<std::uint64_t>(round));
    for (const Rule rule : kRules) {
      if (enough(round)) return finished(sizes, best);
      Steps next = eliminate_core(core, rule, ties, least, hopeless);
      if (next.order.empty()) continue;
      const double cells = next.tree_cells(sizes);
      core.work += 2 * static_cast<double>(next.near.size() + next.order.size());
      if (cells < least) {
        least = cells;
        improved = round;
        best = std::move(next);
      }
    }
    if (best.order.empty()) throw HopelessElimination(hopeless);
  }
  return finished(sizes, best);
}

}  // namespace pypgm
