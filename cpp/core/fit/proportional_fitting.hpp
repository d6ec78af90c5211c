#pragma once
#include <memory>
#include <span>
#include <vector>

#include "core/exact/inference.hpp"

namespace pypgm {

inline constexpr double kLargestRatio = 1e100;  ///< of one scaling: cells rarer than that wait for the next

/// What becomes of cells whose target is 0: they become 0 too, or are left as they are.
enum class Zeros { become, wait };

/// Iterative proportional fitting of a graphical model to marginals of the given cliques of a junction tree,
/// while the tree is walked: each clique passed is scaled to its targets, and what changed goes on with
/// the separators. If some distribution has the targets, the limit is the one closest (in relative entropy)
/// to the start. No allocation after construction.
class ProportionalFitting {
 public:
  /// Targets (they sum to `total`) and potentials (natural logs): of the given cliques, packed.
  ProportionalFitting(std::shared_ptr<const JunctionTree> tree, std::vector<double> targets,
                      std::vector<double> potentials, double total, int n_threads,
                      Zeros zeros = Zeros::become);

  /// One walk through the tree. Returns the mean over the given cliques of the L1 distance from the target
  /// before the clique was scaled, for a total of 1; infinity if no weight is left.
  double sweep();

  const std::vector<double>& potentials() const { return potentials_; }
  /// Packed marginals of the tree cliques; they agree with each other on separators.
  const std::vector<double>& tables();

 private:
  double ratios(std::span<const double> target, std::span<double> now) const;
  /// Scales a tree clique to the targets of the given cliques placed in it, one after the other.
  double fit_node(const TreeNode& node);
  /// The table at one end of the edge above a node. It does not change between a step along the edge and the
  /// next one back, so each step sums up only the table it comes from.
  struct End {
    std::span<double> table;
    const Layout& layout;    ///< the separator inside it
    std::span<double> sums;  ///< its marginal on the separator, when last summed up
  };
  End lower_end(int child);
  End upper_end(int child);
  void sum_up(const End& end) const;
  /// Scales the table at one end of an edge to the separator in the other.
  void carry(const End& from, const End& to);

  std::shared_ptr<const JunctionTree> tree_;
  std::vector<double> targets_, potentials_, scratch_;
  double total_;
  int n_threads_;
  Zeros zeros_;
  std::vector<double> tables_;
  std::vector<double> in_children_, in_parents_;  ///< see End
  std::vector<int> order_;                        ///< nodes, depth first
  std::vector<double> scaling_;                   ///< for what a separator changes by
  bool agrees_ = true;                            ///< whether the tables agree on separators
};

}  // namespace pypgm
