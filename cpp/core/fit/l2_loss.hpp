#pragma once
#include <span>
#include <vector>

#include "core/base/shared_numbers.hpp"
#include "core/fit/linear_map.hpp"
#include "core/simd/path_kernels.hpp"

namespace pypgm {

/// A noisy linear measurement of one table: of a given clique of a junction tree, or of a region.
struct Measured {
  int table = 0;                ///< index
  SharedMap map;                ///< what is asked of its cells; null: each of them
  SharedNumbers values;         ///< measured counts
  std::vector<double> weights;  ///< 1 / variance, one a count or one for all
  SharedNumbers holdout;        ///< of all measurements or of none: what validates is ...
  double beyond = 0;            ///< holdout + beyond (holdout - values)
};

/// One term of the loss: the measurements of all single cells of a table, merged, or one other measurement.
struct L2Term : Measured {
  double constant = 0;          ///< what merging took from the loss
  double held_constant = 0;     ///< and from the validation loss
  std::vector<double> x, z, b;  ///< answers on the average, the last table and the next; none without a map

  double weight(std::size_t i) const { return weights[weights.size() == 1 ? 0 : i]; }
  double held_out(std::size_t i) const { return holdout[i] + beyond * (holdout[i] - values[i]); }
};

/// L = 1/2 sum of w (Q n - y)^2 over tables of counts n, given as n / total. Each function takes the part of
/// one table; those of different tables may run at the same time. Only `add` allocates.
class L2Loss {
 public:
  L2Loss(std::size_t n_tables, double total) : terms_(n_tables), total_(total) {}

  /// Throws std::invalid_argument where some measurements have held-out counts and others have not.
  void add(Measured measurement);

  bool empty() const { return empty_; }
  const std::vector<L2Term>& terms(int table) const { return terms_[static_cast<std::size_t>(table)]; }
  double value(int table, std::span<const double> cells);
  /// The value; writes its gradient in the counts. Requires a total of 1.
  double gradient(int table, std::span<const double> cells, std::span<double> gradient);
  /// Sum of w (Q d)^2. Requires a total of 1.
  double curvature(int table, std::span<const double> difference);

  /// Steps of accelerated descent. The first average x and the first z are the given cells.
  void start(int table, std::span<const double> cells);
  /// theta -= s * gradient at the counts v of x + a (z - x), and window += s v unless it is null.
  void descend(int table, double s, double a, std::span<const double> x, std::span<const double> z,
               std::span<double> theta, double* window);
  /// x += a (next - x), and adds what the move from z to next shows; the next z is `next`.
  void follow(int table, double a, std::span<const double> next, std::span<const double> z,
              std::span<double> x, PathSums& sums);

 private:
  std::vector<std::vector<L2Term>> terms_;  ///< by table
  double total_;
  bool validates_ = false;  ///< whether there are held-out counts
  bool empty_ = true;
};

/// x += a (to - x)
void move_average(std::span<double> x, std::span<const double> to, double a);

}  // namespace pypgm
