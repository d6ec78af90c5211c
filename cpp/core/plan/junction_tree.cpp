// From an elimination to a rooted junction tree: maximal bags, separators, homes of the given cliques, costs.
#include "core/plan/junction_tree.hpp"

#include <algorithm>
#include <cassert>
#include <tuple>

#include "core/base/numbers.hpp"
#include "core/plan/factored_tree.hpp"
#include "core/plan/last_observed.hpp"
#include "core/plan/traversal.hpp"

namespace pypgm {

namespace {

using Neighbours = std::vector<std::vector<int>>;

struct Forest {
  std::vector<Scope> cliques;
  Neighbours beside;
};

/// The maximal bags and which of them are joined. A bag is joined to the bag of whichever of its other
/// attributes goes next; where that one is no more than the rest of the bag, the two are one clique.
Forest maximal_bags(std::size_t n_attributes, const Elimination& elimination) {
  const auto& bags = elimination.bags;
  std::vector<int> position(n_attributes);
  for (std::size_t i = 0; i < bags.size(); ++i) position[at(elimination.order[i])] = static_cast<int>(i);
  std::vector<int> clique_of(bags.size(), -1);
  std::vector<int> next_of(bags.size(), static_cast<int>(bags.size()));
  Forest forest;
  for (std::size_t i = 0; i < bags.size(); ++i) {
    if (clique_of[i] < 0) {
      clique_of[i] = static_cast<int>(forest.cliques.size());
      forest.cliques.push_back(bags[i]);
    }
    int& next = next_of[i];
    for (const std::int32_t u : bags[i]) {
      if (position[at(u)] > static_cast<int>(i)) next = std::min(next, position[at(u)]);
    }
    if (at(next) == bags.size()) continue;
    if (bags[at(next)].size() + 1 == bags[i].size() && clique_of[at(next)] < 0) {
      clique_of[at(next)] = clique_of[i];
    }
  }
  if (bags.empty()) forest.cliques.emplace_back();
  forest.beside.resize(forest.cliques.size());
  for (std::size_t i = 0; i < bags.size(); ++i) {
    if (at(next_of[i]) == bags.size()) continue;
    const int a = clique_of[i];
    const int b = clique_of[at(next_of[i])];
    if (a == b) continue;
    forest.beside[at(a)].push_back(b);
    forest.beside[at(b)].push_back(a);
  }
  return forest;
}

Scope intersection(const Scope& a, const Scope& b) {
  Scope both;
  std::set_intersection(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

/// The cliques of one part in the order a walk from `start` meets them; `before` receives each one's
/// predecessor.
std::vector<int> walk_from(int start, const Neighbours& beside, std::vector<int>& before) {
  std::vector<int> order{start};
  before[at(start)] = -1;
  for (std::size_t head = 0; head < order.size(); ++head) {
    const int clique = order[head];
    for (const int other : beside[at(clique)]) {
      if (other == before[at(clique)]) continue;
      before[at(other)] = clique;
      order.push_back(other);
    }
  }
  return order;
}

/// The clique in the middle of the heaviest path of a part, cells counted: from there a pass has the fewest
/// cells one after the other, and a chain has two branches beside each other.
int centre(int start, const Neighbours& beside, const std::vector<double>& cells, std::vector<int>& before,
           std::vector<double>& distance) {
  const auto farthest = [&](int from) {
    int last = from;
    for (const int clique : walk_from(from, beside, before)) {
      const int previous = before[at(clique)];
      distance[at(clique)] = cells[at(clique)] + (previous < 0 ? 0.0 : distance[at(previous)]);
      if (distance[at(clique)] > distance[at(last)]) last = clique;
    }
    return last;
  };
  int middle = farthest(farthest(start));
  const double half = distance[at(middle)] / 2;
  while (before[at(middle)] >= 0 && distance[at(before[at(middle)])] >= half) middle = before[at(middle)];
  return middle;
}

/// Orders the cliques so that parents come before children, each part from its centre; the heaviest part is
/// first, and the others hang below its root.
void root_forest(JunctionTree& tree, const Forest& forest) {
  const std::size_t n = forest.cliques.size();
  std::vector<double> cells(n);
  for (std::size_t i = 0; i < n; ++i) {
    cells[i] = static_cast<double>(cells_of(tree.sizes, forest.cliques[i]));
  }
  std::vector<int> before(n, -1);
  std::vector<double> distance(n, 0.0);
  std::vector<std::uint8_t> seen(n, 0);
  std::vector<std::pair<double, int>> roots;
  tree.nodes.reserve(n);
  for (std::size_t i = 0; i < n; ++i) {
    if (seen[i] != 0) continue;
    double part = 0;
    for (const int clique : walk_from(static_cast<int>(i), forest.beside, before)) {
      seen[at(clique)] = 1;
      part += cells[at(clique)];
    }
    roots.emplace_back(-part, centre(static_cast<int>(i), forest.beside, cells, before, distance));
  }
  std::stable_sort(roots.begin(), roots.end(),
                   [](const auto& a, const auto& b) { return a.first < b.first; });
  std::vector<int> node_of(n, -1);
  for (const auto& root : roots) {
    for (const int clique : walk_from(root.second, forest.beside, before)) {
      TreeNode node;
      node.attributes = forest.cliques[at(clique)];
      const int above = before[at(clique)];
      node.parent = above >= 0 ? node_of[at(above)] : (tree.nodes.empty() ? -1 : 0);
      node_of[at(clique)] = static_cast<int>(tree.nodes.size());
      tree.nodes.push_back(std::move(node));
    }
  }
}

void compile_edges(JunctionTree& tree) {
  std::size_t table_end = 0;
  std::size_t message_end = 0;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    TreeNode& node = tree.nodes[i];
    if (node.parent >= 0) {
      TreeNode& parent = tree.nodes[at(node.parent)];
      node.edge.separator = intersection(node.attributes, parent.attributes);
      parent.children.push_back(static_cast<int>(i));
      Nesting nesting = nest(tree.sizes, parent.attributes, node.edge.separator);
      node.edge.in_parent = std::move(nesting.layout);
      node.edge.parent_view = std::move(nesting.view);
    }
    Nesting nesting = nest(tree.sizes, node.attributes, node.edge.separator);
    node.edge.in_child = std::move(nesting.layout);
    node.edge.child_view = std::move(nesting.view);
    node.blocks = make_blocks(sizes_of(tree.sizes, node.attributes));
    node.cells = node.edge.in_child.large;
    node.edge.cells = node.edge.in_child.small;
    node.offset = table_end;
    node.edge.offset = message_end;
    table_end = add_cells(table_end, node.cells);
    message_end = add_cells(message_end, node.edge.cells);
  }
}

/// Finds the smallest node that holds each scope by looking through the nodes of its rarest attribute.
void place_factors(JunctionTree& tree, std::span<const Scope> cliques) {
  std::vector<std::vector<int>> nodes_with(tree.sizes.size());
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    for (const std::int32_t a : tree.nodes[i].attributes) nodes_with[at(a)].push_back(static_cast<int>(i));
  }
  const auto smaller = [&](int a, int b) { return tree.nodes[at(a)].cells < tree.nodes[at(b)].cells; };
  const auto smallest_with = [&](const Scope& scope) {
    if (scope.empty()) return 0;
    const auto rarest = std::min_element(scope.begin(), scope.end(), [&](std::int32_t a, std::int32_t b) {
      return nodes_with[at(a)].size() < nodes_with[at(b)].size();
    });
    int found = -1;
    for (const int candidate : nodes_with[at(*rarest)]) {
      const bool better = found < 0 || smaller(candidate, found);
      if (better && std::ranges::includes(tree.nodes[at(candidate)].attributes, scope)) found = candidate;
    }
    assert(found >= 0);
    return found;
  };
  std::size_t end = 0;
  tree.factors.reserve(cliques.size());
  for (const Scope& clique : cliques) {
    const int node = smallest_with(clique);
    const Scope& attributes = tree.nodes[at(node)].attributes;
    tree.nodes[at(node)].factors.push_back(static_cast<int>(tree.factors.size()));
    Nesting nesting = nest(tree.sizes, attributes, clique);
    tree.factors.push_back({node, std::move(nesting.layout), std::move(nesting.view), end});
    end = add_cells(end, tree.factors.back().layout.small);
  }
  for (const auto& nodes : nodes_with) tree.node_of.push_back(*std::ranges::min_element(nodes, smaller));
}

/// Brings together what lies alike in the blocks of a node: what fills it, then the smallest first, and last
/// what lies like the node's own separator, which comes in after all of these. Children that share nothing
/// are left out.
void order_inputs(JunctionTree& tree) {
  for (TreeNode& node : tree.nodes) {
    const auto view_of = [&](int input) -> const BlockView& {
      return input >= 0 ? tree.factors[at(input)].view : tree.nodes[at(-1 - input)].edge.parent_view;
    };
    const auto rank = [&](int input) {
      const BlockView& view = view_of(input);
      const int place = view.fills ? 0 : (view.pattern == node.edge.child_view.pattern ? 2 : 1);
      return std::tuple(place, view.block.small, view.pattern);
    };
    node.inputs = node.factors;
    for (const int c : node.children) {
      if (tree.nodes[at(c)].edge.cells > 1) node.inputs.push_back(-1 - c);
    }
    std::stable_sort(node.inputs.begin(), node.inputs.end(), [&](int a, int b) { return rank(a) < rank(b); });
    const int first = node.inputs.empty() ? -1 : node.inputs[0];
    if (first >= 0 && view_of(first).fills) node.filler = first;
  }
}

void estimate_cost(JunctionTree& tree) {
  TreeCost& cost = tree.cost;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    const double cells = count_cells(tree.sizes, node.attributes);
    if (cells > cost.largest_cells) {
      cost.largest_cells = cells;
      cost.largest = static_cast<int>(i);
    }
    cost.width = std::max(cost.width, node.attributes.size());
    cost.cells += cells;
    cost.separator_cells += count_cells(tree.sizes, node.edge.separator);
    // Up and down: each factor and child is multiplied in, the separator is summed out once by the node and
    // once by each child, and the parent's answer is multiplied in.
    cost.operations += cells * static_cast<double>(2 + node.factors.size() + 2 * node.children.size());
  }
  if (cost.width > 0) --cost.width;
  for (const Placement& p : tree.factors) cost.factor_cells += static_cast<double>(p.layout.small);
  // Cells of nodes (where tables are worked on, fewer than twice those of the factors), messages both ways
  // with sums and logarithms, sums of the pieces of large tables; or the values of a contraction, and as much
  // again where its tables are extended, for exponents, and what scaling takes. And the answer.
  const double worked =
      2.0 * cost.factor_cells + 4.0 * cost.separator_cells + static_cast<double>(tree.partial_cells);
  // A clique beyond every integer is never worked on: it counts in full.
  const auto extended_cells = [](const FactoredTree& c) {
    return 2 * (static_cast<double>(c.cells) + static_cast<double>(c.spare)) + static_cast<double>(c.scaled);
  };
  const double contracted = tree.factored == nullptr ? worked + cost.cells : extended_cells(*tree.factored);
  const double held = std::max(worked, contracted);
  cost.bytes = 8.0 * (held + cost.factor_cells);
  cost.table_bytes = std::max(cost.bytes, 8.0 * (worked + cost.factor_cells + cost.cells));
}

}  // namespace

JunctionTree build_junction_tree(std::span<const std::size_t> sizes, std::span<const Scope> cliques,
                                 const Elimination& elimination) {
  JunctionTree tree;
  tree.sizes.assign(sizes.begin(), sizes.end());
  tree.order = elimination.order;
  tree.scopes.assign(cliques.begin(), cliques.end());
  root_forest(tree, maximal_bags(sizes.size(), elimination));
  compile_edges(tree);
  tree.branches = make_branches(tree.nodes);
  place_factors(tree, cliques);
  order_inputs(tree);
  if (std::none_of(tree.nodes.begin(), tree.nodes.end(),
                   [](const TreeNode& node) { return node.cells >= kTooManyCells; })) {
    place_partials(tree);
    tree.factored = std::make_shared<const FactoredTree>(make_factored_tree(tree, {}));
    tree.last_observed = std::make_shared<LastObserved>();
  }
  estimate_cost(tree);
  return tree;
}

}  // namespace pypgm
