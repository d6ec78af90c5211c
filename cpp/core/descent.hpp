#pragma once
#include <memory>
#include <span>
#include <vector>

#include "core/junction_tree.hpp"
#include "core/l2_loss.hpp"
#include "core/propagation.hpp"

namespace pypgm {

/// What a step would do, in count units: the loss changes by slope + curvature / 2.
struct Step {
  double loss;   ///< L at the new marginals mu'
  double slope;  ///< <g, mu' - mu>, g the gradient and mu the marginals before; minus the total times the
                 ///< symmetric divergence KL(p' || p) + KL(p || p') of the joint distributions, over the step
  double curvature;  ///< sum of w (Q (mu' - mu))^2
};

/// Mirror descent for an L2Loss over the marginals mu (counts) of a graphical model. It holds potentials
/// theta (natural logs) on the given cliques, their marginals and the gradient there; a step tries theta -
/// alpha g and is then accepted or dropped. -inf potentials are structural zeros and stay. No allocation
/// after construction.
class Descent {
 public:
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
  const std::vector<double>& potentials() const { return current_.potentials; }
  const std::vector<double>& marginals() const { return current_.marginals; }

 private:
  struct Point {
    std::vector<double> potentials;
    std::vector<double> marginals;
    std::vector<double> gradient;
    double loss = 0;
  };

  void evaluate(Point& point);

  std::shared_ptr<const JunctionTree> tree_;
  L2Loss loss_;
  double total_;
  int n_threads_;
  Workspace work_;
  Point current_;
  Point candidate_;
  std::vector<double> change_;  ///< of the marginals, by the last step tried
};

/// <g, mu> - min over all distributions nu (counts, structural zeros kept) of <g, nu>. `room` is as long as
/// g.
double frank_wolfe_gap(const JunctionTree& tree, std::span<const double> gradient,
                       std::span<const double> marginals, std::span<const double> potentials, double total,
                       std::span<double> room, Workspace& work, int n_threads);

/// out = a + factor * b.
void add_scaled(std::span<const double> a, std::span<const double> b, double factor, std::span<double> out,
                int n_threads);

}  // namespace pypgm
