// Shifts beliefs onto the local polytope; propagates structural zeros until nothing changes.
#include "core/regions/local_polytope.hpp"

#include <algorithm>
#include <cmath>
#include <limits>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/watch.hpp"
#include "core/simd/reduce.hpp"

namespace pypgm {

double consistent_value(const RegionGraph& graph, std::span<const double> counting_numbers,
                        std::span<const double> theta, std::vector<double> beliefs) {
  const auto table = [&](int r) { return slice(graph, beliefs, r); };
  std::vector<double> scratch(graph.largest_cells);
  const auto missing = [&](const RegionEdge& edge) {
    const auto child = table(edge.child);
    const auto m = std::span<double>(scratch).first(child.size());
    reduce_sum(table(edge.parent), graph.layout(edge), m, 1);
    for (std::size_t i = 0; i < m.size(); ++i) m[i] = child[i] - m[i];
    return m;
  };
  double mix = 0;
  for (int r = static_cast<int>(graph.regions.size()); r-- > 0;) {
    leave_if_abandoned();
    const Region& region = graph.regions[at(r)];
    for (const RegionEdge& edge : graph.down(r)) {
      const auto m = missing(edge);
      for (double& d : m) d *= static_cast<double>(m.size()) / static_cast<double>(region.cells);
      expand(Expand::add, table(r), graph.layout(edge), m, 1);
    }
    for (const RegionEdge& edge : graph.down(r)) {
      for (const double d : missing(edge)) {
        if (std::abs(d) > 1e-12) return std::numeric_limits<double>::quiet_NaN();
      }
    }
    const double least = *std::min_element(table(r).begin(), table(r).end());
    if (least < 0) mix = std::max(mix, -least / (1 / static_cast<double>(region.cells) - least));
  }
  double value = 0;
  for (int r = 0; r < static_cast<int>(graph.regions.size()); ++r) {
    const Region& region = graph.regions[at(r)];
    double sum = 0;
    for (std::size_t i = 0; i < region.cells; ++i) {
      const double b = (1 - mix) * table(r)[i] + mix / static_cast<double>(region.cells);
      if (b > 0) sum += b * (theta[region.offset + i] - counting_numbers[at(r)] * std::log(b));
    }
    value += sum;
  }
  return value;
}

bool propagate_zeros(const RegionGraph& graph, std::span<double> theta) {
  const auto table = [&](int r) { return slice(graph, theta, r); };
  const auto is_zero = [](double t) { return t == -kInfinity; };
  bool changed = std::any_of(theta.begin(), theta.end(), is_zero);
  std::vector<double> above(graph.largest_cells);
  while (changed) {
    changed = false;
    for (const RegionEdge& edge : graph.edges) {
      leave_if_abandoned();
      const auto child = table(edge.child);
      const auto small = std::span<double>(above).first(child.size());
      reduce_max(table(edge.parent), graph.layout(edge), small, 1);
      bool cut = false;
      for (std::size_t i = 0; i < small.size(); ++i) {
        const bool zero_above = is_zero(small[i]);
        const bool zero = is_zero(child[i]);
        cut = cut || (zero && !zero_above);
        changed = changed || zero != zero_above;
        if (zero_above) child[i] = -kInfinity;
        small[i] = zero ? -kInfinity : 0.0;
      }
      if (cut) expand(Expand::add, table(edge.parent), graph.layout(edge), small, 1);
    }
  }
  for (int r = 0; r < static_cast<int>(graph.regions.size()); ++r) {
    const auto t = table(r);
    if (std::all_of(t.begin(), t.end(), is_zero)) return false;
  }
  return true;
}

}  // namespace pypgm
