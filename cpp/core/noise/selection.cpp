// Checks the parameters of selections and runs them on a stream of words.
#include "core/noise/selection.hpp"

#include <stdexcept>

namespace pypgm {

namespace {

void check(std::span<const std::int64_t> scores, Rational rate) {
  if (scores.empty()) throw std::invalid_argument("a selection needs at least one candidate");
  constexpr std::uint64_t kLimit = std::uint64_t{1} << kRateBits;
  if (rate.numerator < 1 || rate.numerator >= kLimit || rate.denominator < 1 || rate.denominator >= kLimit) {
    throw std::invalid_argument("the rate of a selection must be a positive rational on integers below 2^62");
  }
}

}  // namespace

std::size_t select_exponential(std::span<const std::int64_t> scores, Rational rate, WordStream& words) {
  check(scores, rate);
  Dice<WordStream> dice(words);
  return select_exponential(dice, scores, rate);
}

std::vector<std::size_t> select_top(std::span<const std::int64_t> scores, Rational rate, std::size_t count,
                                    WordStream& words) {
  check(scores, rate);
  if (count < 1 || count > scores.size()) {
    throw std::invalid_argument("a selection takes at least one and at most all candidates");
  }
  Dice<WordStream> dice(words);
  return select_top(dice, scores, rate, count);
}

std::size_t permute_and_flip(std::span<const std::int64_t> scores, Rational rate, WordStream& words) {
  check(scores, rate);
  Dice<WordStream> dice(words);
  return permute_and_flip(dice, scores, rate);
}

}  // namespace pypgm
