#include "core/descent.hpp"

#include <algorithm>
#include <limits>
#include <utility>

#include "core/kernels.hpp"
#include "core/threads.hpp"

namespace pypgm {

namespace {

double dot(std::span<const double> a, std::span<const double> b) {
  return kernels().dot(a.data(), b.data(), a.size());
}

}  // namespace

void add_scaled(std::span<const double> a, std::span<const double> b, double factor, std::span<double> out,
                int n_threads) {
  const std::size_t chunks = (a.size() + kGrain - 1) / kGrain;
  parallel_for(chunks, threads_for(a.size(), n_threads), [&](std::size_t c) {
    const std::size_t from = c * kGrain;
    const std::size_t cells = std::min(kGrain, a.size() - from);
    kernels().add_scaled(a.data() + from, b.data() + from, factor, cells, out.data() + from);
  });
}

double frank_wolfe_gap(const JunctionTree& tree, std::span<const double> gradient,
                       std::span<const double> marginals, std::span<const double> potentials, double total,
                       std::span<double> room, Workspace& work, int n_threads) {
  constexpr double kInfinity = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < room.size(); ++i) {
    room[i] = potentials[i] == -kInfinity ? -kInfinity : -gradient[i];
  }
  return dot(gradient, marginals) + total * max_log_weight(tree, room, {}, work, n_threads);
}

Descent::Descent(std::shared_ptr<const JunctionTree> tree, std::vector<GroupedMeasurement> measurements,
                 double total, std::vector<double> potentials, int n_threads)
    : tree_(std::move(tree)),
      loss_(*tree_, std::move(measurements)),
      total_(total),
      n_threads_(n_threads),
      work_(*tree_),
      change_(potentials.size()) {
  for (Point* point : {&current_, &candidate_}) {
    point->potentials.resize(potentials.size());
    point->marginals.resize(potentials.size());
    point->gradient.resize(potentials.size());
  }
  current_.potentials = std::move(potentials);
  evaluate(current_);
}

void Descent::evaluate(Point& point) {
  propagate(*tree_, point.potentials, {}, total_, work_, n_threads_);
  read_marginals(*tree_, work_, point.marginals, n_threads_);
  point.loss = loss_.gradient(point.marginals, point.gradient, n_threads_);
}

Step Descent::try_step(double alpha) {
  add_scaled(current_.potentials, current_.gradient, -alpha, candidate_.potentials, n_threads_);
  evaluate(candidate_);
  add_scaled(candidate_.marginals, current_.marginals, -1.0, change_, n_threads_);
  return {candidate_.loss, dot(current_.gradient, change_), loss_.curvature(change_, n_threads_)};
}

void Descent::accept() { std::swap(current_, candidate_); }

double Descent::gap() {
  return frank_wolfe_gap(*tree_, current_.gradient, current_.marginals, current_.potentials, total_,
                         candidate_.potentials, work_, n_threads_);
}

}  // namespace pypgm
