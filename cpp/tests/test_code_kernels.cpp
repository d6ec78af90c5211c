// Joint values against plain integer arithmetic, for each type of codes and up to the largest joint value.
#include <doctest/doctest.h>

#include <algorithm>
#include <cstdint>
#include <limits>
#include <random>
#include <vector>

#include "core/simd/code_kernels.hpp"

using namespace pypgm;

TEST_CASE_TEMPLATE("codes are joined, and taken apart again", Code, std::int8_t, std::int16_t, std::int32_t) {
  const CodeLoops<Code>& loops = code_kernels().of<Code>();
  std::mt19937 random(1);
  constexpr std::uint64_t kMost = std::numeric_limits<Code>::max();
  constexpr std::uint32_t kEnd = 1U << 31;
  for (const std::uint64_t wanted : {1ULL, 2ULL, 3ULL, 7ULL, 100ULL, 128ULL, 32'767ULL, 1'000'003ULL}) {
    const auto size = static_cast<std::uint32_t>(std::min(wanted, kMost + (kMost < kEnd - 1 ? 1 : 0)));
    std::vector<std::uint32_t> joint;
    for (std::uint32_t k = 0; k < 40; ++k) {
      const std::uint32_t quotient = random() % ((kEnd - 1) / size);
      for (const std::uint32_t x : {k, kEnd - 1 - k, quotient * size, quotient * size + size - 1}) {
        joint.push_back(x);
      }
    }
    for (std::size_t n = joint.size(); n > joint.size() - 20; --n) {
      std::vector<std::uint32_t> left(joint.begin(), joint.begin() + static_cast<std::ptrdiff_t>(n));
      std::vector<Code> codes(n);
      loops.split(left.data(), size, n, codes.data());
      for (std::size_t i = 0; i < n; ++i) {
        CHECK(static_cast<std::uint32_t>(codes[i]) == joint[i] % size);
        CHECK(left[i] == joint[i] / size);
      }
      std::vector<Code> same(n);
      const std::vector<std::uint32_t> small(codes.begin(), codes.end());
      loops.narrow(small.data(), n, same.data());
      CHECK(same == codes);
      loops.join(codes.data(), size, n, left.data());
      CHECK(std::equal(left.begin(), left.end(), joint.begin()));
    }
  }
}
