#pragma once
// Exact discrete Laplace and discrete Gaussian noise on int64, after Canonne, Kamath and Steinke (2020).
#include <cstdint>
#include <limits>
#include <span>
#include <stdexcept>

#include "core/noise/exact_bernoulli.hpp"

namespace pypgm {

/// A positive rational numerator / denominator.
struct Rational {
  std::uint64_t numerator;
  std::uint64_t denominator;
};

/// Bounds on the parameters under which every intermediate number provably fits.
inline constexpr int kScaleBits = 48;     // numerator and denominator of a Laplace scale
inline constexpr int kVarianceBits = 62;  // numerator and denominator of a Gaussian variance

/// The discrete Laplace law P(z) = (1 - q) / (1 + q) q^|z|, q = exp(-1/scale).
class DiscreteLaplace {
 public:
  /// Throws std::invalid_argument unless numerator and denominator lie in [1, 2^48).
  explicit DiscreteLaplace(Rational scale);

  /// One draw. U in {0, ..., t - 1} with weight exp(-U/t) and V with weight exp(-V) make X = U + t V
  /// geometric of rate exp(-1/t); floor(X / s) has rate exp(-s/t), and a sign follows (algorithm 2 for scale
  /// t/s).
  template <class Dice>
  std::int64_t operator()(Dice& dice) const {
    for (;;) {
      const std::uint64_t magnitude = (remainder(dice) + t_ * wholes(dice)) / s_;
      const bool negative = dice.below(2) == 1;
      if (negative && magnitude == 0) continue;  // zero would count twice
      const auto value = static_cast<std::int64_t>(magnitude);
      return negative ? -value : value;
    }
  }

 private:
  template <class Dice>
  std::uint64_t remainder(Dice& dice) const {
    if (t_ == 1) return 0;
    Fraction p = denominator_;
    for (;;) {
      const std::uint64_t u = dice.below(t_);
      p.numerator = Wide(u);
      p.head = u << shift_;
      if (coin_exp_below_one(dice, p)) return u;
    }
  }

  // t V must stay below 2^63: t < 2^48 leaves V < 2^15, which fails with probability exp(-32768), less than
  // that of any key of the generator being guessed 100 times over. It throws rather than wraps.
  template <class Dice>
  std::uint64_t wholes(Dice& dice) const {
    std::uint64_t v = 0;
    while (coin_exp_one(dice)) ++v;
    if (v >= std::uint64_t{1} << 15) throw std::overflow_error("a discrete Laplace draw leaves int64");
    return v;
  }

  std::uint64_t t_;
  std::uint64_t s_;
  Fraction denominator_;  // 0 / t
  int shift_;             // aligns a numerator below t with the bracket
};

/// The discrete Gaussian law P(z) proportional to exp(-z^2 / (2 variance)).
class DiscreteGaussian {
 public:
  /// Throws std::invalid_argument unless numerator and denominator lie in [1, 2^62).
  explicit DiscreteGaussian(Rational variance);

  /// One draw: discrete Laplace Y of scale t = floor(sigma) + 1, kept with probability
  /// exp(-(|Y| - variance / t)^2 / (2 variance)) (algorithm 3).
  /// With variance = n / d that exponent is (|Y| d t - n)^2 / (2 n d t^2). Bounds: t <= 2 sigma if sigma >=
  /// 1, so d t <= 2 sqrt(n d) < 2^63, else t = 1; |Y| < 2^48 as t < 2^33; so |Y| d t < 2^111 and its square
  /// is below 2^222.
  template <class Dice>
  std::int64_t operator()(Dice& dice) const {
    for (;;) {
      const std::int64_t y = laplace_(dice);
      const Wide product = Wide(d_t_) * static_cast<std::uint64_t>(y < 0 ? -y : y);
      Wide distance = product > n_ ? product : n_;
      distance -= product > n_ ? n_ : product;
      if (coin_exp(dice, distance.squared(), denominator_)) return y;
    }
  }

 private:
  DiscreteLaplace laplace_;
  Wide n_;
  std::uint64_t d_t_;
  Fraction denominator_;  // 0 / (2 n d t^2)
};

/// x + noise, clamped to int64. Clamping is post-processing, so it costs no privacy; an exception would
/// reveal that the sum left the range.
inline std::int64_t saturating_add(std::int64_t x, std::int64_t noise) {
  constexpr std::int64_t kMax = std::numeric_limits<std::int64_t>::max();
  constexpr std::int64_t kMin = std::numeric_limits<std::int64_t>::min();
  if (noise > 0 && x > kMax - noise) return kMax;
  if (noise < 0 && x < kMin - noise) return kMin;
  return x + noise;
}

/// Adds an independent discrete Laplace draw to every count, by default from the calling thread's secure
/// stream. Sums are clamped to int64. Throws std::invalid_argument for a scale out of bounds.
/// O(counts.size()).
void add_discrete_laplace(std::span<std::int64_t> counts, Rational scale, WordStream& words = secure_words());

/// Adds an independent discrete Gaussian draw to every count; otherwise as `add_discrete_laplace`.
void add_discrete_gaussian(std::span<std::int64_t> counts, Rational variance,
                           WordStream& words = secure_words());

/// The same on up to n_threads threads (0: all), each with its own secure stream.
void add_discrete_laplace(std::span<std::int64_t> counts, Rational scale, int n_threads);
void add_discrete_gaussian(std::span<std::int64_t> counts, Rational variance, int n_threads);

/// Writes 1 with probability `rate`, else 0, independently to every entry: who is in a Poisson sample.
/// Throws std::invalid_argument unless 0 < numerator <= denominator < 2^48.
void flip_coins(std::span<std::uint8_t> out, Rational rate, WordStream& words = secure_words());

}  // namespace pypgm
