#include "core/plan/elimination_bound.hpp"

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/plan/elimination_graph.hpp"
#include "core/plan/elimination_state.hpp"
#include "core/tables/layout.hpp"

namespace pypgm {

namespace {

constexpr double kHopelessBits = 50;  // log2 of kHopelessCells
constexpr double kRounding = 1e-6;    // of sums of logarithms

template <class Graph>
void check_graph(std::span<const std::size_t> sizes, std::span<const Scope> cliques) {
  const std::size_t n = sizes.size();
  State<Graph> state = graph_of<Graph>(std::vector<double>(n, 1.0), cliques, false);
  MinTree queue(n);
  std::vector<double> bits(n, 0.0);  // log2 of the cells over an attribute and its neighbours
  const auto own_bits = [&](std::int32_t v) { return std::log2(static_cast<double>(sizes[at(v)])); };
  for (std::size_t i = 0; i < n; ++i) {
    const auto v = static_cast<std::int32_t>(i);
    bits[i] = own_bits(v);
    state.graph.for_neighbours(v, [&](std::int32_t u) { bits[i] += own_bits(u); });
    queue.set(v, bits[i]);
  }
  Scope near;
  for (std::size_t left = n; left > 0; --left) {
    const std::int32_t v = queue.argmin();
    queue.take_out(v);
    near.clear();
    state.graph.for_neighbours(v, [&](std::int32_t u) { near.push_back(u); });
    if (bits[at(v)] > kHopelessBits + kRounding) {
      near.push_back(v);
      std::sort(near.begin(), near.end());
      throw HopelessElimination(near);
    }
    for (const std::int32_t u : near) queue.set(u, bits[at(u)] -= own_bits(v));
    state.graph.remove(v, near);
  }
}

}  // namespace

void check_bound(std::span<const std::size_t> sizes, std::span<const Scope> cliques) {
  sizes.size() <= kDense ? check_graph<BitGraph>(sizes, cliques) : check_graph<ListGraph>(sizes, cliques);
}

void check_table(std::span<const std::size_t> sizes, std::int32_t attribute, const Scope& neighbours) {
  Scope clique = neighbours;
  clique.push_back(attribute);
  if (count_cells(sizes, clique) <= kHopelessCells) return;
  std::sort(clique.begin(), clique.end());
  throw HopelessElimination(clique);
}

}  // namespace pypgm
