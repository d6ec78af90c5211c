#pragma once
#include <span>
#include <vector>

#include "core/base/shared_numbers.hpp"
#include "core/fit/linear_map.hpp"

namespace pypgm {

/// A noisy linear measurement of one table: of a given clique of a junction tree, or of a region.
struct Measured {
  int table = 0;                ///< index
  SharedMap map;                ///< what is asked of its cells; null: each of them
  SharedNumbers values;         ///< measured counts
  std::vector<double> weights;  ///< 1 / variance, one a count or one for all
  SharedNumbers held_out;       ///< of all measurements or of none: what validates is ...
  double beyond = 0;            ///< held_out + beyond (held_out - values)
};

/// One term of the loss: the measurements of all single cells of a table, or those by one map, merged.
struct L2Term : Measured {
  double constant = 0;           ///< what merging took from the loss
  double held_out_constant = 0;  ///< and from the held-out loss
  std::vector<double> answers;   ///< of the map, while a function of the loss runs; none without a map

  double weight(std::size_t i) const { return weights[weights.size() == 1 ? 0 : i]; }
  double to_validate(std::size_t i) const { return held_out[i] + beyond * (held_out[i] - values[i]); }
};

/// L = 1/2 sum of w (Q n - y)^2 over tables of counts n, given as n / total. Each function takes the part of
/// one table; those of different tables may run at the same time. Only `add` allocates.
class L2Loss {
 public:
  L2Loss(std::size_t n_tables, double total) : terms_(n_tables), total_(total) {}

  /// Throws std::invalid_argument where some measurements have held-out counts and others have not.
  void add(Measured measurement);

  bool empty() const { return empty_; }
  double total() const { return total_; }
  const std::vector<L2Term>& terms(int table) const { return terms_[static_cast<std::size_t>(table)]; }
  double value(int table, std::span<const double> cells);
  /// The value; writes its gradient in the counts. Requires a total of 1.
  double gradient(int table, std::span<const double> cells, std::span<double> gradient);
  /// Sum of w (Q d)^2. Requires a total of 1.
  double curvature(int table, std::span<const double> difference);

 private:
  std::vector<std::vector<L2Term>> terms_;  ///< by table, that of all single cells first
  double total_;
  bool validates_ = false;  ///< whether there are held-out counts
  bool empty_ = true;
};

}  // namespace pypgm
