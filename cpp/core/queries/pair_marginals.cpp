// From the leaves of the tree to its root: what an edge carries grows by what its clique takes out. All pairs
// of 100 attributes on a tree of pairs take 1.6 (4 values) to 2.0 times (2) as long by projections.cpp, of
// 30 1.3.
#include "core/queries/pair_marginals.hpp"

#include <algorithm>
#include <cassert>
#include <map>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/queries/contraction.hpp"
#include "core/simd/kernels.hpp"
#include "core/simd/reduce.hpp"
#include "core/tables/strides.hpp"

namespace pypgm {

namespace {

/// Attributes, and the columns of their values side by side.
struct Columns {
  Axes attributes;
  std::vector<std::size_t> first;  ///< column of an attribute
  std::size_t n = 0;

  void add(std::int32_t attribute, std::size_t size) {
    attributes.push_back(attribute);
    first.push_back(n);
    n += size;
  }
};

/// The conditional probabilities of the values of all attributes below an edge: a row for each cell of its
/// separator.
struct EdgeTable {
  Columns below;
  std::vector<double> cells;
};

Scope without(const Scope& scope, const Scope& less) {
  Scope rest;
  std::ranges::set_difference(scope, less, std::back_inserter(rest));
  return rest;
}

Scope both(const Scope& one, const Scope& other) {
  Scope scope;
  std::ranges::set_union(one, other, std::back_inserter(scope));
  return scope;
}

class PairMarginals {
 public:
  PairMarginals(const JunctionTree& tree, std::span<const std::span<const double>> cliques, double negligible,
                std::span<const Pair> pairs, std::span<const std::span<double>> out)
      : tree_(tree), cliques_(cliques), negligible_(negligible), out_(out), messages_(tree.nodes.size()) {
    for (std::size_t i = 0; i < pairs.size(); ++i) place_.emplace(pairs[i], i);
  }

  void visit(std::size_t v);

 private:
  const JunctionTree& tree_;
  std::span<const std::span<const double>> cliques_;
  double negligible_;
  std::span<const std::span<double>> out_;
  std::map<Pair, std::size_t> place_;
  std::vector<EdgeTable> messages_;  ///< of each clique to its parent, until that has read it

