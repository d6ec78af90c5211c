// Plans the cheapest products and sums of the tables that meet in each clique, without making its own table.
#include "core/plan/factored_tree.hpp"

#include <algorithm>

#include "core/base/numbers.hpp"
#include "core/base/watch.hpp"
#include "core/plan/table_meeting.hpp"

namespace pypgm {

namespace {

int add_value(const JunctionTree& tree, FactoredTree& factored, const Scope& scope) {
  Value value;
  value.attributes.reserve(scope.size());
  for (const std::int32_t a : scope) {
    if (tree.sizes[at(a)] == 1 || factored.observed[at(a)] != 0) continue;
    value.attributes.push_back(a);
    value.cells = multiply_cells(value.cells, tree.sizes[at(a)]);
  }
  put_in_order(tree, value.attributes);
  value.offset = factored.cells;
  factored.cells = add_cells(factored.cells, value.cells);
  factored.values.push_back(std::move(value));
  return static_cast<int>(factored.values.size()) - 1;
}

/// Makes the given factors values, and a value of its own for each attribute none of them holds.
void add_factors(const JunctionTree& tree, FactoredTree& factored, std::vector<std::vector<int>>& own) {
  factored.leaf_of.assign(tree.sizes.size(), -1);
  own.resize(tree.nodes.size());
  factored.n_factors = tree.factors.size();
  for (std::size_t f = 0; f < tree.factors.size(); ++f) {
    const int value = add_value(tree, factored, tree.scopes[f]);
    own[at(tree.factors[f].node)].push_back(value);
    for (const std::int32_t a : tree.scopes[f]) {
      int& leaf = factored.leaf_of[at(a)];
      const bool smaller = leaf < 0 || tree.factors[f].layout.small < tree.factors[at(leaf)].layout.small;
      if (smaller) leaf = static_cast<int>(f);
    }
  }
  for (std::size_t a = 0; a < tree.sizes.size(); ++a) {
    if (factored.leaf_of[a] >= 0) continue;
    factored.leaf_of[a] = add_value(tree, factored, {static_cast<std::int32_t>(a)});
    own[at(tree.node_of[a])].push_back(factored.leaf_of[a]);
  }
  factored.n_leaves = factored.values.size();
}

/// Cells beside a step's own in the backward pass: the derivative of a factor, or of one of two values that
/// both are still needed for the other's.
std::size_t spare_of(const FactoredTree& factored, const FactoredStep& step) {
  const auto cells = [&](int value) { return factored.values[at(value)].cells; };
  std::size_t spare = factored.is_leaf(step.a) ? cells(step.a) : 0;
  if (step.b < 0) return spare;
  if (factored.is_leaf(step.b) || !factored.is_leaf(step.a)) spare = std::max(spare, cells(step.b));
  return spare;
}

/// At most so many cells takes the scaling of extended tables of a step: a copy of each, its rows, and what
/// it shares with the other one.
std::size_t scaled_cells(const FactoredTree& factored, const FactoredStep& step) {
  const auto cells = [&](int value) { return value < 0 ? 1 : factored.values[at(value)].cells; };
  const auto of_product = [](std::size_t a, std::size_t b, std::size_t out) {
    return a + b + std::min(a, out) + std::min(b, out) + 2 * std::min(a, b);
  };
  const std::size_t a = cells(step.a), b = cells(step.b), out = cells(step.out);
  return std::max({of_product(a, b, out), of_product(out, b, a), of_product(out, a, b)});
}

/// Puts the steps that may be taken beside each other into levels, and gives each its buffers.
void arrange(FactoredTree& factored) {
  std::vector<std::size_t> height(factored.values.size(), 0);
  for (std::size_t s = 0; s < factored.steps.size(); ++s) {
    FactoredStep& step = factored.steps[s];
    const std::size_t h = std::max(height[at(step.a)], step.b < 0 ? 0 : height[at(step.b)]);
    height[at(step.out)] = h + 1;
    if (factored.levels.size() <= h) factored.levels.resize(h + 1);
    factored.levels[h].push_back(static_cast<int>(s));
  }
  for (const auto& level : factored.levels) {
    std::size_t end = 0;
    std::size_t scaled = 0;
    for (const int s : level) {
      FactoredStep& step = factored.steps[at(s)];
      step.spare = end;
      end = add_cells(end, spare_of(factored, step));
      scaled = add_cells(scaled, scaled_cells(factored, step));
    }
    factored.spare = std::max(factored.spare, end);
    factored.scaled = std::max(factored.scaled, scaled);
  }
  // Which derivatives lead to an attribute's leaf.
  factored.leads_to_leaf.assign(factored.values.size(), 0);
  for (const int leaf : factored.leaf_of) factored.leads_to_leaf[at(leaf)] = 1;
  for (const FactoredStep& step : factored.steps) {
    const bool b = step.b >= 0 && factored.leads_to_leaf[at(step.b)] != 0;
    if (factored.leads_to_leaf[at(step.a)] != 0 || b) factored.leads_to_leaf[at(step.out)] = 1;
  }
}

}  // namespace

FactoredTree make_factored_tree(const JunctionTree& tree, std::span<const std::uint8_t> observed) {
  FactoredTree factored;
  factored.observed.assign(tree.sizes.size(), 0);
  std::copy(observed.begin(), observed.end(), factored.observed.begin());
  std::vector<std::vector<int>> own;
  add_factors(tree, factored, own);
  // A step makes one table of two, or, once a node at most, sums a single one.
  const std::size_t most = factored.n_leaves + tree.nodes.size();
  factored.steps.reserve(most);
  factored.values.reserve(factored.n_leaves + most);
  for (std::size_t i = tree.nodes.size(); i-- > 0;) {
    leave_if_abandoned();
    const TreeNode& node = tree.nodes[i];
    TableMeeting meeting(tree, factored.observed, node);
    const auto add_step = [&](FactoredStep step) {
      // The larger table comes first: the other one's derivative waits in the spare buffer.
      if (step.b >= 0 && factored.values[at(step.b)].cells > factored.values[at(step.a)].cells) {
        std::swap(step.a, step.b);
        std::swap(step.to_a, step.to_b);
        step.forward.swapped = !step.forward.swapped;
      }
      factored.steps.push_back(std::move(step));
    };
    const auto combine = [&](const TableMeeting::Pair& pair) {
      const int out = add_value(tree, factored, meeting.scope_of(pair.out));
      add_step(meeting.take(pair, out));
    };
    for (const int value : own[i]) {
      meeting.join(value, factored.values[at(value)].attributes);
      // Tables of one cell, of which there may be very many, are multiplied as they come.
      if (meeting.single_cells()) combine({0, meeting.present() - 1, 0});
    }
    meeting.multiply_equals([&](const auto& first, const auto& second, std::uint64_t bits) {
      const int out = add_value(tree, factored, meeting.scope_of(bits));
      add_step(meeting.step_of(first, second, bits, out));
      return out;
    });
    while (meeting.present() > 0 && !meeting.finished()) {
      combine(meeting.present() > 1 ? meeting.cheapest() : meeting.alone());
    }
    if (meeting.present() == 0) continue;
    if (node.parent >= 0) {
      own[at(node.parent)].push_back(meeting.only());
    } else {
      factored.root = meeting.only();
    }
  }
  arrange(factored);
  return factored;
}

}  // namespace pypgm
