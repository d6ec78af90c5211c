#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/exact/factored_inference.hpp"
#include "core/exact/propagation.hpp"
#include "core/plan/junction_tree.hpp"
#include "core/tables/strides.hpp"

namespace pypgm {

/// Evidence in two parts: attributes with one possible value are observed, the others keep their likelihoods.
struct Known {
  Known(std::span<const std::size_t> sizes, std::span<const Evidence> evidence);

  bool any = false;                    ///< whether anything is observed
  std::vector<std::uint8_t> observed;  ///< by attribute
  std::vector<std::int32_t> codes;     ///< by attribute: the observed value, 0 elsewhere
  std::vector<Evidence> likelihoods;   ///< of attributes that are not observed
  double log_weight = 0;               ///< of the observed values; -inf if they exclude each other

  Observation observation() const { return {codes, likelihoods}; }
};

/// Whether what is left of a given factor lies otherwise than the factor: it has an observed attribute, or
/// its axes are in another order.
bool rearranged(const JunctionTree& tree, const FactoredTree& factored, int factor);

/// Calls body(cell of what is left of a given factor, cell of the factor) for the cells that agree with the
/// observed codes.
template <class Body>
void for_observed_cells(const JunctionTree& tree, const FactoredTree& factored, int factor,
                        std::span<const std::int32_t> codes, const Body& body) {
  const Scope& scope = tree.scopes[static_cast<std::size_t>(factor)];
  const Scope& axes = factored.values[static_cast<std::size_t>(factor)].attributes;
  const auto size_of = [&](std::int32_t a) { return tree.sizes[static_cast<std::size_t>(a)]; };
  const auto step_of = [&](std::int32_t a) {
    std::size_t step = 1;
    for (std::size_t i = scope.size(); scope[--i] != a;) step *= size_of(scope[i]);
    return step;
  };
  std::size_t begin = 0;
  for (const std::int32_t a : scope) {
    const auto i = static_cast<std::size_t>(a);
    if (factored.observed[i] != 0) begin += step_of(a) * static_cast<std::size_t>(codes[i]);
  }
  Strides strides;
  for (std::size_t i = axes.size(); i-- > 0;) strides.add_outer(size_of(axes[i]), step_of(axes[i]));
  strides.for_cells(begin, body);
}

}  // namespace pypgm
