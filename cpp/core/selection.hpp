#pragma once
// The exponential mechanism on integer scores, drawn exactly.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>

#include "core/exact_bernoulli.hpp"
#include "core/noise.hpp"

namespace pypgm {

inline constexpr int kRateBits = 62;  // numerator and denominator of a selection's rate

/// One index with probability proportional to exp(rate * scores[i]): a uniform candidate is accepted with
/// probability exp(-rate (max - scores[i])), else drawn anew (permute-and-flip with replacement).
/// Requires scores not empty, rate.numerator and rate.denominator in [1, 2^62). A gap is below 2^64, so the
/// exponent's numerator is below 2^126. At most scores.size() candidates are expected.
template <class Dice>
std::size_t select_exponential(Dice& dice, std::span<const std::int64_t> scores, Rational rate) {
  const auto best = static_cast<std::uint64_t>(*std::max_element(scores.begin(), scores.end()));
  for (;;) {
    const auto candidate = static_cast<std::size_t>(dice.below(scores.size()));
    // Unsigned subtraction wraps to the true gap even where a signed one would overflow.
    const std::uint64_t gap = best - static_cast<std::uint64_t>(scores[candidate]);
    if (gap == 0 || coin_exp(dice, Wide(gap) * rate.numerator, Wide(rate.denominator))) return candidate;
  }
}

/// The same, by default from the calling thread's secure stream. Throws std::invalid_argument for no scores
/// or a rate out of bounds.
std::size_t select_exponential(std::span<const std::int64_t> scores, Rational rate,
                               WordStream& words = secure_words());

}  // namespace pypgm
