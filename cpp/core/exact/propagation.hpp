#pragma once
#include <functional>
#include <span>
#include <vector>

#include "core/base/watch.hpp"
#include "core/exact/weight_range.hpp"
#include "core/plan/junction_tree.hpp"

namespace pypgm {

/// The buffers of a propagation; sized once, used again without allocation. The tables of the tree's cliques
/// are not among them: their cells are computed block by block, where they are needed.
struct Workspace {
  explicit Workspace(const JunctionTree& tree);

  /// exp of the potentials, each clique scaled to a largest weight of 1. After the upward pass, where a
  /// clique fills its node, times all messages and factors that enter there.
  std::vector<double> weights;
  std::vector<double> messages;     ///< towards the root, scaled to a largest entry of 1
  std::vector<double> answers;      ///< the parent's marginal on the separator, then its ratio to the message
  std::vector<double> partials;     ///< sums over the pieces of a large table
  std::vector<double> peaks;        ///< a node: largest entry of its message before scaling
  std::vector<double> log_scale;    ///< a node: logarithm of all scales taken out below and at it
  std::vector<WeightRange> ranges;  ///< a node: of its message
  Watch* watch =
      nullptr;  ///< once it is abandoned, a run ends soon and means nothing; a step is a node in a pass
};

/// What is done with the given cliques around a run, for different ones at the same time; once for each.
struct CliqueHooks {
  std::function<void(int factor)> before;  ///< prepares its potentials
  std::function<void(int factor)> after;   ///< its marginal is there
};

/// Where a propagation writes marginals, in counts that sum to `total`; either may be empty. Without both it
/// ends after the upward pass.
struct DenseMarginals {
  double total = 1;
  std::span<double> factors;  ///< of the given cliques, packed
  std::span<double> tables;   ///< of the tree's cliques, each at its node's offset
};

/// Message passing on the tables of a junction tree. `log_z` is the natural log of the partition function
/// (over all attributes of the domain). Potentials: packed natural logs of the given cliques,
/// each in C order; -inf is weight zero. Any n_threads gives the same bits. If everything has weight zero,
/// log_z = -inf, and where underflow may have cost something that matters, the outcome says so after the
/// upward pass: all factors are prepared, and nothing is written.
Outcome propagate(const JunctionTree& tree, std::span<const double> potentials,
                  const DenseMarginals& marginals, Workspace& work, double& log_z, int n_threads,
                  const CliqueHooks& hooks = {});

}  // namespace pypgm
