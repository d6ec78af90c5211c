#include "core/exact/row_nodes.hpp"

#include <algorithm>
#include <iterator>

#include "core/base/numbers.hpp"

namespace pypgm {

namespace {

Scope united(const Scope& a, const Scope& b) {
  Scope both;
  std::set_union(a.begin(), a.end(), b.begin(), b.end(), std::back_inserter(both));
  return both;
}

/// What decides how a node falls into rows.
struct Shape {
  const JunctionTree& tree;
  const TreeNode& node;
  Scope along, across;
  std::size_t first = 0;  ///< axis from which on the cells of a row are

  std::size_t size(std::size_t axis) const { return tree.sizes[at(node.attributes[axis])]; }
  const Scope& scope_of(int input) const {
    return input >= 0 ? tree.scopes[at(input)] : tree.nodes[at(-1 - input)].separator;
  }
  std::size_t last_axis() const {
    std::size_t axis = node.attributes.size() - 1;
    while (axis > 0 && size(axis) == 1) --axis;
    return axis;
  }
  bool lies_along(const Scope& scope) const { return contains(scope, node.attributes[last_axis()]); }
  void take(const Scope& scope) {
    Scope& to = lies_along(scope) ? along : across;
    to = united(to, scope);
  }
  /// Finds where the rows begin, inside a block; without a table along them, one that they fill is made.
  void find_rows() {
    first = node.attributes.size();
    const bool empty = along.empty();
    while (first > node.blocks.axis) {
      const std::int32_t a = node.attributes[first - 1];
      if (size(first - 1) > 1 && (contains(across, a) || !(empty || contains(along, a)))) break;
      --first;
    }
    if (empty)
      along.assign(node.attributes.begin() + static_cast<std::ptrdiff_t>(first), node.attributes.end());
  }
  /// Step of an axis in the table over a scope, 0 if it lacks the axis.
  std::size_t step(const Scope& scope, std::size_t axis) const {
    if (!contains(scope, node.attributes[axis])) return 0;
    std::size_t cells = 1;
    for (std::size_t k = axis + 1; k < node.attributes.size(); ++k) {
      if (contains(scope, node.attributes[k])) cells *= size(k);
    }
    return cells;
  }
  Layout layout_in(const Scope& scope, const Scope& inner) const {
    std::vector<std::size_t> sizes;
    std::vector<std::uint8_t> kept;
    for (const std::int32_t a : scope) {
      sizes.push_back(tree.sizes[at(a)]);
      kept.push_back(contains(inner, a) ? 1 : 0);
    }
    return make_layout(sizes, kept);
  }
  bool make_rows(std::size_t block_cells, RowGrid& rows) const;
};

/// The rows of a block of so many cells; false if two loops do not make them.
bool Shape::make_rows(std::size_t block_cells, RowGrid& rows) const {
  std::size_t inside = 1;
  for (std::size_t k = node.blocks.axis + 1; k < node.attributes.size(); ++k) inside *= size(k);
  std::vector<RowLoop> loops;
  std::size_t n = 1;
  for (std::size_t k = node.blocks.axis; k < node.attributes.size(); ++k) {
    const std::size_t values = k == node.blocks.axis ? block_cells / inside : size(k);
    if (k >= first) n *= values;
    if (k >= first || values == 1) continue;
    RowLoop loop{values, step(along, k), step(across, k)};
    if (!loops.empty() && loops.back().along == loop.along * values &&
        loops.back().across == loop.across * values) {
      loop.size *= loops.back().size;
      loops.pop_back();
    }
    loops.push_back(loop);
  }
  if (loops.size() > 2) return false;
  while (loops.size() < 2) loops.insert(loops.begin(), RowLoop{});
  rows = {n, loops[0], loops[1]};
  return rows.outer.along == 0 || rows.inner.along == 0;
}

constexpr std::size_t kShortest = 3;  // cells of a row; below, loops over all cells are faster

RowNode make_row_node(const JunctionTree& tree, const TreeNode& node) {
  RowNode row;
  if (node.blocks.pieces > 1 || node.attributes.empty()) return row;
  Shape shape{tree, node, {}, {}};
  for (const int input : node.inputs) {
    if (input >= 0 && tree.factors[at(input)].view.fills) {
      if (row.factor >= 0) return {};
      row.factor = input;
    } else {
      shape.take(shape.scope_of(input));
    }
  }
  shape.take(node.separator);
  shape.find_rows();
  row.along.view = make_view(tree.sizes, node.attributes, shape.along);
  row.across.view = make_view(tree.sizes, node.attributes, shape.across);
  const bool fits = row.along.view.cells <= kBlockCells && row.across.view.cells <= kBlockCells;
  const bool loops = fits && shape.make_rows(node.blocks.cells, row.rows) &&
                     shape.make_rows(node.blocks.last_cells, row.last_rows);
  if (!loops || row.factor < 0 || row.rows.n < kShortest) return {};
  for (const int input : node.inputs) {
    if (input == row.factor) continue;
    const bool along = shape.lies_along(shape.scope_of(input));
    (along ? row.along : row.across)
        .inputs.push_back(
            {input, shape.layout_in(along ? shape.along : shape.across, shape.scope_of(input))});
  }
  row.own_along = shape.lies_along(node.separator);
  row.own = shape.layout_in(row.own_along ? shape.along : shape.across, node.separator);
  return row;
}

}  // namespace

RowTables RowNode::tables_at(const RowTables& tables, const Block& block) const {
  const std::size_t by_row = offset_of(across.view, block);
  const std::size_t by_cell = offset_of(along.view, block);
  return {tables.along + by_cell, tables.across + by_row,
          tables.along_sums == nullptr ? nullptr : tables.along_sums + by_cell,
          tables.across_sums == nullptr ? nullptr : tables.across_sums + by_row};
}

std::vector<RowNode> make_row_nodes(const JunctionTree& tree) {
  std::vector<RowNode> nodes;
  for (const TreeNode& node : tree.nodes) nodes.push_back(make_row_node(tree, node));
  return nodes;
}

}  // namespace pypgm
