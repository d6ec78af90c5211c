// Compiles a plan of products and sums: loops of each step, levels of steps, when each table is released.
#include "core/queries/contraction.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/base/numbers.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kLong = 8;  // values that fill the lanes of a loop
// Of a product: with more of them it has more cells than can be counted.
constexpr std::size_t kMostAxes = 64;

/// The attributes of both tables and their product, in the order of all tables.
Axes union_of(const Contraction& c, const ContractionStep& step, std::size_t out,
              const std::vector<std::size_t>& rank) {
  Axes all = c.ordered[at(step.left)];
  const auto add = [&](const Axes& more) { all.insert(all.end(), more.begin(), more.end()); };
  if (step.right >= 0) add(c.ordered[at(step.right)]);
  add(c.ordered[out]);
  const auto before = [&](std::int32_t a, std::int32_t b) { return rank[at(a)] < rank[at(b)]; };
  std::sort(all.begin(), all.end(), before);
  all.erase(std::unique(all.begin(), all.end()), all.end());
  return all;
}

Loops product_of(const Contraction& c, const ContractionStep& step, std::size_t out, const Axes& all) {
  if (all.size() > kMostAxes) return {};
  const auto bits_of = [&](const Axes& axes) {
    std::uint64_t bits = 0;
    std::size_t i = 0;
    for (const std::int32_t a : axes) {
      while (all[i] != a) ++i;
      bits |= std::uint64_t{1} << i;
    }
    return bits;
  };
  const std::uint64_t right = step.right < 0 ? 0 : bits_of(c.ordered[at(step.right)]);
  return make_loops(sizes_of(c.sizes, all), bits_of(c.ordered[at(step.left)]), right,
                    bits_of(c.ordered[out]));
}

/// The levels of the steps, and where their tables are released: returned ones never.
void find_levels(Contraction& c) {
  const std::size_t n_leaves = c.leaves.size();
  std::vector<int> level(n_leaves + c.steps.size(), -1);  // leaves are at -1
  std::vector<int> last_read = level;                     // the last level that reads a table, or makes it
  for (std::size_t s = 0; s < c.steps.size(); ++s) {
    const ContractionStep& step = c.steps[s];
    const int own = 1 + std::max(level[at(step.left)], step.right < 0 ? -1 : level[at(step.right)]);
    level[n_leaves + s] = own;
    if (c.levels.size() <= at(own)) c.levels.emplace_back();
    c.levels[at(own)].push_back(static_cast<int>(s));
    for (const int used : {step.left, step.right, static_cast<int>(n_leaves + s)}) {
      if (used >= 0) last_read[at(used)] = std::max(last_read[at(used)], own);
    }
  }
  c.releases.resize(c.levels.size());
  for (std::size_t s = 0; s < c.steps.size(); ++s) {
    if (c.answers[s] < 0) c.releases[at(last_read[n_leaves + s])].push_back(static_cast<int>(s));
  }
}

void find_bytes(Contraction& c) {
  double live = 0;
  bool logarithms = false;
  for (std::size_t i = 0; i < c.leaves.size(); ++i) {
    logarithms = logarithms || c.leaves[i].logarithms;
    const bool copied = c.leaves[i].logarithms || !c.in_order(static_cast<int>(i));
    live += copied ? 8 * count_cells(c.sizes, c.leaves[i].axes) : 0.0;
  }
  c.cost.bytes = live;
  for (std::size_t level = 0; level < c.levels.size(); ++level) {
    for (const int s : c.levels[level]) {
      const double cells = count_cells(c.sizes, c.steps[at(s)].axes);
      if (cells > c.cost.largest_cells) {
        c.cost.largest_cells = cells;
        c.cost.largest = c.steps[at(s)].axes;
      }
      const bool in_place = c.answers[at(s)] >= 0 && c.in_order(static_cast<int>(c.leaves.size()) + s);
      if (!in_place) live += 8 * cells;
    }
    c.cost.bytes = std::max(c.cost.bytes, live);
    for (const int s : c.releases[level]) live -= 8 * count_cells(c.sizes, c.steps[at(s)].axes);
  }
  // Exponents, where weights lie far apart, of the one table that is likely to have them.
  if (logarithms) c.cost.bytes += 8 * c.cost.largest_cells;
}

}  // namespace

const Axes& Contraction::axes_of(int table) const {
  return at(table) < leaves.size() ? leaves[at(table)].axes : steps[step_of(table)].axes;
}

bool Contraction::in_order(int table) const {
  std::size_t i = 0;
  for (const std::int32_t a : axes_of(table)) {
    if (sizes[at(a)] > 1 && ordered[at(table)][i++] != a) return false;
  }
  return true;
}

Contraction make_contraction(std::vector<std::size_t> sizes, std::vector<Leaf> leaves,
                             std::vector<ContractionStep> steps, std::vector<int> outputs,
                             std::span<const std::int32_t> order) {
  Contraction c;
  c.sizes = std::move(sizes);
  c.leaves = std::move(leaves);
  c.steps = std::move(steps);
  c.outputs = std::move(outputs);
  // Attributes of many values come last, so that the innermost loops are long.
  std::vector<std::size_t> rank(c.sizes.size(), 0);
  for (std::size_t i = 0; i < order.size(); ++i) {
    rank[at(order[i])] = i + (c.sizes[at(order[i])] < kLong ? 0 : order.size());
  }
  const std::size_t n_leaves = c.leaves.size();
  for (std::size_t t = 0; t < n_leaves + c.steps.size(); ++t) {
    Axes axes = c.axes_of(static_cast<int>(t));
    std::erase_if(axes, [&](std::int32_t a) { return c.sizes[at(a)] == 1; });
    std::sort(axes.begin(), axes.end(),
              [&](std::int32_t a, std::int32_t b) { return rank[at(a)] < rank[at(b)]; });
    c.ordered.push_back(std::move(axes));
  }
  for (std::size_t s = 0; s < c.steps.size(); ++s) {
    const Axes all = union_of(c, c.steps[s], n_leaves + s, rank);
    c.products.push_back(product_of(c, c.steps[s], n_leaves + s, all));
    c.cost.operations += count_cells(c.sizes, all);
  }
  c.answers.assign(c.steps.size(), -1);
  for (std::size_t k = 0; k < c.outputs.size(); ++k) {
    assert(at(c.outputs[k]) >= n_leaves && c.answers[c.step_of(c.outputs[k])] < 0);
    c.answers[c.step_of(c.outputs[k])] = static_cast<int>(k);
  }
  find_levels(c);
  find_bytes(c);
  return c;
}

}  // namespace pypgm
