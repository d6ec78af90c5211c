#pragma once
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

#include "core/exact/propagation.hpp"
#include "core/fit/l2_loss.hpp"
#include "core/plan/junction_tree.hpp"

namespace pypgm {

/// Mirror descent along steps known beforehand, in one pass up and down the tree for each: while a block of a
/// clique's marginal is in cache its weights take the next step. What is kept of a point are its weights,
/// which a step multiplies by exp(-alpha g); potentials only where weights would leave the range of numbers.
/// An iteration goes through weights twice and through measured values once.
///
/// The point of least loss is known only once the weights have moved on. Now and then a point is kept, and
/// the best one is led up to again from there where it is asked for. No allocation after construction.
class FusedDescent {
 public:
  /// Starts at the potentials given; `alpha` is the first step. One propagation. Throws std::invalid_argument
  /// if the potentials leave nothing.
  FusedDescent(std::shared_ptr<const JunctionTree> tree, std::vector<Measured> measurements, double total,
               const std::vector<double>& potentials, double alpha, int n_threads);

  /// Whether the tables of the tree are the cheaper way to its marginals.
  static bool suits(const JunctionTree& tree) { return 2 * tree.cost.factor_cells > tree.cost.cells; }

  /// Takes the step announced last and returns the loss there; `alpha` is the step after it, 0 for the last
  /// point, which then can be asked for at once. One propagation.
  double advance(double alpha);
  /// Cells of all given cliques.
  std::size_t cells() const { return static_cast<std::size_t>(tree_.cost.factor_cells); }
  /// Least loss found.
  double loss() const { return least_; }
  /// The point of least loss: its potentials, its marginals, and a bound on its loss - min L. What is asked
  /// for at equal distances costs no more than that; else the path is gone along again from where it was
  /// kept.
  std::vector<double> potentials();
  void marginals(std::span<double> out);
  double gap();

 private:
  static constexpr std::size_t kKeepEvery = 64;  ///< iterations; a copy costs about a fifth of one

  /// Cells of one clique whose weights move together.
  struct Part {
    int factor;
    std::size_t begin;  ///< in the buffer of all given tables
    std::size_t cells;
    double low, high;         ///< bounds of the logarithms of the positive weights
    double drift = 0;         ///< by how much the bounds may be too wide
    bool logarithms = false;  ///< the potentials are what is kept, weights come from them
  };
  /// A point of the path, before its step is taken.
  struct Kept {
    std::size_t step = 0;
    std::unique_ptr<double[]> cells;  ///< weights, or potentials where these are kept
    std::vector<Scaling> scalings;
    std::vector<Part> parts;
    std::vector<double> alphas;  ///< the steps from here on
  };

  void add_parts(int factor, std::span<const double> potentials);
  double pass(double alpha);
  void step(std::size_t part, const double* marginal, double alpha);
  void step_whole(int factor, std::span<const double> marginal, double alpha);
  bool step_rows(const RowNode& row, const RowTables& tables, double alpha);
  void move(Part& part, const double* moves, double largest);
  void widen(Part& part, double largest);
  void leap(Part& part);
  void weigh_logarithms(Part& part);
  void measure(Part& part);
  void take_logarithms(Part& part);
  void weigh(int factor, int threads);
  Scaling scaling_of(int factor) const;
  void scale_anew(int factor, double high, int threads);
  void write_logarithms(const Part& part, const Scaling& scaling, const double* cells, double* out) const;

  void save(Kept& kept) const;
  void restore(const Kept& kept);
  void return_to_best();

  const std::shared_ptr<const JunctionTree> shared_;
  const JunctionTree& tree_;
  L2Loss loss_;
  double total_;
  int n_threads_;
  Workspace work_;
  const std::vector<RowNode> rows_;   ///< by node
  std::unique_ptr<double[]> thetas_;  ///< written where logarithms are kept or needed
  std::vector<Part> parts_;
  std::vector<std::size_t> first_part_;                    ///< by clique
  std::vector<double> losses_;                             ///< by part
  std::vector<std::vector<double>> gathered_, gradients_;  ///< by clique: room where the term is not cellwise
  Kept kept_[2];
  std::size_t last_ = 0;       ///< which of the two was kept last
  std::size_t best_from_ = 0;  ///< which of them leads to the best point
  std::size_t step_ = 0, best_ = 0;
  std::size_t asked_ = 0, every_ = 0;  ///< the point that was here when last asked, and steps between askings
  double least_ = 0;
};

}  // namespace pypgm
