#include "core/fit/acceleration.hpp"

#include <algorithm>
#include <cmath>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/fit/moment_matching.hpp"
#include "core/fit/proportional_fitting.hpp"
#include "core/fit/reparameterise.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

namespace {

constexpr double kFitted = 1e-6;  // mean L1 distance, for a total of 1, that no answer would show
constexpr int kRunsOfSweep = 6;   // propagations with factored cliques a walk through the tables is worth

}  // namespace

Acceleration::Acceleration(std::shared_ptr<const JunctionTree> tree, std::vector<Measured> measurements,
                           double total, std::vector<double> potentials, int n_threads)
    : tree_(std::move(tree)),
      loss_(tree_->factors.size(), 1.0),
      total_(total),
      n_threads_(n_threads),
      work_(*tree_),
      theta_(std::move(potentials)),
      x_(theta_.size()),
      z_(theta_.size()),
      next_(theta_.size()),
      gradient_(theta_.size()),
      terms_(tree_->factors.size()) {
  for (Measured& m : measurements) loss_.add(std::move(m));
  marginals_into(z_);
  x_ = z_;
  for (int f = 0; f < static_cast<int>(terms_.size()); ++f) loss_.start(f, slice(*tree_, z_, f));
}

void Acceleration::marginals_into(std::vector<double>& out) {
  // Bit by bit what a caller computes from theta: buffers that are used again take other orders of summation.
  exact_marginals(*tree_, theta_, {}, total_, out, n_threads_);
}

PathSums Acceleration::advance(double s, double a) {
  CliqueHooks hooks;
  hooks.before = [&](int f) {
    double* const window = window_.empty() ? nullptr : slice(*tree_, window_, f).data();
    loss_.descend(f, s, a, slice(*tree_, x_, f), slice(*tree_, z_, f), slice(*tree_, theta_, f), window);
  };
  hooks.after = [&](int f) {
    terms_[at(f)] = {};
    loss_.follow(f, a, slice(*tree_, next_, f), slice(*tree_, z_, f), slice(*tree_, x_, f), terms_[at(f)]);
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

double Acceleration::loss() { return loss_of(x_); }

void Acceleration::set_average(std::span<const double> x) { x_.assign(x.begin(), x.end()); }

void Acceleration::level() { level_potentials(*tree_, theta_); }

double Acceleration::gap() { return gap_at(x_); }

void Acceleration::open_window() {
  window_.assign(theta_.size(), 0.0);
  window_steps_ = 0;
}

double Acceleration::lower_bound() {
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

double Acceleration::distance() const {
  double sum = 0;
  for (std::size_t i = 0; i < x_.size(); ++i) sum += std::abs(x_[i] - z_[i]);
  return sum / (total_ * static_cast<double>(terms_.size()));
}

void Acceleration::fit(int sweeps) {
  if (work_.is_factored()) {
    match_moments(*tree_, x_, total_, theta_, work_, kRunsOfSweep * sweeps, kFitted, n_threads_);
  } else {
    ProportionalFitting fitting(tree_, x_, theta_, total_, n_threads_, Zeros::wait);
    for (int sweep = 0; sweep < sweeps && fitting.sweep() > kFitted; ++sweep) {
    }
    theta_ = fitting.potentials();
  }
  marginals_into(z_);
}

void Acceleration::settle(int sweeps) {
  marginals_into(z_);
  const double before = distance();
  gradient_ = theta_;
  fit(sweeps);
  if (!(distance() <= before)) {
    theta_.swap(gradient_);
    marginals_into(z_);
  }
  set_average(z_);
}

}  // namespace pypgm
