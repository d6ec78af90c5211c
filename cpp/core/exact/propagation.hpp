#pragma once
#include <functional>
#include <memory>
#include <span>
#include <vector>

#include "core/base/watch.hpp"
#include "core/plan/junction_tree.hpp"

namespace pypgm {

/// The buffers of a propagation; sized once, used again without allocation.
struct Workspace {
  explicit Workspace(const JunctionTree& tree);

  /// Of the nodes' tables. Those whose marginals are wanted are worked on there, and theirs here never
  /// touched.
  std::unique_ptr<double[]> cells;
  std::vector<double> messages;   ///< towards the root: logarithms, the largest 0
  std::vector<double> sums;       ///< what a node's weights sum to, on its separator
  std::vector<double> answers;    ///< the parent's marginal on the separator, then its ratio to the sums
  std::vector<double> partials;   ///< of the pieces of a large table
  std::vector<double> log_scale;  ///< a node: logarithm of all scales taken out below and at it
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

/// Message passing on the tables of a junction tree. Returns the natural log of the partition function (over
/// all attributes of the domain); -inf if everything has weight zero, +inf if the potentials of a joint value
/// add up beyond the range of numbers: then the marginals mean nothing. Potentials: packed natural logs of
/// the given cliques, each in C order; -inf is weight zero. They must not overlap the marginals. Exact to
/// rounding for any potentials. Any n_threads gives the same bits.
double propagate(const JunctionTree& tree, std::span<const double> potentials,
                 const DenseMarginals& marginals, Workspace& work, int n_threads,
                 const CliqueHooks& hooks = {});

}  // namespace pypgm
