#pragma once
#include <memory>
#include <span>
#include <vector>

#include "core/regions/region_graph.hpp"

namespace pypgm {

/// Beliefs below it are taken as large when their logarithm is.
inline constexpr double kLeastBelief = 1e-250;

/// Convex generalised belief propagation: the beliefs b (each sums to 1) that maximise
/// sum of <theta_r, b_r> + kappa_r H(b_r) over the local polytope, by messages lam from children to parents,
/// b_r ~ exp((theta_r + sum of lam from its children - sum of lam to its parents) / kappa_r).
/// Where every cell above one of a child has weight zero its belief is 0 exactly. All results are the same
/// bits for any number of threads. No allocation after construction.
class ConvexGbp {
 public:
  /// Requires one positive counting number kappa a region. Messages start at 0.
  ConvexGbp(std::shared_ptr<const RegionGraph> graph, std::vector<double> counting_numbers, int n_threads);

  /// Beliefs of all regions from potentials and messages.
  void refresh(std::span<const double> theta);
  /// The belief of one region; different regions may be taken at the same time.
  void refresh(int region, std::span<const double> theta);
  /// Takes the beliefs out and another table of their size in; they are to be refreshed afterwards.
  void swap_beliefs(std::vector<double>& other) { beliefs_.swap(other); }
  /// One block update of every child, stage by stage, beliefs kept up. Requires refreshed beliefs. Returns
  /// the mean over edges of the L1 distance of parent's and child's marginals, each before its update.
  double sweep();
  /// All messages from the present beliefs at once, the old ones keeping the share `damping`; beliefs are to
  /// be refreshed afterwards. Returns the same mean.
  double flood(double damping);
  /// The same mean, nothing changed.
  double feasibility();
  /// Moves the messages on by `factor` times their change since the last call, and remembers them.
  void extrapolate(double factor);
  /// Forgets what extrapolation remembers and sets all messages to 0.
  void reset();

  /// Sum of kappa_r log Z_r as of the last refresh: an upper bound of the maximum, in natural logs.
  double dual() const;

  const RegionGraph& graph() const { return *graph_; }
  std::span<const double> counting_numbers() const { return kappa_; }
  std::span<double> beliefs() { return beliefs_; }
  std::span<double> belief(int region);
  std::span<double> messages() { return messages_; }
  std::span<const double> messages() const { return messages_; }
  std::vector<double> release_beliefs() { return std::move(beliefs_); }
  int threads() const { return n_threads_; }

 private:
  template <class Update>
  double over_stages(const Update& update);
  void prefetch_parent(int child);
  /// Marginals of the parents of a child into its scratch; returns the summed L1 distance to its belief.
  double gather(int child, int n_threads);
  /// Weighted geometric mean of a child's belief and its parents' marginals, as logarithms.
  void meet(int child);
  void rule_out(int child);
  void scatter(int child, int n_threads);
  std::span<double> message(int edge);

  std::shared_ptr<const RegionGraph> graph_;
  std::vector<double> kappa_;
  int n_threads_;
  std::vector<double> beliefs_, messages_, previous_;
  std::vector<double> log_z_;            ///< by region
  std::vector<double> distances_;        ///< by region: summed over its parents
  std::vector<std::size_t> place_;       ///< by region: of its scratch
  std::vector<std::size_t> work_;        ///< by stage: cells of the parents
  std::vector<double> marginals_;        ///< scratch of one stage: the parents' marginals of each child
  std::vector<double> logarithms_;       ///< theirs
  std::vector<double> means_;            ///< scratch of one stage: what they are brought to, as logarithms
  std::vector<std::size_t> mean_place_;  ///< by region
};

}  // namespace pypgm
