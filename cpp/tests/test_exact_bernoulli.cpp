#include <doctest/doctest.h>

#include <cmath>
#include <vector>

#include "core/noise/enumeration.hpp"
#include "core/noise/exact_bernoulli.hpp"
#include "core/noise/noise.hpp"
#include "random_words.hpp"

using namespace pypgm;
using pypgm::test::TestWords;

namespace {

double total(const std::map<std::int64_t, double>& law) {
  double sum = 0;
  for (const auto& entry : law) sum += entry.second;
  return sum;
}

}  // namespace

TEST_CASE("the portable product equals the compiler's") {
  TestWords words(1);
  for (int i = 0; i < 10'000; ++i) {
    const std::uint64_t a = words.next() >> (words.next() % 64);
    const std::uint64_t b = words.next() >> (words.next() % 64);
    CHECK(multiply(a, b).high == multiply_portable(a, b).high);
    CHECK(multiply(a, b).low == multiply_portable(a, b).low);
  }
  const std::uint64_t most = ~std::uint64_t{0};
  CHECK(multiply_portable(most, most).high == most - 1);
  CHECK(multiply_portable(most, most).low == 1);
}

TEST_CASE("wide integers obey (a + 1)^2 - a^2 = 2 a + 1 across limbs") {
  TestWords words(2);
  for (int i = 0; i < 1000; ++i) {
    const std::uint64_t factor = words.next() >> 2;
    const std::uint64_t other = words.next() >> 2;
    const Wide a = Wide(factor) * other;  // below 2^124
    Wide next = a;                        // a + 1 = 2^64 - (2^64 - a - 1) has no adder: use (a - 1)^2 instead
    if (a.is_zero()) continue;
    next -= Wide(1);
    Wide difference = a.squared();
    difference -= next.squared();
    difference -= a;
    CHECK(difference == next);  // a^2 - (a - 1)^2 = a + (a - 1)
  }
  CHECK((Wide(3) * 5).bit_width() == 4);
  CHECK(Wide(1).times_two_to_the_64().bit_width() == 65);
  CHECK(Wide(6).times_two_to_the_64().word_at(65) == 3);
}

TEST_CASE("below is uniform: each outcome owns the same number of words") {
  // For n = 3, 2^64 mod 3 = 1: of the words with low half 0 exactly one is redrawn, word 0.
  ScriptedWords first({0, 5});
  CHECK(Dice(first).below(3) == 0);
  CHECK(first.used() == 2);
  const std::uint64_t third = ~std::uint64_t{0} / 3;  // 0x5555...
  ScriptedWords edge({third, third + 1, 2 * third, 2 * third + 1, 3 * third});
  Dice dice(edge);
  CHECK(dice.below(3) == 0);
  CHECK(dice.below(3) == 1);
  CHECK(dice.below(3) == 1);
  CHECK(dice.below(3) == 2);
  CHECK(dice.below(3) == 2);
  CHECK(edge.used() == 5);
  ScriptedWords one({7});
  CHECK(Dice(one).below(1) == 0);
}

TEST_CASE("the quick decision of a coin never differs from the exact one") {
  TestWords words(3);
  int undecided = 0;
  for (int i = 0; i < 20'000; ++i) {
    const Wide denominator =
        Wide((words.next() >> (words.next() % 60)) | 2) * ((words.next() >> (words.next() % 62)) | 1);
    Wide numerator = denominator;
    numerator -= Wide(1);
    if (numerator.bit_width() > 64) {
      numerator = Wide(words.next()) * (words.next() >> 60);
      if (numerator >= denominator) continue;
    }
    const Fraction p = make_fraction(numerator, denominator);
    const std::uint64_t k = 1 + words.next() % 130;
    // Words about the boundary numerator / (k denominator), found by bisection, are the hard ones.
    std::uint64_t low = 0;
    for (int bit = 63; bit >= 0; --bit) {
      const std::uint64_t probe = low | std::uint64_t{1} << bit;
      if (p.denominator * k * probe < p.numerator.times_two_to_the_64()) low = probe;
    }
    for (std::uint64_t offset = 0; offset < 9; ++offset) {
      const std::uint64_t word = low + offset * (offset % 2 == 0 ? 1 : 0 - std::uint64_t{1});
      const std::vector<std::uint64_t> script{word, 0x8000000000000000, 0, 0, 0};
      ScriptedWords quick_words(script);
      ScriptedWords exact_words(script);
      const bool quick = Dice(quick_words).coin(p, k);
      Dice exact(exact_words);
      CHECK(quick == exact.coin_exactly(p, k, exact_words.next()));
      undecided += quick_words.used() > 1;
    }
  }
  CHECK(undecided > 0);
}

TEST_CASE("an undecided coin reads on: 1/3 against 0.0101...") {
  const Fraction third = make_fraction(Wide(1), Wide(3));
  const std::uint64_t digits = 0x5555555555555555;
  ScriptedWords below({digits, digits, digits - 1});
  CHECK(Dice(below).coin(third, 1));
  CHECK(below.used() == 3);
  ScriptedWords above({digits, digits, digits + 1});
  CHECK_FALSE(Dice(above).coin(third, 1));
  CHECK(above.used() == 3);
}

TEST_CASE("coin_exp has probability exp(-p), by enumeration of every path") {
  for (const Rational exponent : {Rational{0, 1}, Rational{1, 3}, Rational{999, 1000}, Rational{1, 1},
                                  Rational{7, 3}, Rational{1, 1000000}}) {
    const auto law = enumerate_law<BranchingDice>(
        [&](BranchingDice& dice) {
          return coin_exp(dice, Wide(exponent.numerator), Wide(exponent.denominator));
        },
        1e-15);
    const double expected =
        std::exp(-static_cast<double>(exponent.numerator) / static_cast<double>(exponent.denominator));
    const double missing = 1 - total(law);
    const double success = law.count(1) ? law.at(1) : 0;
    CHECK(missing < 1e-12);
    CHECK(std::abs(success - expected) < 1e-12);
  }
}

TEST_CASE("a huge exponent fails fast") {
  TestWords words(4);
  Dice dice(words);
  const Wide huge = Wide(~std::uint64_t{0}) * (std::uint64_t{1} << 61);
  for (int i = 0; i < 1000; ++i) CHECK_FALSE(coin_exp(dice, huge, Wide(1)));
}
