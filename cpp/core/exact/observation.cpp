#include "core/exact/observation.hpp"

#include <algorithm>
#include <limits>

namespace pypgm {

Known::Known(std::span<const std::size_t> sizes, std::span<const Evidence> evidence)
    : observed(sizes.size(), 0), codes(sizes.size(), 0) {
  const auto possible = [](double x) { return x != -std::numeric_limits<double>::infinity(); };
  for (const Evidence& e : evidence) {
    const auto a = static_cast<std::size_t>(e.attribute);
    const auto& values = e.log_likelihood;
    if (observed[a] != 0 || std::count_if(values.begin(), values.end(), possible) != 1) continue;
    any = true;
    observed[a] = 1;
    codes[a] =
        static_cast<std::int32_t>(std::find_if(values.begin(), values.end(), possible) - values.begin());
  }
  for (const Evidence& e : evidence) {
    const auto a = static_cast<std::size_t>(e.attribute);
    if (observed[a] != 0) {
      log_weight += e.log_likelihood[static_cast<std::size_t>(codes[a])];
    } else {
      likelihoods.push_back(e);
    }
  }
}

bool rearranged(const JunctionTree& tree, const FactoredTree& factored, int factor) {
  const Scope& scope = tree.scopes[static_cast<std::size_t>(factor)];
  const Scope& axes = factored.values[static_cast<std::size_t>(factor)].attributes;
  return !std::is_sorted(axes.begin(), axes.end()) ||
         std::any_of(scope.begin(), scope.end(),
                     [&](std::int32_t a) { return factored.observed[static_cast<std::size_t>(a)] != 0; });
}

}  // namespace pypgm
