// One propagation a step: gradients before it and averages after it are taken clique by clique, while the
// tables are in cache.
#include "core/fit/acceleration.hpp"

#include <algorithm>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/fit/reparameterise.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

Acceleration::Acceleration(std::shared_ptr<const JunctionTree> tree, std::vector<Measured> measurements,
                           double total, std::vector<double> potentials, int n_threads)
    : tree_(std::move(tree)),
      loss_(tree_->factors.size(), 1.0),
      path_(tree_->factors.size()),
      total_(total),
      n_threads_(n_threads),
      work_(*tree_),
      theta_(std::move(potentials)),
      mean_(theta_),
      x_(theta_.size()),
      z_(theta_.size()),
      next_(theta_.size()),
      gradient_(theta_.size()),
      terms_(tree_->factors.size()) {
  for (Measured& m : measurements) loss_.add(std::move(m));
  // Bit by bit what a caller computes from theta: buffers that are used again take other orders of summation.
  exact_marginals(*tree_, theta_, {}, total_, z_, n_threads_);
  x_ = z_;
  for (int f = 0; f < static_cast<int>(terms_.size()); ++f) path_.start(loss_, f, slice(*tree_, z_, f));
}

PathSums Acceleration::advance(double s, double a) {
  CliqueHooks hooks;
  hooks.before = [&](int f) {
    double* const window = window_.empty() ? nullptr : slice(*tree_, window_, f).data();
    path_.descend(loss_, f, s, a, slice(*tree_, x_, f), slice(*tree_, z_, f), slice(*tree_, theta_, f),
                  window, slice(*tree_, mean_, f).data());
  };
  hooks.after = [&](int f) {
    terms_[at(f)] = {};
    path_.follow(loss_, f, a, slice(*tree_, next_, f), slice(*tree_, z_, f), slice(*tree_, x_, f),
                 terms_[at(f)]);
  };
  exact_marginals(*tree_, theta_, total_, work_, next_, n_threads_, hooks);
  z_.swap(next_);
  window_steps_ += s;
  PathSums sum;
  for (const PathSums& term : terms_) sum += term;
  return sum;
}

double Acceleration::loss_of(std::span<const double> marginals) {
  double loss = 0;
  for (int f = 0; f < static_cast<int>(terms_.size()); ++f)
    loss += loss_.value(f, slice(*tree_, marginals, f));
  return loss;
}

void Acceleration::join(std::span<const double> earlier) {
  for (std::size_t i = 0; i < x_.size(); ++i) x_[i] = (x_[i] + earlier[i]) / 2;
}

double Acceleration::loss() { return loss_of(x_); }

void Acceleration::level() {
  if (work_.is_factored()) level_potentials(*tree_, theta_);
}

double Acceleration::gap() { return gap_at(x_); }

void Acceleration::open_window() {
  window_.assign(theta_.size(), 0.0);
  window_steps_ = 0;
}

double Acceleration::lower_bound() {
  if (window_.empty() || window_steps_ == 0) return -kInfinity;
  const auto scale = [&](double by) {
    for (double& value : window_) value *= by;
  };
  scale(1 / window_steps_);
  const double bound = loss_of(window_) - gap_at(window_);
  scale(window_steps_);
  return bound;
}

double Acceleration::gap_at(std::span<const double> marginals) {
  for (int f = 0; f < static_cast<int>(terms_.size()); ++f) {
    loss_.gradient(f, slice(*tree_, marginals, f), slice(*tree_, gradient_, f));
  }
  return frank_wolfe_gap(gradient_, marginals, theta_, total_, next_, work_, n_threads_);
}

}  // namespace pypgm
