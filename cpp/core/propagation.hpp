#pragma once
#include <functional>
#include <span>
#include <vector>

#include "core/junction_tree.hpp"

namespace pypgm {

/// Log-likelihoods of the values of one attribute; -inf rules a value out.
struct Evidence {
  std::int32_t attribute;
  std::span<const double> log_likelihood;
};

/// The buffers one propagation works in; sized once, used again without allocation.
struct Workspace {
  explicit Workspace(const JunctionTree& tree);

  std::vector<double> tables;     ///< one table a tree clique
  std::vector<double> messages;   ///< towards the root, scaled to a largest entry of 1 (or 0 as logarithm)
  std::vector<double> answers;    ///< from the parent
  std::vector<double> scratch;    ///< like messages
  std::vector<double> factors;    ///< exp of the potentials that do not fill their clique
  std::vector<double> peak;       ///< a node: largest entry of its message before scaling (log in log space)
  std::vector<double> log_scale;  ///< a node: logarithm of all scales taken out below and at it
  std::vector<double>
      table_loss;            ///< a node: bound on what underflow may have taken from an entry of its table
  std::vector<double> loss;  ///< a node: the same for its message, and on the way down for its marginal
};

/// What a caller does with a clique of the tree while its table is in cache. Called for each node once, for
/// different nodes at the same time, with the number of threads it may use itself.
struct NodeHooks {
  std::function<void(const TreeNode&, int threads)>
      before;                                               ///< prepares the potentials of the node's factors
  std::function<void(const TreeNode&, int threads)> after;  ///< `work.tables` holds the node's marginal
};

/// Fills `work.tables` with the marginals of the tree cliques, in counts that sum to `total`, and returns the
/// natural log of the partition function (over all attributes of the domain).
/// Potentials: natural logs of the given cliques one behind the other, each in C order; -inf is weight zero.
/// If everything has weight zero it returns -inf and the tables mean nothing.
/// Any n_threads gives the same bits.
double propagate(const JunctionTree& tree, std::span<const double> potentials,
                 std::span<const Evidence> evidence, double total, Workspace& work, int n_threads,
                 const NodeHooks& hooks = {});

/// The log partition function alone: one pass towards the root.
double log_partition(const JunctionTree& tree, std::span<const double> potentials,
                     std::span<const Evidence> evidence, Workspace& work, int n_threads);

/// The largest value a joint assignment gives the sum of the potentials (max-product).
double max_log_weight(const JunctionTree& tree, std::span<const double> potentials,
                      std::span<const Evidence> evidence, Workspace& work, int n_threads);

/// Reads the marginal of one given clique off the propagated tables.
void read_marginal(const JunctionTree& tree, const Workspace& work, int factor, std::span<double> marginal,
                   int n_threads);

/// Reads the marginals of all given cliques, one behind the other.
void read_marginals(const JunctionTree& tree, const Workspace& work, std::span<double> marginals,
                    int n_threads);

}  // namespace pypgm
