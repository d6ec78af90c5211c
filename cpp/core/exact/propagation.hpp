#pragma once
#include <functional>
#include <span>
#include <vector>

#include "core/exact/block_product.hpp"
#include "core/exact/evidence.hpp"
#include "core/exact/row_nodes.hpp"
#include "core/plan/junction_tree.hpp"

namespace pypgm {

/// What is known of the weights of a factor, exp(potential - shift).
struct Scaling {
  double shift = 0;  ///< the largest potential, or one that was so a step ago; 0 if all are -inf
  double low = 0;    ///< smallest potential above -inf, less the shift
  double high = 0;   ///< largest potential, less the shift
};

/// The buffers one propagation works in; sized once, used again without allocation. The tables of the tree's
/// cliques are not among them: their cells are made, block by block, where they are needed.
struct Workspace {
  explicit Workspace(const JunctionTree& tree);

  std::vector<double> weights;       ///< exp of the potentials, each factor scaled to a largest weight of 1
  std::vector<Scaling> scalings;     ///< a factor
  std::vector<double> messages;      ///< towards the root, scaled to a largest entry of 1
  std::vector<double> log_messages;  ///< their logarithms where those are needed; on the way down what a
                                     ///< node's cells are multiplied by
  std::vector<double> answers;       ///< the parent's marginal, or its logarithm less that of the message
  std::vector<double> sums;          ///< marginals of the factors that do not fill their clique
  std::vector<double> partials;      ///< what the pieces of a large table sum up
  std::vector<Space> spaces;         ///< a node: how it was computed
  std::vector<double> peak;          ///< a node: largest entry of its message before scaling, in its space
  std::vector<double> low;           ///< a node: log of the smallest positive entry of its message
  std::vector<double> log_scale;     ///< a node: logarithm of all scales taken out below and at it
  std::vector<double> table_loss;    ///< a node: bound on what underflow may have taken from a cell
  std::vector<double> loss;  ///< a node: the same for its message; on the way down, of all cells together
};

/// What a caller does with the parts of a propagation while they are in cache. Called for different nodes,
/// and for different blocks of a node, at the same time; `threads` is the number a call may use itself.
struct NodeHooks {
  /// Prepares the potentials of the node's factors.
  std::function<void(const TreeNode&, int threads)> before;
  /// Cells of the marginal of a given clique (counts) from `begin` on: all of them, or a block if the clique
  /// fills its node. `block` numbers them.
  std::function<void(int factor, std::size_t block, std::size_t begin, std::span<const double>)> marginal;
  /// Cells of the marginal of a tree clique: a block.
  std::function<void(const TreeNode&, const Block&, std::span<const double>)> cells;
  /// The marginals of the node's factors have all been handed over.
  std::function<void(const TreeNode&, int threads)> after;
  /// The weights of `work`, and their scalings, are prepared already; `potentials` is read only where weights
  /// are not enough, after this call for the node.
  bool weighed = false;
  std::function<void(const TreeNode&)> logarithms;
  /// Nodes whose cells are gone through as rows, by node; may be empty. The marginal of such a node, which is
  /// the product of its clique's weights and of the tables, is not handed out where `step` sums it up itself
  /// and returns true.
  std::span<const RowNode> rows;
  std::function<bool(const RowNode&, const RowTables&)> step;
};

/// Hands out the marginals of the given and of the tree's cliques, in counts that sum to `total`, and returns
/// the natural log of the partition function (over all attributes of the domain). Potentials: natural logs of
/// the given cliques one behind the other, each in C order; -inf is weight zero. If everything has weight
/// zero it returns -inf and hands out nothing. Any n_threads gives the same bits.
double propagate(const JunctionTree& tree, std::span<const double> potentials,
                 std::span<const Evidence> evidence, double total, Workspace& work, int n_threads,
                 const NodeHooks& hooks);

/// The marginals of all given cliques, one behind the other, and log Z.
double marginals_of(const JunctionTree& tree, std::span<const double> potentials,
                    std::span<const Evidence> evidence, double total, Workspace& work,
                    std::span<double> marginals, int n_threads);

/// The marginals of the tree's cliques, each at its node's offset, and log Z.
double tables_of(const JunctionTree& tree, std::span<const double> potentials,
                 std::span<const Evidence> evidence, double total, Workspace& work, std::span<double> tables,
                 int n_threads);

/// The marginals of all attributes, one behind the other, and log Z. On one thread: the attributes of a
/// clique are summed up block by block, and no table is kept.
double attribute_marginals_of(const JunctionTree& tree, std::span<const double> potentials,
                              std::span<const Evidence> evidence, double total, Workspace& work,
                              std::span<double> marginals);

/// The log partition function alone: one pass towards the root.
double log_partition(const JunctionTree& tree, std::span<const double> potentials,
                     std::span<const Evidence> evidence, Workspace& work, int n_threads);

/// The largest value a joint assignment gives the sum of the potentials (max-product).
double max_log_weight(const JunctionTree& tree, std::span<const double> potentials,
                      std::span<const Evidence> evidence, Workspace& work, int n_threads);

/// weights = exp(potentials - their largest), given between which numbers they lie.
Scaling scaled_exp(std::span<const double> potentials, const Extent& extent, std::span<double> weights,
                   int threads);

/// The part of a buffer of all given tables that holds one clique's.
template <class Buffer>
auto slice(const JunctionTree& tree, Buffer& buffer, int factor) {
  const Placement& place = tree.factors[static_cast<std::size_t>(factor)];
  return std::span(buffer).subspan(place.offset, place.layout.small);
}

}  // namespace pypgm
