#pragma once
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/scope.hpp"
#include "core/base/watch.hpp"
#include "core/plan/elimination_graph.hpp"

namespace pypgm {

/// What is left to eliminate, under weights of the attributes: 1, or their sizes. `fill[v]` is the sum of
/// weight products over the pairs of v's neighbours that are no edge; it changes by what joins and leaves, if
/// that is `scored`.
struct State {
  explicit State(std::vector<double> weights)
      : graph(weights.size()),
        weight(std::move(weights)),
        unit(std::all_of(weight.begin(), weight.end(), [](double x) { return x == 1.0; })),
        mass(weight.size(), 0.0),
        fill(weight.size(), 0.0),
        mark(weight.size(), 0) {}

  /// Adds the edges of a clique that are not there.
  void join_all(const Scope& clique, bool scored) {
    for (std::size_t i = 0; i < clique.size(); ++i) {
      leave_if_abandoned();
      for (std::size_t j = i + 1; j < clique.size(); ++j) {
        if (!graph.adjacent(clique[i], clique[j])) join(clique[i], clique[j], scored);
      }
    }
  }

  /// Adds an edge that is not there. A common neighbour lacks a pair less; an end lacks the pairs of the
  /// other one with those of its own neighbours who are not common.
  void join(std::int32_t a, std::int32_t b, bool scored) {
    if (scored) {
      double common = 0;
      const double product = weight[at(a)] * weight[at(b)];
      graph.for_common(a, b, [&](std::int32_t u) {
        common += weight[at(u)];
        fill[at(u)] -= product;
        touch(u);
        work += 3;
      });
      fill[at(a)] += weight[at(b)] * (mass[at(a)] - common);
      fill[at(b)] += weight[at(a)] * (mass[at(b)] - common);
      work += 2 * graph.words(a);
    }
    graph.connect(a, b);
    mass[at(a)] += weight[at(b)];
    mass[at(b)] += weight[at(a)];
    work += 4;
  }

  /// Leaves v's neighbours in `near`.
  void find_near(std::int32_t v) {
    leave_if_abandoned();
    near.clear();
    graph.for_neighbours(v, [&](std::int32_t u) { near.push_back(u); });
    work += graph.words(v) + static_cast<double>(near.size());
  }

  /// Joins v's neighbours, which are in `near`, and takes v out; all whose fill or neighbours changed are
  /// left in `touched`.
  void take_out(std::int32_t v, bool scored) {
    for (const std::int32_t u : touched) mark[at(u)] = 0;
    touched.clear();
    mark[at(v)] = 1;  // it stands beside all of them, and is not to be scored again
    for (const std::int32_t u : near) touch(u);
    // Counts of pairs are exact, and nothing is lacking where one is zero; sums of sizes may be rounded.
    if (!scored || !unit || fill[at(v)] != 0) {
      for (const std::int32_t a : near) {
        graph.for_missing(v, a, [&](std::int32_t u) {
          if (u != a) join(a, u, scored);
        });
        work += 2 * graph.words(v);
      }
    }
    // Now a neighbour u has all of v's neighbours beside it: it lacked v's pairs with its others alone.
    const double own = weight[at(v)];
    for (const std::int32_t u : near) {
      fill[at(u)] -= own * (mass[at(u)] - own - (mass[at(v)] - weight[at(u)]));
      mass[at(u)] -= own;
    }
    graph.remove(v, near);
    work += 20 + 3 * static_cast<double>(near.size());
  }

  Graph graph;
  std::vector<double> weight;
  bool unit;                 ///< all weights are 1
  std::vector<double> mass;  ///< sum of the neighbours' weights
  std::vector<double> fill;
  Scope near;
  Scope touched;
  double work = 0;

 private:
  void touch(std::int32_t u) {
    if (mark[at(u)] == 0) touched.push_back(u);
    mark[at(u)] = 1;
  }

  std::vector<std::uint8_t> mark;  ///< of those in `touched` and those taken out
};

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
  /// Sums the tables over the bags that stay in the junction tree: bag i lies in an earlier bag exactly if an
  /// earlier one, once its own attribute is out, is bag i.
  double tree_cells(std::span<const std::size_t> sizes) const {
    const std::size_t n = order.size();
    std::vector<std::size_t> position(sizes.size());
    for (std::size_t i = 0; i < n; ++i) position[at(order[i])] = i;
    std::vector<std::uint8_t> contained(n, 0);
    double cells = 0;
    for (std::size_t i = 0; i < n; ++i) {
      std::size_t next = n;
      double table = static_cast<double>(sizes[at(order[i])]);
      for (const std::int32_t u : neighbours(i)) {
        next = std::min(next, position[at(u)]);
        table *= static_cast<double>(sizes[at(u)]);
      }
      if (next < n && neighbours(next).size() + 1 == neighbours(i).size()) contained[next] = 1;
      if (contained[i] == 0) cells += table;
    }
    return cells;
  }
};

}  // namespace pypgm
