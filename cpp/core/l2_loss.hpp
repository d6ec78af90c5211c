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

/// L(mu) = 1/2 sum of w (Q mu - y)^2 over the marginals mu (counts) of a tree's given cliques. Every method
/// takes the tables of those cliques one behind the other. No allocation after construction; any n_threads,
/// same bits.
class L2Loss {
 public:
  L2Loss(const JunctionTree& tree, std::vector<GroupedMeasurement> measurements);

  /// L(mu); writes the gradient in mu.
  double gradient(std::span<const double> marginals, std::span<double> gradient, int n_threads);
  /// L(mu).
  double value(std::span<const double> marginals, int n_threads);
  /// 1/2 sum of w (Q mu - y')^2 with the held-out counts y'. Requires them.
  double validation(std::span<const double> marginals, int n_threads);
  /// sum of w (Q d)^2.
  double curvature(std::span<const double> difference, int n_threads);

 private:
  enum class Against { values, holdout, nothing };
  struct Slice {
    std::size_t offset;
    std::size_t cells;
    std::vector<int> measurements;
    std::vector<double> sums;  ///< room for group sums
  };

  double run(std::span<const double> tables, Against against, std::span<double> gradient, int n_threads);
  double one(const GroupedMeasurement& m, std::span<const double> table, Against against,
             std::span<double> gradient, std::vector<double>& sums) const;

  std::vector<GroupedMeasurement> measurements_;
  std::vector<Slice> slices_;   ///< by clique
  std::vector<double> losses_;  ///< by clique
  std::size_t cells_ = 0;
  std::vector<double> zeros_;  ///< what nothing is compared with
};

}  // namespace pypgm
