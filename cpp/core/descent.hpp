#pragma once
#include <memory>
#include <span>
#include <vector>

#include "core/junction_tree.hpp"
#include "core/propagation.hpp"

namespace pypgm {

/// A noisy linear measurement of one of the tree's given cliques: sums of its cells over groups.
struct GroupedMeasurement {
  int factor = 0;                    ///< index of the clique
  std::vector<std::int32_t> groups;  ///< group of each cell of the clique; empty: every cell its own
  std::vector<double> values;        ///< measured counts, one a group
  std::vector<double> weights;       ///< 1 / variance, one a group
};

/// What a step would do, in count units.
struct Step {
  double loss;        ///< L at the new marginals
  double linear;      ///< <g, mu' - mu>, g the gradient and mu the marginals before
  double divergence;  ///< KL(p' || p) of the joint distributions, natural log, not times the total
};

/// Mirror descent for the loss L(mu) = 1/2 sum of w (Q mu - y)^2 over the marginals mu (counts) of a
/// graphical model. It holds potentials theta (natural logs) on the given cliques, their marginals and the
/// gradient there; a step tries theta - alpha g and is then accepted or dropped. No allocation after
/// construction.
class Descent {
 public:
  /// `potentials` is the start: -inf entries are structural zeros and stay.
  Descent(std::shared_ptr<const JunctionTree> tree, std::vector<GroupedMeasurement> measurements,
          double total, std::vector<double> potentials, int n_threads);

  /// Evaluates theta - alpha g, leaving the current point as it is. One propagation.
  Step try_step(double alpha);
  /// Makes the point of the last try_step the current one.
  void accept();
  /// Bound on L(mu) - min L: <g, mu> - min over all distributions of <g, nu>, by max-product. One upward
  /// pass.
  double gap();

  double loss() const { return current_.loss; }
  double log_partition() const { return current_.log_z; }
  const std::vector<double>& potentials() const { return current_.potentials; }
  const std::vector<double>& marginals() const { return current_.marginals; }
  const JunctionTree& tree() const { return *tree_; }

 private:
  struct Point {
    std::vector<double> potentials;
    std::vector<double> marginals;
    std::vector<double> gradient;
    double loss = 0;
    double log_z = 0;
  };

  void evaluate(Point& point);
  double loss_at(std::size_t factor, Point& point, std::vector<double>& sums) const;
  double dot(const std::vector<double>& a, const std::vector<double>& b) const;

  std::shared_ptr<const JunctionTree> tree_;
  std::vector<GroupedMeasurement> measurements_;
  std::vector<std::vector<int>> measurements_of_;  ///< by factor
  double total_;
  int n_threads_;
  Workspace work_;
  Point current_;
  Point candidate_;
  std::vector<double> losses_;             ///< by factor
  std::vector<std::vector<double>> sums_;  ///< by factor: room for group sums
};

}  // namespace pypgm
