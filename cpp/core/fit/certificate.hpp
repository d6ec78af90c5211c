#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/exact/assignments.hpp"
#include "core/fit/l2_loss.hpp"
#include "core/plan/junction_tree.hpp"

namespace pypgm {

/// Bounds from below the least L(mu) = 1/2 sum of w (Q mu - y)^2 over the marginals mu of distributions of
/// `total` records, by column generation (fully corrective Frank-Wolfe). With A one column an assignment, its
/// answers times sqrt(w), and y likewise, every r gives the bound
///   D(r) = -1/2 |r|^2 - <y, r> + total * min over assignments of (A' r).
/// A round raises the minimum over the assignments known, by a few semismooth Newton steps on an augmented
/// Lagrangian; finds the heaviest assignment through each cell where they end and half-way between there and
/// the best r so far, which gives D; and takes note of those below the minimum (in-out separation; Ben-Ameur,
/// Neto: Acceleration of cutting-plane and column generation algorithms, 2007). The next one goes on from
/// where it ended, which the multipliers belong to. The same bits for any n_threads.
///
/// Requires tree.factored and questions that are sums.
class Certificate {
 public:
  /// Potentials of a point near the optimum, from which assignments are drawn to begin with (-inf stays
  /// impossible), and marginals (counts) whose misfit is the first r.
  Certificate(std::shared_ptr<const JunctionTree> tree, const std::vector<Measured>& measurements,
              double total, std::span<const double> potentials, std::span<const double> marginals,
              int n_threads);

  /// One round; returns the highest bound so far.
  double round();

  double lower() const { return lower_; }
  /// Assignments known.
  std::size_t columns() const { return masses_.size() - 1; }

 private:
  /// Records that a unit of the point's multiplier stands for.
  static constexpr double kOfPoint = 100;

  struct Question {
    int factor;
    std::size_t offset;              ///< of its answers among all
    std::vector<std::int32_t> rows;  ///< the answer of each cell; empty: its own number
    std::vector<std::size_t> steps;  ///< of the attributes of its scope
  };
  using Rows = std::vector<std::vector<std::int32_t>>;  ///< by question: the answer of each column

  /// A' r - nu for the known columns, the point last.
  void levels(std::span<const double> r, std::vector<double>& out) const;
  void gather(const Rows& rows, std::span<const double> r, std::span<double> out) const;
  void scatter(const Rows& rows, std::span<const double> x, std::span<double> out) const;
  double raise();
  void steer(bool rose, double step);
  void balance();
  void gradient(std::vector<double>& out);
  void newton_direction(std::span<const double> gradient);
  double step_length() const;
  double dual(std::span<const double> r, double largest) const;
  double restricted_bound() const;
  double bound_at(std::span<const double> r);
  double look(std::span<const double> r, bool forgets);
  double least_level() const;
  std::vector<std::int32_t> heaviest(double above);
  void add(std::span<const std::int32_t> records);
  void prune(double far);

  std::shared_ptr<const JunctionTree> tree_;
  double total_;
  int n_threads_;
  Assignments assignments_;
  std::vector<Question> questions_;
  std::vector<double> y_, scale_, point_;  ///< by answer
  std::vector<double> base_;               ///< potentials: 0, or -inf where they are so
  double loss_ = 0;                        ///< at the point
  double lower_;
  double bound_;                 ///< that r_ gives
  Rows rows_;                    ///< of all columns
  std::vector<double> masses_;   ///< multipliers of the columns, the point's last
  std::vector<double> levels_;   ///< A' r - nu
  std::vector<double> r_;        ///< by answer, nu last
  std::vector<double> best_;     ///< that of the highest bound
  std::vector<double> change_;   ///< of r
  std::vector<double> changes_;  ///< of the levels
  Rows active_;                  ///< rows of the columns with a positive multiplier
  std::vector<std::size_t> active_columns_;
  double tau_ = 0;
  double kappa_;
  std::size_t most_columns_ = 0;
};

}  // namespace pypgm
