#include "core/elimination.hpp"

#include <algorithm>
#include <bit>
#include <cassert>
#include <numeric>
#include <queue>

namespace pypgm {

namespace {

constexpr int kRestarts = 30;
constexpr double kPassesPerCell = 8;  // reads and writes of a cell in one propagation, roughly
constexpr double kMostCells =
    1e9;  // a tree beyond that will not run, and is not searched for as long as it would

/// The graph that remains while attributes are eliminated: a bit row and a neighbour list each.
class Graph {
 public:
  Graph(std::size_t n, std::span<const Scope> cliques) : words_((n + 63) / 64), bits_(n * words_), lists_(n) {
    for (const Scope& clique : cliques) {
      for (std::size_t i = 0; i < clique.size(); ++i) {
        for (std::size_t j = i + 1; j < clique.size(); ++j) connect(clique[i], clique[j]);
      }
    }
  }

  const Scope& neighbours(std::int32_t v) const { return lists_[static_cast<std::size_t>(v)]; }

  bool adjacent(std::int32_t a, std::int32_t b) const {
    return (row(a)[static_cast<std::size_t>(b) / 64] >> (static_cast<std::size_t>(b) % 64) & 1) != 0;
  }

  bool connect(std::int32_t a, std::int32_t b) {
    if (adjacent(a, b)) return false;
    set(a, b);
    set(b, a);
    insert(a, b);
    insert(b, a);
    return true;
  }

  void remove(std::int32_t v) {
    for (const std::int32_t u : neighbours(v)) {
      row(u)[static_cast<std::size_t>(v) / 64] &= ~(std::uint64_t{1} << (static_cast<std::size_t>(v) % 64));
      Scope& list = lists_[static_cast<std::size_t>(u)];
      list.erase(std::lower_bound(list.begin(), list.end(), v));
    }
  }

 private:
  std::uint64_t* row(std::int32_t v) { return bits_.data() + static_cast<std::size_t>(v) * words_; }
  const std::uint64_t* row(std::int32_t v) const {
    return bits_.data() + static_cast<std::size_t>(v) * words_;
  }
  void set(std::int32_t a, std::int32_t b) {
    row(a)[static_cast<std::size_t>(b) / 64] |= std::uint64_t{1} << (static_cast<std::size_t>(b) % 64);
  }
  void insert(std::int32_t a, std::int32_t b) {
    Scope& list = lists_[static_cast<std::size_t>(a)];
    list.insert(std::lower_bound(list.begin(), list.end(), b), b);
  }

