#pragma once
// The measurements of one region as terms of the L2 loss, and the descent steps over one term.
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/shared_numbers.hpp"
#include "core/simd/path_kernels.hpp"

namespace pypgm {

/// A noisy linear measurement inside one region: sums of its cells over groups.
struct RegionMeasurement {
  int region = 0;
  std::vector<std::int32_t> groups;  ///< group of each cell; empty: every cell is its own group
  SharedNumbers values;              ///< measured counts, one a group
  std::vector<double> weights;       ///< 1 / variance, one a group or one for all
  SharedNumbers holdout;             ///< may be empty; otherwise the counts to validate with are
  double beyond = 0;                 ///< holdout + beyond (holdout - values)
};

/// One term of the loss of a region: all its measurements of single cells, merged, or one measurement of
/// groups. Its value is half the sum over groups of w (total b - y)^2, plus the constant.
struct RegionTerm {
  std::vector<std::int32_t> groups;
  SharedNumbers values, holdout;
  std::vector<double> weights;
  double beyond = 0;
  double constant = 0;             ///< minimum of the merged losses, which the merged values lack
  double held_constant = 0;        ///< the same for the validation loss
  std::vector<double> x, y, z, b;  ///< group sums of four sets of beliefs; empty without groups

  double weight(std::size_t i) const { return weights[weights.size() == 1 ? 0 : i]; }
  double held_out(std::size_t i) const { return holdout[i] + beyond * (holdout[i] - values[i]); }
};

/// Adds a measurement to the terms of its region; measurements of single cells are merged into one term.
void add_measurement(std::vector<RegionTerm>& terms, RegionMeasurement measurement);

/// Sums of a belief over groups of its cells.
void sum_groups(std::span<const double> belief, std::span<const std::int32_t> groups, std::span<double> sums);

/// The value of a term at the group sums of a belief.
double term_loss(const RegionTerm& term, double total, std::span<const double> sums);

/// theta -= s times the gradient at the beliefs x + a (z - x), over the cells of the region. In a term of
/// groups, b moves to z and b serves as scratch buffer.
void descend_term(RegionTerm& term, double total, double s, double a, std::span<const double> x,
                  std::span<const double> z, std::span<double> theta);

/// x += a (b - x), and y += share (x - y) unless y is empty; over the group sums of a term of groups, else
/// over the cells. Adds the loss, slope and curvature of the move from z to b to `sums`.
void follow_term(RegionTerm& term, double total, double a, double share, std::span<const double> b,
                 std::span<const double> z, std::span<double> x, std::span<double> y, PathSums& sums);

}  // namespace pypgm
