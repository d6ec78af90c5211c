// One loop for each of the wanted sums: it applies the factors of the sums before, and adds up what they
// leave.
#include "core/records/raking.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <cstddef>
#include <vector>

#include "core/base/watch.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kCopies = 4;      // of the sums: cells of one group in a row do not wait for each other
constexpr double kLargestFactor = 1e3;  // of one step
constexpr double kLeastSum = 1e-9;      // of a group: the divisor of its factor

struct GroupSums {
  explicit GroupSums(std::size_t n_groups) : values(kCopies * n_groups), factors(n_groups, 1.0) {}

  /// Multiplies the weights by the factors of `before`, and adds them up.
  void add(std::span<double> weights, std::span<const std::uint32_t> before,
           std::span<const std::uint32_t> groups, std::size_t n_groups) {
    std::fill(values.begin(), values.begin() + static_cast<std::ptrdiff_t>(kCopies * n_groups), 0.0);
    const std::size_t n = weights.size();
    const std::size_t whole = n - n % kCopies;
    for (std::size_t i = 0; i < whole; i += kCopies) {
      std::array<double, kCopies> changed;
      for (std::size_t c = 0; c < kCopies; ++c) changed[c] = weights[i + c] * factors[before[i + c]];
      for (std::size_t c = 0; c < kCopies; ++c) {
        weights[i + c] = changed[c];
        values[c * n_groups + groups[i + c]] += changed[c];
      }
    }
    for (std::size_t i = whole; i < n; ++i) {
      weights[i] *= factors[before[i]];
      values[groups[i]] += weights[i];
    }
  }

  void set_factors(std::span<const double> wanted) {
    const std::size_t n_groups = wanted.size();
    for (std::size_t g = 0; g < n_groups; ++g) {
      double present = 0.0;
      for (std::size_t c = 0; c < kCopies; ++c) present += values[c * n_groups + g];
      const double due = std::min(wanted[g] / std::max(present, kLeastSum), kLargestFactor);
      factors[g] = present > 0.0 ? due : 1.0;
    }
  }

  std::vector<double> values;   // a copy after another
  std::vector<double> factors;  // of the groups summed last
};

}  // namespace

bool are_below(std::span<const std::uint32_t> groups, std::size_t n_groups) {
  std::uint32_t most = 0;
  for (const std::uint32_t g : groups) most = std::max(most, g);
  return groups.empty() || most < n_groups;
}

void rake(std::span<const WantedSums> wanted, int passes, std::span<double> weights) {
  if (wanted.empty() || passes < 1) return;
  std::size_t most = 0;
  for (const WantedSums& w : wanted) {
    assert(w.groups.size() == weights.size());
    most = std::max(most, w.sums.size());
  }
  GroupSums sums(most);
  std::span<const std::uint32_t> before = wanted.front().groups;  // all factors are 1
  for (int pass = 0; pass < passes; ++pass) {
    for (const WantedSums& w : wanted) {
      leave_if_abandoned();
      sums.add(weights, before, w.groups, w.sums.size());
      sums.set_factors(w.sums);
      before = w.groups;
    }
  }
  for (std::size_t i = 0; i < weights.size(); ++i) weights[i] *= sums.factors[before[i]];
}

}  // namespace pypgm