  std::size_t words_;
  std::vector<std::uint64_t> bits_;
  std::vector<Scope> lists_;
};

/// What eliminating v would cost under a rule.
double score(const Graph& graph, std::span<const std::size_t> sizes, Rule rule, std::int32_t v,
             double& work) {
  const Scope& near = graph.neighbours(v);
  const auto size = [&](std::int32_t u) { return static_cast<double>(sizes[static_cast<std::size_t>(u)]); };
  if (rule == Rule::neighbours) return static_cast<double>(near.size());
  if (rule == Rule::weight) {
    work += static_cast<double>(near.size());
    return std::accumulate(near.begin(), near.end(), size(v), [&](double w, auto u) { return w * size(u); });
  }
  double fill = 0;
  for (std::size_t i = 0; i < near.size(); ++i) {
    for (std::size_t j = i + 1; j < near.size(); ++j) {
      if (!graph.adjacent(near[i], near[j])) fill += rule == Rule::fill ? 1.0 : size(near[i]) * size(near[j]);
    }
  }
  work += static_cast<double>(near.size() * near.size()) / 2;
  return fill;
}

/// Takes v out of the graph, joins its neighbours, and returns its bag. `touched` receives the attributes
/// whose score may have changed: the neighbours, and whoever stands beside both ends of a new edge.
Scope take_out(Graph& graph, std::int32_t v, Scope* touched) {
  const Scope near = graph.neighbours(v);
  graph.remove(v);
  if (touched != nullptr) *touched = near;
  for (std::size_t i = 0; i < near.size(); ++i) {
    for (std::size_t j = i + 1; j < near.size(); ++j) {
      if (!graph.connect(near[i], near[j]) || touched == nullptr) continue;
      std::set_intersection(graph.neighbours(near[i]).begin(), graph.neighbours(near[i]).end(),
                            graph.neighbours(near[j]).begin(), graph.neighbours(near[j]).end(),
                            std::back_inserter(*touched));
    }
  }
  if (touched != nullptr) {
    std::sort(touched->begin(), touched->end());
    touched->erase(std::unique(touched->begin(), touched->end()), touched->end());
  }
  Scope bag = near;
  bag.insert(std::lower_bound(bag.begin(), bag.end(), v), v);
  return bag;
}

/// Sums the tables over the bags that stay in the junction tree: bag i lies in an earlier bag exactly if an
/// earlier one, once its own attribute is out, is bag i.
double tree_cells(std::span<const std::size_t> sizes, const std::vector<std::int32_t>& order,
                  const std::vector<Scope>& bags) {
  std::vector<std::size_t> position(sizes.size());
  for (std::size_t i = 0; i < order.size(); ++i) position[static_cast<std::size_t>(order[i])] = i;
  std::vector<std::uint8_t> contained(bags.size(), 0);
  for (std::size_t i = 0; i < bags.size(); ++i) {
    std::size_t next = bags.size();
    for (const std::int32_t u : bags[i]) {
      const std::size_t p = position[static_cast<std::size_t>(u)];
      if (p > i) next = std::min(next, p);
    }
    if (next < bags.size() && bags[next].size() + 1 == bags[i].size()) contained[next] = 1;
  }
  double cells = 0;
  for (std::size_t i = 0; i < bags.size(); ++i) {
    if (contained[i] != 0) continue;
    double table = 1;
    for (const std::int32_t u : bags[i]) table *= static_cast<double>(sizes[static_cast<std::size_t>(u)]);
    cells += table;
  }
  return cells;
}

/// Takes out, by rank, what is left of the last bag once its own attribute is gone.
void eliminate_clique(Elimination& result, std::span<const std::int32_t> ranks) {
  Scope rest = result.bags.back();
  rest.erase(std::lower_bound(rest.begin(), rest.end(), result.order.back()));
  Scope order = rest;
  std::sort(order.begin(), order.end(), [&](std::int32_t a, std::int32_t b) {
    return ranks[static_cast<std::size_t>(a)] < ranks[static_cast<std::size_t>(b)];
  });
  for (const std::int32_t v : order) {
    result.order.push_back(v);
    result.bags.push_back(rest);
    rest.erase(std::lower_bound(rest.begin(), rest.end(), v));
  }
}

/// The same permutation for the same round, on every machine.
std::vector<std::int32_t> shuffled(std::size_t n, std::uint64_t round) {
  std::vector<std::int32_t> ranks(n);
  std::iota(ranks.begin(), ranks.end(), 0);
  std::uint64_t state = round * 0x9e3779b97f4a7c15ULL;
  for (std::size_t i = n; round != 0 && i > 1; --i) {
    state += 0x9e3779b97f4a7c15ULL;
    std::uint64_t z = state;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9ULL;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebULL;
    std::swap(ranks[i - 1], ranks[(z ^ (z >> 31)) % i]);
  }
  return ranks;
}

}  // namespace

Elimination eliminate_greedily(std::span<const std::size_t> sizes, std::span<const Scope> cliques, Rule rule,
                               std::span<const std::int32_t> ranks) {
  const std::size_t n = sizes.size();
  assert(ranks.size() == n);
  struct Entry {
    double score;
    std::int32_t rank;
    std::int32_t attribute;
    bool operator>(const Entry& other) const {
      return score != other.score ? score > other.score : rank > other.rank;
    }
  };
  Elimination result;
  Graph graph(n, cliques);
  std::vector<double> current(n, 0.0);
  std::vector<std::uint8_t> gone(n, 0);
  std::priority_queue<Entry, std::vector<Entry>, std::greater<>> queue;
  const auto push = [&](std::int32_t v) {
    const auto i = static_cast<std::size_t>(v);
    current[i] = score(graph, sizes, rule, v, result.work);
    queue.push({current[i], ranks[i], v});
  };
  for (std::size_t v = 0; v < n; ++v) push(static_cast<std::int32_t>(v));
  Scope touched;
  while (!queue.empty()) {
    const Entry best = queue.top();
    queue.pop();
    const auto v = static_cast<std::size_t>(best.attribute);
    // An entry whose score is not the current one was replaced by a later push.
    if (gone[v] != 0 || best.score != current[v]) continue;
    gone[v] = 1;
    result.order.push_back(best.attribute);
    result.bags.push_back(take_out(graph, best.attribute, &touched));
    result.work += static_cast<double>(touched.size() + 16);
    const std::size_t left = n - result.order.size();
    if (result.bags.back().size() == left + 1) {
      // All that is left stands beside the attribute gone, and so is one clique: nothing is left to choose.
      eliminate_clique(result, ranks);
      break;
    }
    for (const std::int32_t u : touched) push(u);
  }
  result.cells = tree_cells(sizes, result.order, result.bags);
  return result;
}

Elimination eliminate_in_order(std::span<const std::size_t> sizes, std::span<const Scope> cliques,
                               std::span<const std::int32_t> order) {
  Elimination result;
  Graph graph(sizes.size(), cliques);
  for (const std::int32_t v : order) {
    result.order.push_back(v);
    result.bags.push_back(take_out(graph, v, nullptr));
  }
  result.cells = tree_cells(sizes, result.order, result.bags);
  return result;
}

Elimination eliminate(std::span<const std::size_t> sizes, std::span<const Scope> cliques, bool exhaustive) {
  constexpr Rule kRules[] = {Rule::fill, Rule::weighted_fill, Rule::weight, Rule::neighbours};
  Elimination best;
  double work = 0;
  for (int round = 0; round < kRestarts; ++round) {
    const std::vector<std::int32_t> ranks = shuffled(sizes.size(), static_cast<std::uint64_t>(round));
    for (const Rule rule : kRules) {
      if (!best.order.empty() && !exhaustive && work >= kPassesPerCell * std::min(best.cells, kMostCells))
        break;
      Elimination next = eliminate_greedily(sizes, cliques, rule, ranks);
      work += next.work;
      if (best.order.empty() || next.cells < best.cells) best = std::move(next);
    }
  }
  best.work = work;
  return best;
}

}  // namespace pypgm
