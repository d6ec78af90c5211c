// Raking against its definition, one group at a time.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "core/records/raking.hpp"

namespace {

using namespace pypgm;

struct RakingTarget {
  std::vector<std::uint32_t> groups;
  std::vector<double> sums;
};

void rake_by_hand(const std::vector<RakingTarget>& targets, int passes, std::vector<double>& weights) {
  for (int pass = 0; pass < passes; ++pass) {
    for (const RakingTarget& t : targets) {
      for (std::uint32_t g = 0; g < t.sums.size(); ++g) {
        double present = 0.0;
        for (std::size_t i = 0; i < weights.size(); ++i) present += t.groups[i] == g ? weights[i] : 0.0;
        if (!(present > 0.0)) continue;
        const double factor = std::min(t.sums[g] / std::max(present, 1e-9), 1e3);
        for (std::size_t i = 0; i < weights.size(); ++i) weights[i] *= t.groups[i] == g ? factor : 1.0;
      }
    }
  }
}

TEST_CASE("weights are raked as by hand, whatever the number of cells, groups and passes") {
  std::mt19937_64 random(3);
  std::uniform_real_distribution<double> uniform(0.0, 5.0);
  for (const std::size_t n : {0, 1, 3, 4, 5, 7, 64, 201}) {
    for (const int passes : {0, 1, 3}) {
      std::vector<double> weights(n);
      for (double& w : weights) w = random() % 4 == 0 ? 0.0 : uniform(random);
      std::vector<RakingTarget> targets;
      for (const std::size_t n_groups : {1, 6, 40}) {
        RakingTarget& t = targets.emplace_back();
        for (std::size_t i = 0; i < n; ++i)
          t.groups.push_back(static_cast<std::uint32_t>(random() % n_groups));
        for (std::size_t g = 0; g < n_groups; ++g) t.sums.push_back(g % 3 == 2 ? 0.0 : 1e3 * uniform(random));
      }
      std::vector<WantedSums> wanted;
      for (const RakingTarget& t : targets) wanted.push_back({t.groups, t.sums});
      std::vector<double> expected = weights;
      rake_by_hand(targets, passes, expected);
      rake(wanted, passes, weights);
      for (std::size_t i = 0; i < n; ++i) CHECK(weights[i] == doctest::Approx(expected[i]).epsilon(1e-12));
    }
  }
}

TEST_CASE("nothing wanted leaves the weights as they are") {
  std::vector<double> weights{1.0, 2.0};
  rake({}, 5, weights);
  CHECK(weights == std::vector<double>{1.0, 2.0});
}

}  // namespace
