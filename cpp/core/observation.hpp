#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/implicit_tree.hpp"
#include "core/junction_tree.hpp"
#include "core/propagation.hpp"

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

/// Whether a given factor has an observed attribute.
bool restricted(const JunctionTree& tree, const ImplicitTree& contraction, int factor);

/// Calls body(cell of what is left of a given factor, cell of the factor) for the cells that agree with the
/// observed codes.
template <class Body>
void for_observed_cells(const JunctionTree& tree, const ImplicitTree& contraction, int factor,
                        std::span<const std::int32_t> codes, const Body& body) {
  struct Step {
    std::size_t size, step;
  };
  std::vector<Step> steps;
  std::size_t cells = 1;
  std::size_t begin = 0;
  const Scope& scope = tree.scopes[static_cast<std::size_t>(factor)];
  for (std::size_t i = scope.size(); i-- > 0;) {
    const auto a = static_cast<std::size_t>(scope[i]);
    const std::size_t size = tree.sizes[a];
    if (contraction.observed[a] != 0) {
      begin += cells * static_cast<std::size_t>(codes[a]);
    } else if (size > 1) {
      if (!steps.empty() && steps.back().step * steps.back().size == cells) {
        steps.back().size *= size;
      } else {
        steps.push_back({size, cells});
      }
    }
    cells *= size;
  }
  const Step inner = steps.empty() ? Step{1, 0} : steps[0];
  std::vector<std::size_t> counts(steps.size(), 0);
  for (std::size_t cell = 0;;) {
    for (std::size_t i = 0; i < inner.size; ++i) body(cell++, begin + i * inner.step);
    std::size_t axis = 1;
    for (; axis < steps.size(); ++axis) {
      begin += steps[axis].step;
      if (++counts[axis] < steps[axis].size) break;
      begin -= steps[axis].size * steps[axis].step;
      counts[axis] = 0;
    }
    if (axis >= steps.size()) return;
  }
}

}  // namespace pypgm
