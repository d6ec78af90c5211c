#pragma once
#include <functional>
#include <span>
#include <vector>

#include "core/exact/block_product.hpp"
#include "core/exact/evidence.hpp"
#include "core/exact/outcome.hpp"
#include "core/exact/row_nodes.hpp"
#include "core/exact/weight_range.hpp"
#include "core/plan/junction_tree.hpp"

namespace pypgm {

/// The weights of a factor, exp(potential - shift).
struct Scaling {
  double shift = 0;   ///< the largest potential; 0 if all are -inf
  WeightRange range;  ///< of the weights
};

/// The buffers one propagation works in; sized once, used again without allocation. The tables of the tree's
/// cliques are not among them: their cells are made, block by block, where they are needed.
struct Workspace {
  explicit Workspace(const JunctionTree& tree);

  std::vector<double> weights;      ///< exp of the potentials, each factor scaled to a largest weight of 1
  std::vector<Scaling> scalings;    ///< a factor
  std::vector<double> messages;     ///< towards the root, scaled to a largest entry of 1
  std::vector<double> ratios;       ///< in the downward pass: what a node's cells are multiplied by
  std::vector<double> answers;      ///< the parent's marginal on the separator
  std::vector<double> sums;         ///< marginals of the factors that do not fill their clique
  std::vector<double> partials;     ///< what the pieces of a large table sum up
  std::vector<double> peaks;        ///< a node: largest entry of its message before scaling
  std::vector<double> log_scale;    ///< a node: logarithm of all scales taken out below and at it
  std::vector<WeightRange> ranges;  ///< a node: of its message
};

/// What a caller does with the parts of a propagation while they are in cache. Called for different nodes,
/// and for different blocks of a node, at the same time; `threads` is the number a call may use itself.
struct NodeHooks {
  /// Prepares the potentials of the node's factors.
  std::function<void(const TreeNode&, int threads)> before;
  /// Cells of the marginal of a given clique (counts) from `begin` on: all of them, or a block if the clique
  /// fills its node.
  std::function<void(int factor, std::size_t begin, std::span<const double>)> marginal;
  /// Cells of the marginal of a tree clique: a block.
  std::function<void(const TreeNode&, const Block&, std::span<const double>)> cells;
  /// The marginals of the node's factors have all been handed over.
  std::function<void(const TreeNode&, int threads)> after;
  /// Nodes whose cells are gone through as rows, by node; may be empty. The marginal of such a node, which is
  /// the product of its clique's weights and of the tables, is not handed out: `step` makes it and sums it
  /// up.
  std::span<const RowNode> rows;
  std::function<void(const RowNode&, const RowTables&)> step;
};

/// Hands out the marginals of the given and of the tree's cliques, in counts that sum to `total`. `log_z` is
/// the natural log of the partition function (over all attributes of the domain). Potentials: natural logs of
/// the given cliques one behind the other, each in C order; -inf is weight zero. Any n_threads gives the same
/// bits. If everything has weight zero, log_z = -inf, and where underflow may have taken something that
/// matters, the outcome says so after the pass towards the root: all factors are prepared, and nothing is
/// handed out.
Outcome propagate(const JunctionTree& tree, std::span<const double> potentials,
                  std::span<const Evidence> evidence, double total, Workspace& work, double& log_z,
                  int n_threads, const NodeHooks& hooks);

/// The log partition function alone: one pass towards the root.
Outcome log_partition(const JunctionTree& tree, std::span<const double> potentials,
                      std::span<const Evidence> evidence, Workspace& work, double& log_z, int n_threads);

/// The part of a buffer of all given tables that holds one clique's.
template <class Buffer>
auto slice(const JunctionTree& tree, Buffer& buffer, int factor) {
  const Placement& place = tree.factors[static_cast<std::size_t>(factor)];
  return std::span(buffer).subspan(place.offset, place.layout.small);
}

}  // namespace pypgm
