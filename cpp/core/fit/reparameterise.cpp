// Levels potentials attribute by attribute.
#include "core/fit/reparameterise.hpp"

#include <algorithm>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/watch.hpp"
#include "core/simd/kernels.hpp"
#include "core/simd/reduce.hpp"

namespace pypgm {

namespace {

constexpr double kWide = 100.0;  // between the largest and the least: below it no weight gets lost

/// Shares out evenly, between the tables that hold an attribute, what each of its values has at most in each.
void even_out(const JunctionTree& tree, std::span<double> potentials, std::int32_t attribute) {
  struct Holder {
    std::span<double> table;
    Layout layout;  ///< the attribute inside it
    std::vector<double> levels;
  };
  std::vector<Holder> holders;
  std::vector<double> mean(tree.sizes[at(attribute)], 0.0);
  for (int f = 0; at(f) < tree.scopes.size(); ++f) {
    const Scope& scope = tree.scopes[at(f)];
    if (!contains(scope, attribute)) continue;
    leave_if_abandoned();
    Holder holder{slice(tree, potentials, f), nested_layout(tree.sizes, scope, {attribute}),
                  std::vector<double>(mean.size())};
    reduce_max(holder.table, holder.layout, holder.levels, 1);
    std::replace(holder.levels.begin(), holder.levels.end(), -kInfinity, 0.0);
    for (std::size_t j = 0; j < mean.size(); ++j) mean[j] += holder.levels[j];
    holders.push_back(std::move(holder));
  }
  for (Holder& h : holders) {
    const double n = static_cast<double>(holders.size());
    for (std::size_t j = 0; j < mean.size(); ++j) h.levels[j] = mean[j] / n - h.levels[j];
    expand(Expand::add, h.table, h.layout, h.levels, 1);
  }
}

}  // namespace

void level_potentials(const JunctionTree& tree, std::span<double> potentials) {
  const Extent extent = kernels().extent(potentials.data(), potentials.size());
  if (!(extent.largest - extent.least >= kWide)) return;
  for (int a = 0; at(a) < tree.sizes.size(); ++a) even_out(tree, potentials, a);
}

}  // namespace pypgm
