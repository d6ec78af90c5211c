#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/plan/factored_tree.hpp"
#include "core/tables/strides.hpp"

namespace pypgm {

/// Log-likelihoods of the values of one attribute; -inf rules a value out.
struct Evidence {
  std::int32_t attribute;
  std::span<const double> log_likelihood;
};

/// Adds likelihoods to the potentials of the smallest given cliques that hold their attributes. Returns those
/// of attributes that no given clique holds.
std::vector<Evidence> enter_evidence(const JunctionTree& tree, std::span<const Evidence> evidence,
                                     std::vector<double>& potentials);

/// Evidence as inference takes it: attributes with one possible value are observed, which makes every table
/// smaller; other likelihoods become part of the potentials. Refers to the tree and the potentials it is
/// given.
class Observation {
 public:
  Observation(const JunctionTree& tree, std::span<const double> potentials,
              std::span<const Evidence> evidence);
  Observation(const Observation&) = delete;
  Observation& operator=(const Observation&) = delete;

  const JunctionTree& tree;
  bool any = false;                    ///< whether anything is observed
  std::vector<std::uint8_t> observed;  ///< by attribute
  std::vector<std::int32_t> codes;     ///< by attribute: the observed value, 0 elsewhere
  std::vector<Evidence> alone;         ///< likelihoods of attributes that no given clique holds
  double log_weight = 0;               ///< of the observed values; -inf if they exclude each other
  std::span<const double> potentials;  ///< with the likelihoods

  /// The plan in which the observed attributes are fixed.
  const FactoredTree& factored() const { return any ? *own_ : *tree.factored; }

 private:
  std::shared_ptr<const FactoredTree> own_;
  std::vector<double> entered_;
};

/// Whether a leaf is a given factor whose cells lie as they are given: none of its attributes is observed,
/// and its axes are in the same order.
bool lies_as_given(const Observation& observation, int leaf);

/// Calls body(cell of what is left of a given factor, cell of the factor) for the cells that agree with the
/// observed codes.
template <class Body>
void for_observed_cells(const Observation& observation, int factor, const Body& body) {
  const Scope& scope = observation.tree.scopes[at(factor)];
  const Scope& axes = observation.factored().values[at(factor)].attributes;
  const auto step_of = [&](std::int32_t a) { return stride_of(observation.tree.sizes, scope, a); };
  std::size_t begin = 0;
  for (const std::int32_t a : scope) {
    if (observation.observed[at(a)] != 0) begin += step_of(a) * at(observation.codes[at(a)]);
  }
  Strides strides;
  for (std::size_t i = axes.size(); i-- > 0;)
    strides.add_outer(observation.tree.sizes[at(axes[i])], step_of(axes[i]));
  strides.for_cells(begin, body);
}

}  // namespace pypgm
