#include "core/queries/contraction.hpp"

#include <algorithm>
#include <cassert>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/tables/layout.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kShort = 8;  // an innermost loop shorter than this costs more to start than to run

double cells_of(const std::vector<std::size_t>& sizes, const Axes& axes) {
  double cells = 1;
  for (const std::int32_t a : axes) cells *= static_cast<double>(sizes[at(a)]);
  return cells;
}

/// The loop over each attribute of more than one value, with the strides of the tables that have it.
std::vector<Loop> loops_over(const std::vector<std::size_t>& sizes, const Axes& left, const Axes& right,
                             const Axes& out) {
  std::vector<std::pair<std::int32_t, Loop>> found;
  const auto enter = [&](const Axes& axes, std::size_t Loop::*stride) {
    std::size_t step = 1;
    for (std::size_t i = axes.size(); i-- > 0;) {
      const std::size_t size = sizes[at(axes[i])];
      if (size == 1) continue;
      auto place =
          std::find_if(found.begin(), found.end(), [&](const auto& f) { return f.first == axes[i]; });
      if (place == found.end()) place = found.insert(found.end(), {axes[i], Loop{size, 0, 0, 0}});
      place->second.*stride = step;
      step = multiply_cells(step, size);
    }
  };
  enter(left, &Loop::left);
  enter(right, &Loop::right);
  enter(out, &Loop::out);
  // Memory is walked in the order of the largest strides; of equals, those outside that do not repeat writes.
  const auto largest = [](const Loop& l) { return std::max({l.left, l.right, l.out}); };
  std::stable_sort(found.begin(), found.end(), [&](const auto& a, const auto& b) {
    const std::size_t first = largest(a.second);
    const std::size_t second = largest(b.second);
    if (first != second) return first > second;
    if ((a.second.out != 0) != (b.second.out != 0)) return a.second.out != 0;
    return a.first < b.first;
  });
  std::vector<Loop> loops;
  loops.reserve(found.size());
  for (const auto& f : found) loops.push_back(f.second);
  return loops;
}

/// Joins neighbouring loops that all tables walk as one, and puts a long loop innermost.
void tighten(std::vector<Loop>& loops) {
  const auto joins = [](const Loop& outer, const Loop& inner, std::size_t Loop::*stride) {
    return outer.*stride == multiply_cells(inner.*stride, inner.size);
  };
  std::vector<Loop> merged;
  for (const Loop& loop : loops) {
    if (!merged.empty()) {
      Loop& last = merged.back();
      if (joins(last, loop, &Loop::left) && joins(last, loop, &Loop::right) &&
          joins(last, loop, &Loop::out)) {
        last = Loop{multiply_cells(last.size, loop.size), loop.left, loop.right, loop.out};
        continue;
      }
    }
    merged.push_back(loop);
  }
  const std::size_t n = merged.size();
  if (n >= 2 && merged[n - 1].size < kShort && merged[n - 2].size >= 2 * kShort) {
    std::swap(merged[n - 1], merged[n - 2]);
  }
  loops = std::move(merged);
}

/// Where a loop moves the right table and not the left one, the kernels want them the other way round.
void face(ContractionStep& step, std::vector<Loop>& loops) {
  if (step.right < 0 || loops.empty() || loops.back().left != 0 || loops.back().right == 0) return;
  std::swap(step.left, step.right);
  for (Loop& loop : loops) std::swap(loop.left, loop.right);
}

struct Lives {
  std::vector<int> level;      ///< of each table; leaves are at -1
  std::vector<int> last_read;  ///< the level after which nobody reads the table
};

Lives find_levels(Contraction& c) {
  const std::size_t n_leaves = c.leaves.size();
  Lives lives{std::vector<int>(n_leaves + c.steps.size(), -1),
              std::vector<int>(n_leaves + c.steps.size(), -1)};
  for (std::size_t s = 0; s < c.steps.size(); ++s) {
    const ContractionStep& step = c.steps[s];
    const int below = std::max(lives.level[at(step.left)], step.right < 0 ? -1 : lives.level[at(step.right)]);
    lives.level[n_leaves + s] = below + 1;
    if (c.levels.size() <= at(below + 1)) c.levels.emplace_back();
    c.levels[at(below + 1)].push_back(static_cast<int>(s));
    for (const int read : {step.left, step.right}) {
      if (read >= 0) lives.last_read[at(read)] = std::max(lives.last_read[at(read)], below + 1);
    }
  }
  return lives;
}

void find_cost(Contraction& c, const std::vector<std::uint8_t>& returned) {
  const std::size_t n_leaves = c.leaves.size();
  double live = 0;
  for (const Leaf& leaf : c.leaves) live += leaf.logarithms ? 8 * cells_of(c.sizes, leaf.axes) : 0.0;
  c.cost.bytes = live;
  for (std::size_t level = 0; level < c.levels.size(); ++level) {
    for (const int s : c.levels[level]) {
      const ContractionStep& step = c.steps[at(s)];
      double work = 1;
      for (const Loop& loop : c.loops[at(s)]) work *= static_cast<double>(loop.size);
      c.cost.operations += work;
      const double cells = cells_of(c.sizes, step.axes);
      if (cells > c.cost.largest_cells) {
        c.cost.largest_cells = cells;
        c.cost.largest = step.axes;
      }
      if (returned[n_leaves + at(s)] == 0) live += 8 * cells;
    }
    c.cost.bytes = std::max(c.cost.bytes, live);
    for (const int s : c.releases[level]) live -= 8 * cells_of(c.sizes, c.steps[at(s)].axes);
  }
  // Sums of logarithms need a second table for the one they make.
  const bool logarithms =
      std::any_of(c.leaves.begin(), c.leaves.end(), [](const Leaf& l) { return l.logarithms; });
  if (logarithms) c.cost.bytes += 8 * c.cost.largest_cells;
}

}  // namespace

std::size_t cells_over(const std::vector<std::size_t>& sizes, const Axes& axes) {
  std::size_t cells = 1;
  for (const std::int32_t a : axes) cells = multiply_cells(cells, sizes[at(a)]);
  return cells;
}

Contraction make_contraction(std::vector<std::size_t> sizes, std::vector<Leaf> leaves,
                             std::vector<ContractionStep> steps, std::vector<int> outputs) {
  Contraction c;
  c.sizes = std::move(sizes);
  c.leaves = std::move(leaves);
  c.steps = std::move(steps);
  c.outputs = std::move(outputs);
  const std::size_t n_leaves = c.leaves.size();
  const auto axes_of = [&](int table) -> const Axes& {
    return at(table) < n_leaves ? c.leaves[at(table)].axes : c.steps[at(table) - n_leaves].axes;
  };
  const Axes none;
  for (ContractionStep& step : c.steps) {
    auto loops =
        loops_over(c.sizes, axes_of(step.left), step.right < 0 ? none : axes_of(step.right), step.axes);
    tighten(loops);
    face(step, loops);
    c.loops.push_back(std::move(loops));
  }
  const Lives lives = find_levels(c);
  std::vector<std::uint8_t> returned(n_leaves + c.steps.size(), 0);
  for (const int output : c.outputs) {
    assert(at(output) >= n_leaves && returned[at(output)] == 0);
    returned[at(output)] = 1;
  }
  c.releases.resize(c.levels.size());
  for (std::size_t s = 0; s < c.steps.size(); ++s) {
    const std::size_t table = n_leaves + s;
    if (returned[table] != 0) continue;
    c.releases[at(std::max(lives.last_read[table], lives.level[table]))].push_back(static_cast<int>(s));
  }
  find_cost(c, returned);
  return c;
}

}  // namespace pypgm
