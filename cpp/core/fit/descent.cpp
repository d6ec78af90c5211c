// A step of mirror descent is tried, judged by slope and curvature of the loss, and then accepted or dropped.
#include "core/fit/descent.hpp"

#include <numeric>
#include <stdexcept>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

namespace {

void check_possible(double log_z) {
  if (log_z == -kInfinity) throw std::invalid_argument("the potentials leave no joint assignment any weight");
}

}  // namespace

double frank_wolfe_gap(std::span<const double> gradient, std::span<const double> marginals,
                       std::span<const double> potentials, double total, std::span<double> scratch,
                       ExactWork& work, int n_threads) {
  for (std::size_t i = 0; i < scratch.size(); ++i) {
    scratch[i] = potentials[i] == -kInfinity ? -kInfinity : -gradient[i];
  }
  return dot(gradient, marginals) + total * work.max_log_weight(scratch, n_threads);
}

Descent::Descent(std::shared_ptr<const JunctionTree> tree, std::vector<Measured> measurements, double total,
                 std::vector<double> potentials, int n_threads)
    : tree_(std::move(tree)),
      loss_(tree_->factors.size(), 1.0),
      total_(total),
      n_threads_(n_threads),
      work_(*tree_),
      moved_(potentials.size()),
      losses_(tree_->factors.size()) {
  for (Measured& m : measurements) loss_.add(std::move(m));
  for (Point* point : {&current_, &candidate_}) {
    point->potentials.resize(potentials.size());
    point->marginals.resize(potentials.size());
    point->gradient.resize(potentials.size());
  }
  current_.potentials = std::move(potentials);
  candidate_.potentials = current_.potentials;
  try_step(0.0);
  accept();
}

void Descent::evaluate(Point& point, double alpha) {
  CliqueHooks hooks;
  hooks.before = [&](int f) {
    const auto from = slice(*tree_, current_.potentials, f);
    const auto along = slice(*tree_, current_.gradient, f);
    kernels().add_scaled(from.data(), along.data(), -alpha, from.size(),
                         slice(*tree_, point.potentials, f).data());
  };
  hooks.after = [&](int f) {
    losses_[at(f)] = loss_.gradient(f, slice(*tree_, point.marginals, f), slice(*tree_, point.gradient, f));
  };
  check_possible(
      exact_marginals(*tree_, point.potentials, total_, work_, point.marginals, n_threads_, hooks));
  point.loss = std::accumulate(losses_.begin(), losses_.end(), 0.0);
}

void Descent::check_tried() const {
  if (!tried_) throw std::logic_error("a step has to be tried first");
}

double Descent::try_step(double alpha) {
  tried_ = false;
  evaluate(candidate_, alpha);
  tried_ = true;
  return candidate_.loss;
}

Change Descent::change() {
  check_tried();
  Change change{0, 0};
  for (int f = 0; f < static_cast<int>(losses_.size()); ++f) {
    const auto before = slice(*tree_, current_.marginals, f);
    const auto moved = slice(*tree_, moved_, f);
    kernels().add_scaled(slice(*tree_, candidate_.marginals, f).data(), before.data(), -1.0, before.size(),
                         moved.data());
    change.slope += dot(slice(*tree_, current_.gradient, f), moved);
    change.curvature += loss_.curvature(f, moved);
  }
  return change;
}

void Descent::accept() {
  check_tried();
  std::swap(current_, candidate_);
  tried_ = false;
}

double Descent::gap() {
  return frank_wolfe_gap(current_.gradient, current_.marginals, current_.potentials, total_, moved_, work_,
                         n_threads_);
}

}  // namespace pypgm
