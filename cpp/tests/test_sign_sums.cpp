// Sums of products of signs against the definition, bit by bit.
#include <doctest/doctest.h>

#include <cstddef>
#include <cstdint>
#include <random>
#include <vector>

#include "core/records/sign_sums.hpp"
#include "core/simd/sign_kernels.hpp"

namespace {

using namespace pypgm;

TEST_CASE("odd numbers of signs are counted as by hand, on any number of threads") {
  std::mt19937_64 random(5);
  for (const std::size_t n_words : {std::size_t{0}, std::size_t{1}, kSignBlock, kSignBlock + 1, 3 * kSignBlock - 7}) {
    for (const std::size_t order : {1, 2, 3, 7}) {
      constexpr std::size_t kRows = 9;
      std::vector<std::uint64_t> words(kRows * n_words);
      for (std::uint64_t& word : words) word = random() % 5 == 0 ? ~std::uint64_t{0} : random();
      std::vector<std::uint16_t> sets(3000 * order);
      for (std::uint16_t& row : sets) row = static_cast<std::uint16_t>(random() % kRows);
      std::vector<std::int64_t> odd(3000, -1);
      std::vector<std::int64_t> again(3000, -1);
      count_odd_signs(words, n_words, sets, order, odd, 1);
      count_odd_signs(words, n_words, sets, order, again, 4);
      CHECK(odd == again);
      for (std::size_t s = 0; s < odd.size(); s += 100) {
        std::int64_t expected = 0;
        for (std::size_t bit = 0; bit < 64 * n_words; ++bit) {
          std::uint64_t sign = 0;
          for (std::size_t i = 0; i < order; ++i) {
            sign ^= words[sets[s * order + i] * n_words + bit / 64] >> (bit % 64) & 1U;
          }
          expected += static_cast<std::int64_t>(sign);
        }
        CHECK(odd[s] == expected);
      }
    }
  }
}

}  // namespace
