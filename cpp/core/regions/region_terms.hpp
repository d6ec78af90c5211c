#pragma once
// The measurements of one region as terms of the L2 loss, and the descent steps over one term.
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/shared_numbers.hpp"
#include "core/fit/linear_map.hpp"
#include "core/simd/path_kernels.hpp"

namespace pypgm {

/// A noisy linear measurement inside one region.
struct RegionMeasurement {
  int region = 0;
  SharedMap map;                ///< what is asked of its cells; null: each of them
  SharedNumbers values;         ///< measured counts
  std::vector<double> weights;  ///< 1 / variance, one a count or one for all
  SharedNumbers holdout;        ///< may be empty; otherwise the counts to validate with are
  double beyond = 0;            ///< holdout + beyond (holdout - values)
};

/// One term of the loss of a region: all its measurements of single cells, merged, or one other measurement.
/// Its value is half the sum of w (total Q b - y)^2, plus the constant.
struct RegionTerm {
  SharedMap map;
  SharedNumbers values, holdout;
  std::vector<double> weights;
  double beyond = 0;
  double constant = 0;          ///< what joining took from the loss
  double held_constant = 0;     ///< and from the validation
  std::vector<double> x, z, b;  ///< Q b of three sets of beliefs; none without a map

  double weight(std::size_t i) const { return weights[weights.size() == 1 ? 0 : i]; }
  double held_out(std::size_t i) const { return holdout[i] + beyond * (holdout[i] - values[i]); }
};

/// Adds a measurement to the terms of its region; measurements of single cells are merged into one term.
void add_measurement(std::vector<RegionTerm>& terms, RegionMeasurement measurement);

/// The value of a term at the answers Q b of a belief.
double term_loss(const RegionTerm& term, double total, std::span<const double> answers);

/// theta -= s times the gradient at the beliefs x + a (z - x), over the cells of the region. In a term
/// with a map, b moves to z and b serves as scratch buffer.
void descend_term(RegionTerm& term, double total, double s, double a, std::span<const double> x,
                  std::span<const double> z, std::span<double> theta);

/// Moves the averages x on by a (b - x), of cells only where the term is of every cell, and adds what the
/// move from z to b shows.
void follow_term(RegionTerm& term, double total, double a, std::span<const double> b,
                 std::span<const double> z, std::span<double> x, PathSums& sums);

}  // namespace pypgm
