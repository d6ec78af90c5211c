#pragma once
#include <memory>
#include <span>
#include <vector>

#include "core/exact/inference.hpp"

namespace pypgm {

/// What becomes of cells whose target is 0: they become 0 too, or are left as they are.
enum class Zeros { become, wait };

/// Iterative proportional fitting of a graphical model to marginals of the given cliques of a junction tree,
/// while the tree is walked: each clique passed is scaled to its targets, and what changed goes on with
/// the separators. If some distribution has the targets, the limit is the one closest (in relative entropy)
/// to the start. No allocation after construction.
class ProportionalFitting {
 public:
  /// Targets (they sum to `total`) and potentials (natural logs): the given cliques one behind the other.
  ProportionalFitting(std::shared_ptr<const JunctionTree> tree, std::vector<double> targets,
                      std::vector<double> potentials, double total, int n_threads,
                      Zeros zeros = Zeros::become);

  /// One walk through the tree. Returns the mean over the given cliques of the L1 distance from the target
  /// before the clique was scaled, for a total of 1; infinity if no weight is left.
  double sweep();

  const std::vector<double>& potentials() const { return potentials_; }
  /// Marginals of the tree cliques, one behind the other; they agree with each other on separators.
  const std::vector<double>& tables();

 private:
  double ratios(std::span<const double> target, std::span<double> now) const;
  /// Scales a tree clique to the targets of the given cliques placed in it, one after the other.
  double fit_node(const TreeNode& node);
  /// The tables at the two ends of the edge above a node. A table does not change between a step along the
  /// edge and the next one back, so each step sums up only the table it comes from.
  struct Edge {
    const TreeNode& node;
    std::span<double> child, parent;
    std::span<double> in_child, in_parent;  ///< their marginals on the separator, when last summed up
    std::span<double> scaling;
  };
  Edge edge(int child);
  /// Scales a child to the separator in its parent, and a parent to the one in its child.
  void descend(int child);
  void climb(int child);

  std::shared_ptr<const JunctionTree> tree_;
  std::vector<double> targets_, potentials_, scratch_;
  double total_;
  int n_threads_;
  Zeros zeros_;
  std::vector<double> tables_;
  std::vector<double> in_children_, in_parents_;  ///< see Edge
  std::vector<int> order_;                        ///< nodes, depth first
  std::vector<double> scaling_;                   ///< for what a separator changes by
  bool agrees_ = true;                            ///< whether the tables agree on separators
};

}  // namespace pypgm
