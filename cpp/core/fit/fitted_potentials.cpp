// Fits by one of two methods and keeps the result only where it is nearer to the targets.
#include "core/fit/fitted_potentials.hpp"

#include <cmath>

#include "core/exact/inference.hpp"
#include "core/fit/moment_matching.hpp"
#include "core/fit/proportional_fitting.hpp"

namespace pypgm {

namespace {

constexpr double kFitted = 1e-6;  // mean L1 distance, for a total of 1, that no answer would show
constexpr int kRunsOfSweep = 6;   // propagations with factored cliques a walk through the tables is worth

/// Sum over the cliques of the L1 distance between the marginals and the targets.
double distance(const JunctionTree& tree, std::span<const double> targets, double total,
                const std::vector<double>& potentials, ExactWork& work, int n_threads) {
  std::vector<double> marginals(targets.size());
  exact_marginals(tree, potentials, total, work, marginals, n_threads);
  double sum = 0;
  for (std::size_t i = 0; i < targets.size(); ++i) sum += std::abs(targets[i] - marginals[i]);
  return sum;
}

}  // namespace

std::vector<double> fitted_potentials(const std::shared_ptr<const JunctionTree>& tree,
                                      std::span<const double> targets, double total,
                                      const std::vector<double>& potentials, int sweeps, int n_threads) {
  std::vector<double> fitted = potentials;
  ExactWork work(*tree);
  if (work.is_factored()) {
    match_moments(*tree, targets, total, fitted, work, kRunsOfSweep * sweeps, kFitted, n_threads);
  } else {
    ProportionalFitting fitting(tree, {targets.begin(), targets.end()}, potentials, total, n_threads,
                                Zeros::wait);
    for (int sweep = 0; sweep < sweeps && fitting.sweep() > kFitted; ++sweep) {
    }
    fitted = fitting.potentials();
  }
  const double before = distance(*tree, targets, total, potentials, work, n_threads);
  return distance(*tree, targets, total, fitted, work, n_threads) <= before ? fitted : potentials;
}

}  // namespace pypgm
