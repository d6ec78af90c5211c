#pragma once
// Exact coin flips with rational and exponential probabilities, from uniform 64-bit words.
#include <cstdint>

#include "core/noise/random_bits.hpp"
#include "core/noise/wide_integer.hpp"

namespace pypgm {

/// A rational in [0, 1) kept twice: exactly, and as a bracket on 56 bits that decides all but about one coin
/// flip in 2^53: head / (scale + 1) <= numerator / denominator < (head + 1) / scale.
struct Fraction {
  Wide numerator;
  Wide denominator;
  std::uint64_t head = 0;   // leading bits of the numerator, aligned with `scale`
  std::uint64_t scale = 0;  // leading 56 bits of the denominator

  static constexpr int kBits = 56;
};

/// The leading bits of `value` in units of 2^(width - 56); requires value < 2^width.
inline std::uint64_t leading_bits(const Wide& value, int width) {
  if (width >= Fraction::kBits) return value.word_at(width - Fraction::kBits);
  return value.word_at(0) << (Fraction::kBits - width);
}

/// Requires numerator < denominator < 2^192.
inline Fraction make_fraction(const Wide& numerator, const Wide& denominator) {
  const int width = denominator.bit_width();
  return {numerator, denominator, leading_bits(numerator, width), leading_bits(denominator, width)};
}

/// Uniform integers and rational coins from a source of words: the only randomness the samplers use. A test
/// can substitute a class with the same functions and sum exact probabilities over every outcome.
template <WordSource Source>
class Dice {
 public:
  explicit Dice(Source& source) : source_(source) {}

  /// Uniform on {0, ..., n - 1}, n >= 1: the high half of word * n, where the few words that would make some
  /// outcomes likelier are drawn again (Lemire 2019).
  std::uint64_t below(std::uint64_t n) {
    Product product = multiply(source_.next(), n);
    if (product.low < n) {
      const std::uint64_t excess = (0 - n) % n;  // 2^64 mod n
      while (product.low < excess) product = multiply(source_.next(), n);
    }
    return product.high;
  }

  /// True with probability 1 / n, n >= 1.
  bool one_in(std::uint64_t n) { return below(n) == 0; }

  /// True with probability p / k, k >= 1. A uniform real U in [0, 1) is compared with p / k; of its binary
  /// digits only as many words are drawn as the comparison needs: one word, but for one case in 2^53. Without
  /// the bracket, by coin_exactly alone, draws of both laws take 1.4 times as long (100,000 of each).
  bool coin(const Fraction& p, std::uint64_t k) {
    const std::uint64_t word = source_.next();
    if (k <= 128) {
      // word / 2^64 <= U < (word + 1) / 2^64, and U < p / k iff U k denominator < numerator.
      // k (scale + 1) <= 128 * 2^56 = 2^63, so nothing wraps.
      const std::uint64_t above = multiply(word, k * (p.scale + 1)).high;
      // (word + 1) k (scale + 1) < (above + 2) 2^64
      if (above + 2 <= p.head) return true;
      if (multiply(word, k * p.scale).high > p.head) return false;
    }
    return coin_exactly(p, k, word);
  }

  /// The same decision on exact integers, given the first word: U < n / m iff U' < (2^64 n - word m) / m for
  /// the digits U' that follow. m = k denominator < 2^256 for any k the series reaches (k < 2^64) as
  /// denominator < 2^192.
  bool coin_exactly(const Fraction& p, std::uint64_t k, std::uint64_t word) {
    const Wide m = p.denominator * k;
    Wide n = p.numerator;
    for (;;) {
      n = n.times_two_to_the_64();
      const Wide step = m * word;
      if (n <= step) return false;
      n -= step;
      if (n >= m) return true;
      word = source_.next();
    }
  }

 private:
  Source& source_;
};

/// True with probability exp(-p), p in [0, 1): the number of coins p/1, p/2, p/3, ... up to the first that
/// fails is odd with probability 1 - p + p^2/2! - ... (Canonne, Kamath and Steinke 2020, algorithm 1).
template <class Dice>
bool coin_exp_below_one(Dice& dice, const Fraction& p) {
  std::uint64_t k = 1;
  while (dice.coin(p, k)) ++k;
  return k % 2 == 1;
}

/// True with probability exp(-1): the series of `coin_exp_below_one` at p = 1, whose first coin always
/// succeeds.
template <class Dice>
bool coin_exp_one(Dice& dice) {
  std::uint64_t k = 2;
  while (dice.one_in(k)) ++k;
  return k % 2 == 1;
}

/// True with probability exp(-numerator / denominator), the denominator given as the fraction 0 /
/// denominator. One unit of the exponent is taken off at a time, and each step fails with probability 1 -
/// 1/e: at most e/(e - 1) steps are expected, however large the exponent. Requires denominator >= 1,
/// denominator < 2^192, numerator < 2^256.
template <class Dice>
bool coin_exp(Dice& dice, Wide numerator, Fraction part) {
  while (numerator >= part.denominator) {
    if (!coin_exp_one(dice)) return false;
    numerator -= part.denominator;
  }
  part.numerator = numerator;
  part.head = leading_bits(numerator, part.denominator.bit_width());
  return coin_exp_below_one(dice, part);
}

/// The same for a denominator that is used once.
template <class Dice>
bool coin_exp(Dice& dice, const Wide& numerator, const Wide& denominator) {
  return coin_exp(dice, numerator, make_fraction(Wide(0), denominator));
}

}  // namespace pypgm
