#pragma once
#include <memory>
#include <span>
#include <vector>

#include "core/exact/inference.hpp"
#include "core/fit/l2_loss.hpp"
#include "core/plan/junction_tree.hpp"

namespace pypgm {

/// How the loss changed over a step from marginals mu to mu', in count units: by slope + curvature / 2.
struct Change {
  double slope;      ///< <g, mu' - mu>, g the gradient at mu; minus the total times the symmetric divergence
                     ///< KL(p' || p) + KL(p || p') of the joint distributions, over the step
  double curvature;  ///< sum of w (Q (mu' - mu))^2
};

/// Mirror descent for an L2Loss over the marginals mu (counts) of a graphical model. It holds potentials
/// theta (natural logs) on the given cliques, their marginals and the gradient there; a step tries theta -
/// alpha g and is then accepted or dropped. -inf potentials are structural zeros and stay; if they leave
/// nothing, the construction throws std::invalid_argument. No allocation after construction.
class Descent {
 public:
  Descent(std::shared_ptr<const JunctionTree> tree, std::vector<Measured> measurements, double total,
          std::vector<double> potentials, int n_threads);

  /// The loss at theta - alpha g, which becomes the candidate; the current point stays. One propagation.
  double try_step(double alpha);
  /// How the loss changed from the current point to the candidate. Throws std::logic_error without one.
  Change change();
  /// Makes the candidate the current point. Throws std::logic_error without one.
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

  void evaluate(Point& point, double alpha);
  void check_tried() const;

  std::shared_ptr<const JunctionTree> tree_;
  L2Loss loss_;
  double total_;
  int n_threads_;
  ExactWork work_;
  Point current_;
  Point candidate_;
  bool tried_ = false;          ///< whether the candidate is one
  std::vector<double> moved_;   ///< from current to candidate
  std::vector<double> losses_;  ///< by clique
};

/// <g, mu> - min over all distributions nu (counts, structural zeros kept) of <g, nu>. `scratch` is as long
/// as g.
double frank_wolfe_gap(std::span<const double> gradient, std::span<const double> marginals,
                       std::span<const double> potentials, double total, std::span<double> scratch,
                       ExactWork& work, int n_threads);

}  // namespace pypgm
