#include <doctest/doctest.h>

#include <algorithm>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/plan/junction_tree.hpp"
#include "random_models.hpp"

namespace pypgm {
namespace {

bool holds(const Scope& outer, const Scope& inner) {
  return std::includes(outer.begin(), outer.end(), inner.begin(), inner.end());
}

void check_edges(const test::Structure& s, const JunctionTree& tree) {
  std::size_t offset = 0;
  std::size_t separator_offset = 0;
  for (std::size_t i = 0; i < tree.nodes.size(); ++i) {
    const TreeNode& node = tree.nodes[i];
    CHECK(std::is_sorted(node.attributes.begin(), node.attributes.end()));
    CHECK(node.cells == test::cells_of(s.sizes, node.attributes));
    CHECK(node.edge.cells == test::cells_of(s.sizes, node.edge.separator));
    CHECK(node.offset == offset);
    CHECK(node.edge.offset == separator_offset);
    offset += node.cells;
    separator_offset += node.edge.cells;
    CHECK((i == 0) == (node.parent < 0));
    if (i == 0) continue;
    REQUIRE(node.parent < static_cast<int>(i));
    const TreeNode& parent = tree.nodes[at(node.parent)];
    Scope both;
    std::set_intersection(node.attributes.begin(), node.attributes.end(), parent.attributes.begin(),
                          parent.attributes.end(), std::back_inserter(both));
    CHECK(node.edge.separator == both);
    CHECK(std::count(parent.children.begin(), parent.children.end(), static_cast<int>(i)) == 1);
    CHECK(node.edge.in_parent.large == parent.cells);
    CHECK(node.edge.in_parent.small == node.edge.cells);
  }
}

/// The running intersection property: of the nodes with an attribute exactly one has a parent without it.
void check_running_intersection(const test::Structure& s, const JunctionTree& tree) {
  for (std::size_t a = 0; a < s.sizes.size(); ++a) {
    const Scope one{static_cast<std::int32_t>(a)};
    int tops = 0;
    for (const TreeNode& node : tree.nodes) {
      if (!holds(node.attributes, one)) continue;
      if (node.parent < 0 || !holds(tree.nodes[at(node.parent)].attributes, one)) ++tops;
    }
    CHECK(tops == 1);
  }
}

void check_placements(const test::Structure& s, const JunctionTree& tree) {
  REQUIRE(tree.factors.size() == s.cliques.size());
  std::size_t offset = 0;
  for (std::size_t f = 0; f < s.cliques.size(); ++f) {
    const Placement& place = tree.factors[f];
    const TreeNode& home = tree.nodes[at(place.node)];
    CHECK(holds(home.attributes, s.cliques[f]));
    CHECK(place.offset == offset);
    CHECK(place.layout.large == home.cells);
    CHECK(place.layout.small == test::cells_of(s.sizes, s.cliques[f]));
    CHECK(std::count(home.factors.begin(), home.factors.end(), static_cast<int>(f)) == 1);
    for (const TreeNode& node : tree.nodes) {
      if (!s.cliques[f].empty() && holds(node.attributes, s.cliques[f])) CHECK(home.cells <= node.cells);
    }
    offset += place.layout.small;
  }
  for (std::size_t a = 0; a < s.sizes.size(); ++a) {
    CHECK(holds(tree.nodes[at(tree.node_of[a])].attributes, {static_cast<std::int32_t>(a)}));
  }
}

TEST_CASE("random trees: edges, running intersection, homes of cliques, cost") {
  std::mt19937_64 random(6);
  for (int round = 0; round < 200; ++round) {
    const test::Structure s = test::random_structure(random, 1 + test::below(random, 14), 5);
    const JunctionTree tree = test::tree_of(s);
    check_edges(s, tree);
    check_running_intersection(s, tree);
    check_placements(s, tree);
    double cells = 0;
    double largest = 0;
    for (const TreeNode& node : tree.nodes) {
      cells += static_cast<double>(node.cells);
      largest = std::max(largest, static_cast<double>(node.cells));
    }
    CHECK(tree.cost.cells == cells);
    CHECK(tree.cost.largest_cells == largest);
    CHECK(tree.nodes[at(tree.cost.largest)].cells == static_cast<std::size_t>(largest));
    CHECK(tree.cost.factor_cells == static_cast<double>(test::cells_of(s)));
  }
}

TEST_CASE("no attributes make one node of one cell") {
  const JunctionTree tree = build_junction_tree({}, {}, eliminate({}, {}, false));
  REQUIRE(tree.nodes.size() == 1);
  CHECK(tree.nodes[0].cells == 1);
}

TEST_CASE("a tree too large for memory says what it would take; one too large for any is not planned") {
  test::Structure s;
  s.sizes.assign(14, 10);
  s.cliques.emplace_back();
  for (std::int32_t a = 0; a < 14; ++a) s.cliques[0].push_back(a);
  const JunctionTree tree = test::tree_of(s);
  CHECK(tree.cost.largest_cells == doctest::Approx(1e14));
  CHECK(tree.cost.bytes > 7e14);
  CHECK(tree.cost.width == 13);
  s.sizes.assign(40, 10);
  for (std::int32_t a = 14; a < 40; ++a) s.cliques[0].push_back(a);
  CHECK_THROWS_AS(test::tree_of(s), HopelessElimination);
}

}  // namespace
}  // namespace pypgm
