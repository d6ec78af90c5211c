// P(a, b) of one attribute a with many others b, by carrying P(a | separator) outwards from a clique that
// holds a. Given its separator S towards a, a clique C is independent of a: P(a, C) = P(a | S) P(C). Sums of
// that are the answers P(a, b) of C, and over the next separator T they are P(a, T); divided by P(T) they are
// the message P(a | T), which goes on. Each edge is crossed once for all b beyond it.
//
// By projections.cpp, which carries the others as well, the pairs of 3 of 800 attributes with all others take
// 23 times as long on a chain of triples, 2,000 near pairs 1.3 to 3 times.
#include "core/queries/carried_pairs.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/simd/reduce.hpp"
#include "core/tables/strides.hpp"

namespace pypgm {

namespace {

/// A clique between the attribute and one of the others.
struct Visit {
  int clique;
  std::size_t before;                ///< position of the one it is reached from; its own at the start
  std::vector<std::size_t> answers;  ///< which of the others are read here
  std::vector<double> message;       ///< P(value | separator to the one before), a row for each value
};

/// The visits on the ways from a clique that holds the attribute to one of each of the others, each after the
/// one before it.
std::vector<Visit> visits_between(const JunctionTree& tree, std::span<const Pair> pairs) {
  const int start = tree.node_of[at(pairs[0].first)];
  std::vector<Visit> visits{{start, 0, {}, {}}};
  std::map<int, std::size_t> place{{start, 0}};
  const auto add = [&](int clique, std::size_t before) {
    place[clique] = visits.size();
    visits.push_back({clique, before, {}, {}});
  };
  int highest = start;  // parents come before children
  std::vector<int> way;
  for (std::size_t i = 0; i < pairs.size(); ++i) {
    int clique = tree.node_of[at(pairs[i].second)];
    for (way.clear(); !place.contains(clique);) {
      int& lower = clique > highest ? clique : highest;
      const int parent = tree.nodes[at(lower)].parent;
      if (clique > highest) {
        way.push_back(clique);
      } else {
        add(parent, place[highest]);
      }
      lower = parent;
    }
    std::size_t visit = place[clique];
    for (; !way.empty(); way.pop_back()) {
      add(way.back(), visit);
      visit = visits.size() - 1;
    }
    visits[visit].answers.push_back(i);
  }
  return visits;
}

class CarriedPairs {
 public:
  CarriedPairs(const JunctionTree& tree, std::span<const std::span<const double>> cliques, double negligible,
               std::span<const Pair> pairs, std::span<const std::span<double>> out)
      : tree_(tree),
        cliques_(cliques),
        negligible_(negligible),
        own_(pairs[0].first),
        n_values_(tree.sizes[at(own_)]),
        pairs_(pairs),
        out_(out),
        visits_(visits_between(tree, pairs)),
        next_(visits_.size()) {
    for (std::size_t v = 1; v < visits_.size(); ++v) next_[visits_[v].before].push_back(v);
  }

  void run(Watch& watch) {
    for (std::size_t v = 0; v < visits_.size(); ++v) {
      leave_if_abandoned();
      if (contains(scope_of(v), own_)) {
        begin(v);
      } else {
        carry(v);
      }
      visits_[v].message = {};
      watch.count();
    }
  }

 private:
  const Scope& scope_of(std::size_t visit) const { return tree_.nodes[at(visits_[visit].clique)].attributes; }
  const Scope& separator(std::size_t visit) const {
    return tree_.nodes[at(std::max(visits_[visit].clique, visits_[visits_[visit].before].clique))]
        .edge.separator;
  }
  Layout inside(std::size_t visit, const Scope& part) const {
    return nested_layout(tree_.sizes, scope_of(visit), part);
  }
  std::vector<double> marginal(std::size_t visit, const Scope& part) const {
    const Layout layout = inside(visit, part);
    std::vector<double> sums(layout.small);
    reduce_sum(cliques_[at(visits_[visit].clique)], layout, sums, 1);
    return sums;
  }
  std::span<double> row(std::span<double> table, std::size_t value) const {
    return table.subspan(table.size() / n_values_ * value, table.size() / n_values_);
  }

