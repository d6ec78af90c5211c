#include "core/selection.hpp"

#include <stdexcept>

namespace pypgm {

std::size_t select_exponential(std::span<const std::int64_t> scores, Rational rate, WordStream& words) {
  if (scores.empty()) throw std::invalid_argument("a selection needs at least one candidate");
  constexpr std::uint64_t kLimit = std::uint64_t{1} << kRateBits;
  if (rate.numerator < 1 || rate.numerator >= kLimit || rate.denominator < 1 || rate.denominator >= kLimit) {
    throw std::invalid_argument("the rate of a selection must be a positive rational on integers below 2^62");
  }
  Dice<WordStream> dice(words);
  return select_exponential(dice, scores, rate);
}

}  // namespace pypgm
