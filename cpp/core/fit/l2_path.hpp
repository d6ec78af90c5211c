#pragma once
#include <span>
#include <vector>

#include "core/fit/l2_loss.hpp"
#include "core/simd/path_kernels.hpp"

namespace pypgm {

/// The path of accelerated descent for an L2Loss: what its terms answer on an average x of tables, on the
/// last table z and on the next. Each function takes the part of one table of that loss; those of different
/// tables may run at the same time. After `start` nothing allocates but maps whose rows are summed first.
class L2Path {
 public:
  explicit L2Path(std::size_t n_tables) : answers_(n_tables) {}

  /// The first average and the first z are the given cells.
  void start(const L2Loss& loss, int table, std::span<const double> cells);
  /// theta -= s * gradient at the counts v of x + a (z - x), and unless they are null, window += s v and
  /// mean += a (theta - mean), but for cells of theta at -inf.
  void descend(const L2Loss& loss, int table, double s, double a, std::span<const double> x,
               std::span<const double> z, std::span<double> theta, double* window, double* mean);
  /// x += a (next - x), and adds what the move from z to next shows; the next z is `next`.
  void follow(const L2Loss& loss, int table, double a, std::span<const double> next,
              std::span<const double> z, std::span<double> x, PathSums& sums);

  /// What a term with a map answers on the average.
  const std::vector<double>& average(int table, std::size_t term) const {
    return answers_[static_cast<std::size_t>(table)][term].x;
  }

 private:
  struct Answers {
    std::vector<double> x, z, next;  ///< of a term; none without a map
  };
  std::vector<std::vector<Answers>> answers_;  ///< by table and term
};

/// x += a (to - x)
void move_average(std::span<double> x, std::span<const double> to, double a);

}  // namespace pypgm
