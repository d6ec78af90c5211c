#pragma once
// Private selections on integer scores, drawn exactly.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <numeric>
#include <span>
#include <vector>

#include "core/base/watch.hpp"
#include "core/noise/exact_bernoulli.hpp"
#include "core/noise/noise.hpp"

namespace pypgm {

inline constexpr int kRateBits = 62;  // numerator and denominator of a selection's rate

/// One index with probability proportional to exp(rate * scores[i]): a uniform candidate is accepted with
/// probability exp(-rate (max - scores[i])), else another one is drawn (permute-and-flip with replacement).
/// Requires scores not empty, rate.numerator and rate.denominator in [1, 2^62). A gap is below 2^64, so the
/// exponent's numerator is below 2^126. At most scores.size() candidates are expected.
template <class Dice>
std::size_t select_exponential(Dice& dice, std::span<const std::int64_t> scores, Rational rate) {
  const auto best = static_cast<std::uint64_t>(*std::max_element(scores.begin(), scores.end()));
  for (;;) {
    leave_if_abandoned();
    const auto candidate = static_cast<std::size_t>(dice.below(scores.size()));
    // Unsigned subtraction wraps to the true gap even where a signed one would overflow.
    const std::uint64_t gap = best - static_cast<std::uint64_t>(scores[candidate]);
    if (gap == 0 || coin_exp(dice, Wide(gap) * rate.numerator, Wide(rate.denominator))) return candidate;
  }
}

/// `count` different indices: each by an exponential mechanism over the candidates not chosen yet.
/// Requires 1 <= count <= scores.size(), otherwise as `select_exponential`.
template <class Dice>
std::vector<std::size_t> select_top(Dice& dice, std::span<const std::int64_t> scores, Rational rate,
                                    std::size_t count) {
  std::vector<std::size_t> left(scores.size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  std::vector<std::int64_t> left_scores(scores.begin(), scores.end());
  std::vector<std::size_t> chosen(count);
  for (std::size_t& index : chosen) {
    const std::size_t at = select_exponential(dice, std::span<const std::int64_t>(left_scores), rate);
    index = left[at];
    left.erase(left.begin() + static_cast<std::ptrdiff_t>(at));
    left_scores.erase(left_scores.begin() + static_cast<std::ptrdiff_t>(at));
  }
  return chosen;
}

/// One index: candidates in uniformly random order, the first that passes a coin of probability
/// exp(-rate (max - scores[i])). Requirements as `select_exponential`; at most scores.size() coins.
template <class Dice>
std::size_t permute_and_flip(Dice& dice, std::span<const std::int64_t> scores, Rational rate) {
  const auto best = static_cast<std::uint64_t>(*std::max_element(scores.begin(), scores.end()));
  std::vector<std::size_t> left(scores.size());
  std::iota(left.begin(), left.end(), std::size_t{0});
  for (;;) {
    leave_if_abandoned();
    const auto at = static_cast<std::size_t>(dice.below(left.size()));
    const std::size_t candidate = left[at];
    const std::uint64_t gap = best - static_cast<std::uint64_t>(scores[candidate]);
    // A best candidate passes for certain, so the list never runs out.
    if (gap == 0 || coin_exp(dice, Wide(gap) * rate.numerator, Wide(rate.denominator))) return candidate;
    left[at] = left.back();
    left.pop_back();
  }
}

/// The same three, by default from the calling thread's secure stream. They throw std::invalid_argument for
/// no scores, a rate out of bounds or a count of 0 or above the number of scores.
std::size_t select_exponential(std::span<const std::int64_t> scores, Rational rate,
                               WordStream& words = secure_words());
std::vector<std::size_t> select_top(std::span<const std::int64_t> scores, Rational rate, std::size_t count,
                                    WordStream& words = secure_words());
std::size_t permute_and_flip(std::span<const std::int64_t> scores, Rational rate,
                             WordStream& words = secure_words());

}  // namespace pypgm
