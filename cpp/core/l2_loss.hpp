#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/junction_tree.hpp"

namespace pypgm {

/// A noisy linear measurement of one of a tree's given cliques: sums of its cells over groups.
struct GroupedMeasurement {
  int factor = 0;                    ///< index of the clique
  std::vector<std::int32_t> groups;  ///< group of each cell of the clique; empty: every cell its own
  std::vector<double> values;        ///< measured counts, one a group
  std::vector<double> weights;       ///< 1 / variance, one a group
  std::vector<double> holdout;  ///< other measured counts of the same cells, to validate with; may be empty
};

/// L(mu) = 1/2 sum of w (Q mu - y)^2 over the marginals mu (counts) of a tree's given cliques, clique by
/// clique: a term is the part of one clique, given its table. Terms of different cliques may be taken at the
/// same time. No allocation after construction.
class L2Loss {
 public:
  L2Loss(const JunctionTree& tree, std::vector<GroupedMeasurement> measurements);

  /// The term of L(mu); writes its gradient.
  double gradient(int factor, std::span<const double> table, std::span<double> gradient);
  /// The term of L(mu).
  double value(int factor, std::span<const double> table);
  /// The term of 1/2 sum of w (Q mu - y')^2 with the held-out counts y'. Requires them.
  double validation(int factor, std::span<const double> table);
  /// The term of sum of w (Q d)^2.
  double curvature(int factor, std::span<const double> difference);

  /// Whether there are held-out counts.
  bool validates() const { return validates_; }

 private:
  enum class Against { values, holdout, nothing };

  double term(int factor, std::span<const double> table, Against against, std::span<double> gradient);
  double term(const GroupedMeasurement& m, std::span<const double> table, Against against,
              std::span<double> gradient, std::vector<double>& sums) const;

  std::vector<GroupedMeasurement> measurements_;
  std::vector<std::vector<int>> measurements_of_;  ///< by clique
  std::vector<std::vector<double>> sums_;          ///< by clique: room for group sums
  std::vector<double> zeros_;                      ///< what nothing is compared with
  bool validates_ = false;
};

}  // namespace pypgm
