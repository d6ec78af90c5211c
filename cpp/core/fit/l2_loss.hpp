#pragma once
#include <span>
#include <vector>

#include "core/fit/linear_map.hpp"
#include "core/plan/junction_tree.hpp"

namespace pypgm {

/// A noisy linear measurement of one of a tree's given cliques.
struct Measured {
  int factor = 0;               ///< index of the clique
  SharedMap map;                ///< what is asked of its cells; null: each of them
  std::vector<double> values;   ///< measured counts
  std::vector<double> weights;  ///< 1 / variance of each
  std::vector<double>
      holdout;  ///< other measured counts of the same, to validate with; none in all or in none
};

/// L(mu) = 1/2 sum of w (Q mu - y)^2 over the marginals mu (counts) of a tree's given cliques, clique by
/// clique: a term is the part of one clique, given its table. Terms of different cliques may be taken at the
/// same time. No allocation after construction.
class L2Loss {
 public:
  /// What is measured of a clique cell by cell: several such measurements are one, of their weighted mean,
  /// and a constant.
  struct Cells {
    std::vector<double> values;
    std::vector<double> holdout;
    std::vector<double> weights;  ///< of each cell; empty: the same for all
    double weight = 0;            ///< the same for all, 0 if nothing is measured
    double constant = 0;          ///< what the loss is at the values
    double holdout_constant = 0;
  };

  /// Throws std::invalid_argument where some measurements have held-out counts and others have not.
  L2Loss(const JunctionTree& tree, std::vector<Measured> measurements);

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
  /// Whether the term is a sum over cells, none of which needs to know the others.
  bool cellwise(int factor) const { return others_of_[static_cast<std::size_t>(factor)].empty(); }
  const Cells& cells(int factor) const { return cells_[static_cast<std::size_t>(factor)]; }

 private:
  enum class Against { values, holdout, nothing };

  void merge(Measured m);
  double term(int factor, std::span<const double> table, Against against, std::span<double> gradient);
  double cells_term(const Cells& cells, std::span<const double> table, Against against,
                    std::span<double> gradient) const;
  double answers_term(const Measured& m, std::span<const double> table, Against against,
                      std::span<double> gradient, std::vector<double>& answers) const;

  std::vector<Cells> cells_;                  ///< by clique
  std::vector<Measured> others_;              ///< measurements that are not of every cell
  std::vector<std::vector<int>> others_of_;   ///< by clique
  std::vector<std::vector<double>> answers_;  ///< by clique: for the answers
  std::vector<double> zeros_;                 ///< what nothing is compared with
  bool validates_ = false;
};

}  // namespace pypgm
