#pragma once
// Stand-ins for the secure stream: words read from a script, and coins whose every outcome is followed.
#include <algorithm>
#include <cmath>
#include <cstdint>
#include <map>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/exact_bernoulli.hpp"

namespace pypgm::test {

/// Hands out the words of a list and fails when it is exhausted.
class ScriptedWords {
 public:
  explicit ScriptedWords(std::vector<std::uint64_t> words) : words_(std::move(words)) {}
  std::uint64_t next() {
    if (used_ == words_.size()) throw std::out_of_range("the script has no more words");
    return words_[used_++];
  }
  std::size_t used() const { return used_; }

 private:
  std::vector<std::uint64_t> words_;
  std::size_t used_ = 0;
};

/// A small, fast, insecure source for tests that need many reproducible words (splitmix64).
class TestWords {
 public:
  explicit TestWords(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = (state_ += 0x9e3779b97f4a7c15);
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
    z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

/// Dice that replay a path of outcomes and, beyond it, take the first outcome and note what else there was.
/// `enumerate` walks the whole tree that way, so each leaf's exact probability is known.
class PathDice {
 public:
  struct Abandoned {};

  PathDice(std::vector<std::uint64_t>& path, std::vector<std::uint64_t>& sizes, double least)
      : path_(path), sizes_(sizes), least_(least) {}

  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t outcome = step(n);
    multiply_probability(1.0 / static_cast<double>(n));
    return outcome;
  }

  bool one_in(std::uint64_t n) {
    const bool success = step(2) == 0;
    const double chance = 1.0 / static_cast<double>(n);
    multiply_probability(success ? chance : 1.0 - chance);
    return success;
  }

  bool coin(const Fraction& p, std::uint64_t k) {
    const bool success = step(2) == 0;
    const double chance = to_double(p.numerator) / to_double(p.denominator) / static_cast<double>(k);
    multiply_probability(success ? chance : 1.0 - chance);
    return success;
  }

  double probability() const { return probability_; }

  static double to_double(const Wide& value) {
    const int shift = std::max(0, value.bit_width() - 64);
    return std::ldexp(static_cast<double>(value.word_at(shift)), shift);
  }

 private:
  std::uint64_t step(std::uint64_t n) {
    if (depth_ == path_.size()) {
      path_.push_back(0);
      sizes_.push_back(n);
    }
    return path_[depth_++];
  }

  // A branch too unlikely to matter is left; what is left out is bounded by one minus the sum over the
  // leaves.
  void multiply_probability(double factor) {
    probability_ *= factor;
    if (probability_ < least_) throw Abandoned{};
  }

  std::vector<std::uint64_t>& path_;
  std::vector<std::uint64_t>& sizes_;
  double least_;
  std::size_t depth_ = 0;
  double probability_ = 1.0;
};

/// Probability of each result of `draw(dice)` over all branches of probability at least `least`: a lower
/// bound of the true one, too small by at most 1 - (their sum).
template <class Draw>
std::map<std::int64_t, double> enumerate(const Draw& draw, double least) {
  std::map<std::int64_t, double> law;
  std::vector<std::uint64_t> path;
  std::vector<std::uint64_t> sizes;
  for (;;) {
    PathDice dice(path, sizes, least);
    try {
      const auto result = static_cast<std::int64_t>(draw(dice));
      law[result] += dice.probability();
    } catch (const PathDice::Abandoned&) {
    }
    while (!path.empty() && path.back() + 1 == sizes.back()) {
      path.pop_back();
      sizes.pop_back();
    }
    if (path.empty()) return law;
    ++path.back();
  }
}

}  // namespace pypgm::test