  std::vector<double> marginal(std::size_t v, const Scope& scope) const;
  std::vector<std::size_t> cells_in(const Scope& large, const Scope& small) const;
  std::vector<double> carried(std::size_t v, const Scope& kept, int child) const;
  void meet(std::size_t v, int one, int other);
  void meet_own(std::size_t v, int child, std::int32_t own);
  void send(std::size_t v);
  void answer(const Columns& rows, const Columns& columns, const std::vector<double>& block);
};

/// The table of a clique summed onto a part of it.
std::vector<double> PairMarginals::marginal(std::size_t v, const Scope& scope) const {
  const Scope& whole = tree_.nodes[v].attributes;
  std::vector<std::uint8_t> kept;
  for (const std::int32_t a : whole) kept.push_back(contains(scope, a) ? 1 : 0);
  const Layout layout = make_layout(sizes_of(tree_.sizes, whole), kept);
  std::vector<double> sums(layout.small);
  reduce_sum(cliques_[v], layout, sums, 1);
  return sums;
}

/// For each cell of a table the one of a part of it.
std::vector<std::size_t> PairMarginals::cells_in(const Scope& large, const Scope& small) const {
  Strides strides;
  for (std::size_t i = large.size(); i-- > 0;) {
    const std::size_t step = contains(small, large[i]) ? stride_of(tree_.sizes, small, large[i]) : 0;
    strides.add_outer(tree_.sizes[at(large[i])], step);
  }
  std::vector<std::size_t> cells(cells_of(tree_.sizes, large));
  strides.for_cells(0, [&](std::size_t cell, std::size_t other) { cells[cell] = other; });
  return cells;
}

/// What a child has sent, summed over what its clique shares with this one and `kept` lacks, weighted by the
/// marginals: a row for each cell of `kept`, counts.
std::vector<double> PairMarginals::carried(std::size_t v, const Scope& kept, int child) const {
  const EdgeTable& sent = messages_[at(child)];
  const Scope& separator = tree_.nodes[at(child)].edge.separator;
  const Scope joined = both(kept, separator);
  const std::vector<double> weights = marginal(v, joined);
  const std::vector<std::size_t> to = cells_in(joined, kept), from = cells_in(joined, separator);
  const std::size_t n = sent.below.n;
  std::vector<double> rows(cells_of(tree_.sizes, kept) * n, 0.0);
  const auto add = kernels().add_scaled;
  const Watch* const watch = thread_watch;
  for (std::size_t i = 0; i < weights.size(); ++i) {
    leave_if_abandoned(watch);
    double* const row = rows.data() + to[i] * n;
    if (weights[i] != 0) add(row, sent.cells.data() + from[i] * n, weights[i], n, row);
  }
  return rows;
}

/// Writes the pairs that are asked for of a block of counts.
void PairMarginals::answer(const Columns& rows, const Columns& columns, const std::vector<double>& block) {
  for (std::size_t i = 0; i < rows.attributes.size(); ++i) {
    for (std::size_t j = 0; j < columns.attributes.size(); ++j) {
      const std::int32_t a = rows.attributes[i], b = columns.attributes[j];
      const auto found = place_.find(std::minmax(a, b));
      if (found == place_.end()) continue;
      double* const table = out_[found->second].data();
      const std::size_t n = tree_.sizes[at(a)], m = tree_.sizes[at(b)];
      for (std::size_t x = 0; x < n; ++x) {
        const double* const from = block.data() + (rows.first[i] + x) * columns.n + columns.first[j];
        for (std::size_t y = 0; y < m; ++y) table[a < b ? x * m + y : y * n + x] = from[y];
      }
    }
  }
}

/// Pairs of what lies below two children.
void PairMarginals::meet(std::size_t v, int one, int other) {
  const EdgeTable& sent = messages_[at(other)];
  const std::size_t rows = messages_[at(one)].below.n, n = sent.below.n;
  if (rows == 0 || n == 0) return;
  const std::vector<double> weighted = carried(v, tree_.nodes[at(other)].edge.separator, one);
  std::vector<double> block(rows * n, 0.0);
  const auto add = kernels().add_scaled;
  const Watch* const watch = thread_watch;
  for (std::size_t cell = 0; cell < sent.cells.size() / n; ++cell) {
    leave_if_abandoned(watch);
    const double* const from = sent.cells.data() + cell * n;
    for (std::size_t i = 0; i < rows; ++i) {
      double* const row = block.data() + i * n;
      add(row, from, weighted[cell * rows + i], n, row);
    }
  }
  answer(messages_[at(one)].below, sent.below, block);
}

/// Pairs of what lies below a child and an attribute of the clique itself, which the child's does not have.
void PairMarginals::meet_own(std::size_t v, int child, std::int32_t own) {
  Columns rows;
  rows.add(own, tree_.sizes[at(own)]);
  answer(rows, messages_[at(child)].below, carried(v, {own}, child));
}

/// Makes the message to the parent, from the clique's own attributes and what the children have sent.
void PairMarginals::send(std::size_t v) {
  const TreeNode& node = tree_.nodes[v];
  const Scope& separator = node.edge.separator;
  EdgeTable& message = messages_[v];
  std::vector<std::vector<double>> parts;
  for (const std::int32_t a : without(node.attributes, separator)) {
    const Scope joined = both(separator, {a});
    const std::vector<double> weights = marginal(v, joined);
    const std::vector<std::size_t> row = cells_in(joined, separator), value = cells_in(joined, {a});
    parts.emplace_back(weights.size());
    for (std::size_t i = 0; i < weights.size(); ++i)
      parts.back()[row[i] * tree_.sizes[at(a)] + value[i]] = weights[i];
    message.below.add(a, tree_.sizes[at(a)]);
  }
  for (const int child : node.children) {
    parts.push_back(carried(v, separator, child));
    const Axes& carried_on = messages_[at(child)].below.attributes;
    for (const std::int32_t a : carried_on) message.below.add(a, tree_.sizes[at(a)]);
  }
  const std::vector<double> counts = marginal(v, separator);
  message.cells.resize(counts.size() * message.below.n);
  double* to = message.cells.data();
  for (std::size_t cell = 0; cell < counts.size(); ++cell) {
    const double inverse = counts[cell] > negligible_ ? 1 / counts[cell] : 0.0;
    for (const std::vector<double>& part : parts) {
      const std::size_t n = part.size() / counts.size();
      for (std::size_t k = 0; k < n; ++k) *to++ = part[cell * n + k] * inverse;
    }
  }
}

/// Answers the pairs that meet in a clique, whose children have been visited.
void PairMarginals::visit(std::size_t v) {
  const TreeNode& node = tree_.nodes[v];
  for (const int child : node.children) {
    for (const std::int32_t a : without(node.attributes, tree_.nodes[at(child)].edge.separator))
      meet_own(v, child, a);
    for (const int other : node.children) {
      if (other > child) meet(v, child, other);
    }
  }
  if (node.parent >= 0) send(v);
  for (const int child : node.children) messages_[at(child)] = {};
}

}  // namespace

std::vector<std::uint8_t> held_pairs(const JunctionTree& tree, std::span<const Pair> pairs) {
  std::vector<std::vector<int>> holders(tree.sizes.size());
  for (std::size_t v = 0; v < tree.nodes.size(); ++v) {
    for (const std::int32_t a : tree.nodes[v].attributes) holders[at(a)].push_back(static_cast<int>(v));
  }
  std::vector<std::uint8_t> held;
  for (const auto& [a, b] : pairs) {
    const std::vector<int>* few = &holders[at(a)];
    const std::vector<int>* many = &holders[at(b)];
    if (few->size() > many->size()) std::swap(few, many);
    const auto is_there = [&](int v) { return std::ranges::binary_search(*many, v); };
    held.push_back(std::ranges::any_of(*few, is_there) ? 1 : 0);
  }
  return held;
}

PairCost cost_of_pairs(const JunctionTree& tree) {
  const auto cells = [&](const Scope& scope) { return count_cells(tree.sizes, scope); };
  std::vector<double> below(tree.nodes.size(), 0.0);
  PairCost cost;
  double alive = 0;
  for (std::size_t v = tree.nodes.size(); v-- > 0;) {
    const TreeNode& node = tree.nodes[v];
    const Scope& separator = node.edge.separator;
    double made = 3 * cells(node.attributes), sent = 0;
    for (const std::int32_t a : without(node.attributes, separator))
      below[v] += static_cast<double>(tree.sizes[at(a)]);
    for (const int child : node.children) {
      const Scope& shared = tree.nodes[at(child)].edge.separator;
      const double n = below[at(child)];
      below[v] += n;
      sent += cells(shared) * n;
      cost.operations += cells(both(separator, shared)) * n;
      for (const std::int32_t a : without(node.attributes, shared)) {
        cost.operations += cells(both({a}, shared)) * n;
        made = std::max(made, static_cast<double>(tree.sizes[at(a)]) * n);
      }
      for (const int other : node.children) {
        if (other <= child) continue;
        const Scope& far = tree.nodes[at(other)].edge.separator;
        cost.operations += cells(both(shared, far)) * n + cells(far) * n * below[at(other)];
        made = std::max(made, cells(far) * n + n * below[at(other)]);
      }
    }
    const double own = node.parent < 0 ? 0.0 : cells(separator) * below[v];
    cost.bytes = std::max(cost.bytes, 8 * (alive + 3 * cells(node.attributes) + std::max(made, 2 * own)));
    alive += own - sent;
  }
  return cost;
}

void pair_marginals(const JunctionTree& tree, std::span<const std::span<const double>> cliques,
                    double negligible, std::span<const Pair> pairs, std::span<const std::span<double>> out,
                    Watch& watch) {
  assert(cliques.size() == tree.nodes.size() && out.size() == pairs.size());
  const WatchScope scope(&watch);
  PairMarginals run(tree, cliques, negligible, pairs, out);
  for (std::size_t v = tree.nodes.size(); v-- > 0;) {
    leave_if_abandoned();
    run.visit(v);
    watch.count();
  }
}

}  // namespace pypgm
