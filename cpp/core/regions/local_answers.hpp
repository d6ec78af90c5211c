#pragma once
#include <span>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/watch.hpp"
#include "core/tables/layout.hpp"

namespace pypgm {

/// A marginal that an answer should have: which axes of the answer it keeps, and its cells (sum 1).
struct LocalTarget {
  Layout layout;
  std::span<const double> values;
};

/// Find a distribution over one table from marginals over parts of it, starting from a guess.
struct LocalProblem {
  std::span<const double> start;  ///< non-negative, with a positive sum; zeros stay zero
  std::vector<LocalTarget> targets;
};

struct LocalAnswer {
  std::vector<double> table;  ///< sum 1
  double violation = 0;       ///< mean over the targets of the L1 distance
  /// Bound on how far half the sum of squared differences is from its least value.
  double gap = kInfinity;
  int iterations = 0;  ///< sweeps of proportional fitting and steps of descent
};

/// The table with the least sum of squared differences from the targets; among those the one closest to the
/// start in relative entropy.
///
/// Proportional fitting, which ends there if the targets can all be met, to a mean L1 distance of 1e-6 where
/// it comes no nearer, and of 1e-8 in large tables: marginals of regions are no more consistent. If they
/// cannot, entropic mirror descent from where fitting has led (all its points have the form start * exp(sum
/// of functions of the targets' cells)), with a step that is at least 1/K, K = n/2 the relative smoothness
/// for n targets, and longer where the last step permits. Any n_threads gives the same bits. Steps of the
/// watch are sweeps and steps of descent; once it is over the table is the best so far.
LocalAnswer solve_locally(const LocalProblem& problem, int iterations, int n_threads, Watch& watch);

/// The same for many problems beside each other; one alone is solved by all threads, else each by one.
std::vector<LocalAnswer> solve_locally(std::span<const LocalProblem> problems, int iterations, int n_threads,
                                       Watch& watch);

}  // namespace pypgm
