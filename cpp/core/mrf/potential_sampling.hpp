#pragma once
// Gibbs sampling from log-potentials of any scopes and sizes.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/watch.hpp"
#include "core/mrf/spin_sampling.hpp"

namespace pypgm {

/// A model whose log-density is a sum of tables, each over some nodes, as Gibbs sampling reads it: for each
/// node the tables it is in, its own axis moved last.
class PotentialModel {
 public:
  /// Tables in C order are packed in `values`. Requires finite values, 1 <= size <= 256, and
  /// that scopes have distinct nodes below sizes.size().
  PotentialModel(std::vector<std::size_t> sizes, const std::vector<std::vector<std::size_t>>& scopes,
                 std::span<const double> values);

  std::size_t n_nodes() const { return sizes_.size(); }
  std::size_t size(std::size_t node) const { return sizes_[node]; }

  /// Table lookups of one sweep.
  std::size_t n_terms() const { return terms_.size(); }

  /// Sets log_weights[v], v < size(node), to the log-density of value v given the other codes, up to a
  /// constant.
  void conditional(std::size_t node, std::span<const std::uint8_t> codes,
                   std::span<double> log_weights) const;

 private:
  struct Stride {
    std::size_t node;
    std::size_t step;
  };
  struct Term {
    std::size_t cells;         // offset of the table
    std::size_t first_stride;  // of the other nodes of the scope
    std::size_t end_stride;
  };
  void add_term(std::size_t node, const std::vector<std::size_t>& scope, std::span<const double> table);

  std::vector<std::size_t> sizes_;
  std::vector<std::size_t> first_term_;  // n + 1
  std::vector<Term> terms_;
  std::vector<Stride> strides_;
  std::vector<double> cells_;
};

/// Gibbs sampling with the codes laid out as those of sample_spins. O(n_terms * size) a sweep and chain.
void sample_potentials(const PotentialModel& model, const GibbsPlan& plan, std::span<std::uint8_t> codes,
                       int n_threads, const Watch& watch);

}  // namespace pypgm
