#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/plan/elimination.hpp"

namespace pypgm {

/// What is left to eliminate, under weights of the attributes: 1, or their sizes. `fill[v]` is the sum of
/// weight products over the pairs of v's neighbours that are no edge; it changes by what joins and leaves.
template <class Graph>
struct State {
  explicit State(std::vector<double> weights)
      : graph(weights.size()),
        weight(std::move(weights)),
        unit(std::all_of(weight.begin(), weight.end(), [](double x) { return x == 1.0; })),
        mass(weight.size(), 0.0),
        fill(weight.size(), 0.0),
        degree(weight.size(), 0),
        mark(weight.size(), 0) {}

  /// Adds an edge that is not there. A common neighbour lacks a pair less; an end lacks the pairs of the
  /// other one with those of its own neighbours who are not common.
  template <class Touch>
  void join(std::int32_t a, std::int32_t b, bool scored, const Touch& touch) {
    if (scored) {
      double common = 0;
      const double product = w(a) * w(b);
      graph.for_common(a, b, [&](std::int32_t u) {
        common += w(u);
        fill[at(u)] -= product;
        touch(u);
        work += 3;
      });
      fill[at(a)] += w(b) * (mass[at(a)] - common);
      fill[at(b)] += w(a) * (mass[at(b)] - common);
      work += graph.reads(a, b);
    }
    graph.connect(a, b);
    mass[at(a)] += w(b);
    mass[at(b)] += w(a);
    ++degree[at(a)];
    ++degree[at(b)];
    work += 4;
  }

  /// Joins v's neighbours and takes v out. `near` receives the neighbours, `touched` all whose fill or degree
  /// changed.
  void take_out(std::int32_t v, bool scored, Scope& near, Scope& touched) {
    near.clear();
    touched.clear();
    graph.for_neighbours(v, [&](std::int32_t u) { near.push_back(u); });
    const auto touch = [&](std::int32_t u) {
      if (mark[at(u)] == 0) touched.push_back(u);
      mark[at(u)] = 1;
    };
    mark[at(v)] = 1;  // it stands beside all of them, and is not to be scored again
    for (const std::int32_t u : near) touch(u);
    // Counts of pairs are exact, and nothing is lacking where one is zero; sums of sizes may be rounded.
    const bool complete = scored && unit && fill[at(v)] == 0;
    for (std::size_t i = 0; i < near.size() && !complete; ++i) {
      for (std::size_t j = i + 1; j < near.size(); ++j) {
        if (!graph.adjacent(near[i], near[j])) join(near[i], near[j], scored, touch);
      }
      work += static_cast<double>(near.size() - i);
    }
    // Now a neighbour u has all of v's neighbours beside it: it lacked v's pairs with its others alone.
    for (const std::int32_t u : near) {
      fill[at(u)] -= w(v) * (mass[at(u)] - w(v) - (mass[at(v)] - w(u)));
      mass[at(u)] -= w(v);
      --degree[at(u)];
    }
    graph.remove(v, near);
    for (const std::int32_t u : touched) mark[at(u)] = 0;
    work += 20 + 3 * static_cast<double>(near.size());
  }

  double w(std::int32_t v) const { return weight[at(v)]; }

  Graph graph;
  std::vector<double> weight;
  bool unit;                 ///< all weights are 1
  std::vector<double> mass;  ///< sum of the neighbours' weights
  std::vector<double> fill;
  std::vector<std::int32_t> degree;
  std::vector<std::uint8_t> mark;
  double work = 0;
};

inline constexpr auto kNobody = [](std::int32_t) {};

/// The graph of a set of cliques, fill counted if `scored`.
template <class Graph>
State<Graph> graph_of(std::vector<double> weights, std::span<const Scope> cliques, bool scored) {
  State<Graph> state(std::move(weights));
  for (const Scope& clique : cliques) {
    for (std::size_t i = 0; i < clique.size(); ++i) {
      for (std::size_t j = i + 1; j < clique.size(); ++j) {
        if (!state.graph.adjacent(clique[i], clique[j])) state.join(clique[i], clique[j], scored, kNobody);
      }
    }
  }
  return state;
}

/// The steps of an elimination: who goes, and its neighbours then, one list behind the other.
struct Steps {
  Scope order;
  Scope near;
  std::vector<std::size_t> ends;

  void add(std::int32_t v, const Scope& neighbours) {
    order.push_back(v);
    near.insert(near.end(), neighbours.begin(), neighbours.end());
    ends.push_back(near.size());
  }
  std::span<const std::int32_t> neighbours(std::size_t step) const {
    const std::size_t begin = step == 0 ? 0 : ends[step - 1];
    return std::span<const std::int32_t>(near).subspan(begin, ends[step] - begin);
  }
};

}  // namespace pypgm