  /// Turns counts over the attribute and a separator into conditional probabilities.
  void divide(std::size_t visit) {
    const std::vector<double> counts = marginal(visits_[visit].before, separator(visit));
    std::vector<double>& message = visits_[visit].message;
    for (std::size_t i = 0; i < message.size(); ++i) {
      const double count = counts[i % counts.size()];
      message[i] = count > negligible_ ? message[i] / count : 0.0;
    }
  }

  /// Sends messages from a clique that holds the attribute to those that do not.
  void begin(std::size_t visit) {
    for (const std::size_t v : next_[visit]) {
      if (contains(scope_of(v), own_)) continue;
      const Scope& shared = separator(v);
      Scope joined = shared;
      joined.insert(std::ranges::lower_bound(joined, own_), own_);
      const std::vector<double> sums = marginal(visit, joined);
      Strides strides;
      for (std::size_t i = joined.size(); i-- > 0;)
        strides.add_outer(tree_.sizes[at(joined[i])], stride_of(tree_.sizes, shared, joined[i]));
      visits_[v].message.resize(sums.size());
      strides.for_cells(0, [&](std::size_t cell, std::size_t to) { visits_[v].message[to] = sums[cell]; });
      divide(v);
    }
  }

  /// Reads the answers of a clique that does not hold the attribute, and sends messages on.
  void carry(std::size_t visit) {
    const std::span<const double> cells = cliques_[at(visits_[visit].clique)];
    const Layout entry = inside(visit, separator(visit));
    std::vector<std::pair<Layout, std::span<double>>> parts;
    for (const std::size_t i : visits_[visit].answers)
      parts.emplace_back(inside(visit, {pairs_[i].second}), out_[i]);
    for (const std::size_t v : next_[visit]) {
      Layout layout = inside(visit, separator(v));
      visits_[v].message.resize(n_values_ * layout.small);
      parts.emplace_back(std::move(layout), visits_[v].message);
    }
    std::vector<double> joint(cells.size());
    for (std::size_t value = 0; value < n_values_; ++value) {
      std::ranges::copy(cells, joint.begin());
      expand(Expand::multiply, joint, entry, row(visits_[visit].message, value), 1);
      for (const auto& part : parts) reduce_sum(joint, part.first, row(part.second, value), 1);
    }
    for (const std::size_t v : next_[visit]) divide(v);
  }

  const JunctionTree& tree_;
  std::span<const std::span<const double>> cliques_;
  double negligible_;
  std::int32_t own_;
  std::size_t n_values_;
  std::span<const Pair> pairs_;
  std::span<const std::span<double>> out_;
  std::vector<Visit> visits_;
  std::vector<std::vector<std::size_t>> next_;  ///< by visit: those reached from it
};

/// How many pairs from the first of these on have the same first attribute.
std::size_t alike(std::span<const Pair> pairs) {
  const auto other = [&](const Pair& pair) { return pair.first != pairs[0].first; };
  return static_cast<std::size_t>(std::ranges::find_if(pairs, other) - pairs.begin());
}

}  // namespace

double operations_in_turn(const JunctionTree& tree, std::span<const Pair> pairs) {
  double operations = 0;
  for (; !pairs.empty(); pairs = pairs.subspan(alike(pairs))) {
    const std::vector<Visit> visits = visits_between(tree, pairs.first(alike(pairs)));
    for (const Visit& visit : visits) {
      const double cells = count_cells(tree.sizes, tree.nodes[at(visit.clique)].attributes);
      // It is copied and multiplied, and read for its answers and once for the next.
      operations += static_cast<double>(tree.sizes[at(pairs[0].first)] * (3 + visit.answers.size())) * cells;
    }
  }
  return operations;
}

void carried_pairs(const JunctionTree& tree, std::span<const std::span<const double>> cliques,
                   double negligible, std::span<const Pair> pairs, std::span<const std::span<double>> out,
                   Watch& watch) {
  assert(cliques.size() == tree.nodes.size() && out.size() == pairs.size());
  const WatchScope scope(&watch);
  for (std::size_t n = 0; !pairs.empty(); pairs = pairs.subspan(n), out = out.subspan(n)) {
    n = alike(pairs);
    CarriedPairs(tree, cliques, negligible, pairs.first(n), out.first(n)).run(watch);
  }
}

}  // namespace pypgm
