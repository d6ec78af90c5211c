#pragma once
// The samplers under scripted randomness: every branch they can take, with its probability, for tests and
// audits. Nothing here draws.
#include <cmath>
#include <cstdint>
#include <map>
#include <span>
#include <stdexcept>
#include <utility>
#include <vector>

#include "core/base/watch.hpp"
#include "core/noise/exact_bernoulli.hpp"
#include "core/noise/noise.hpp"
#include "core/noise/selection.hpp"

namespace pypgm {

/// Hands out the words of a list; throws std::out_of_range when it is exhausted.
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

/// Coins whose outcomes are scripted and whose odds are recorded: coin i came up with probability
/// odds()[i].numerator / odds()[i].denominator. Throws std::out_of_range at the first coin beyond the
/// script, after recording its odds. Requires odds that fit 64 bits.
class ScriptedCoins {
 public:
  explicit ScriptedCoins(std::span<const std::uint8_t> outcomes) : outcomes_(outcomes) {}

  bool one_in(std::uint64_t n) { return flip({1, n}); }
  bool coin(const Fraction& p, std::uint64_t k) {
    if (p.denominator.bit_width() > 48 || k > 65535) throw std::overflow_error("odds beyond 64 bits");
    return flip({p.numerator.word_at(0), p.denominator.word_at(0) * k});
  }
  std::span<const Rational> odds() const { return odds_; }

 private:
  bool flip(Rational odds) {
    odds_.push_back(odds);
    if (odds_.size() > outcomes_.size()) throw std::out_of_range("the script has no more coins");
    return outcomes_[odds_.size() - 1] != 0;
  }

  std::span<const std::uint8_t> outcomes_;
  std::vector<Rational> odds_;
};

/// Dice that replay a path of outcomes, take the first outcome at every step beyond it, and record how many
/// outcomes each step had.
class BranchingDice {
 public:
  struct Abandoned {};

  BranchingDice(std::vector<std::uint64_t>& path, std::vector<std::uint64_t>& sizes, double least)
      : path_(path), sizes_(sizes), least_(least) {}

  std::uint64_t below(std::uint64_t n) {
    const std::uint64_t outcome = step(n);
    take(1.0 / static_cast<double>(n));
    return outcome;
  }
  bool one_in(std::uint64_t n) { return flip(1.0 / static_cast<double>(n)); }
  bool coin(const Fraction& p, std::uint64_t k) { return flip(ratio(p) / static_cast<double>(k)); }
  bool flip(double chance) {
    const bool success = step(2) == 0;
    take(success ? chance : 1.0 - chance);
    return success;
  }
  double probability() const { return probability_; }

  static double ratio(const Fraction& p) { return to_double(p.numerator) / to_double(p.denominator); }

 private:
  static double to_double(const Wide& value) {
    const int shift = value.bit_width() > 64 ? value.bit_width() - 64 : 0;
    return std::ldexp(static_cast<double>(value.word_at(shift)), shift);
  }

  std::uint64_t step(std::uint64_t n) {
    if (depth_ == path_.size()) {
      path_.push_back(0);
      sizes_.push_back(n);
    }
    return path_[depth_++];
  }

  // Branches below the threshold are abandoned; one minus the sum over the leaves bounds their probability.
  void take(double chance) {
    probability_ *= chance;
    if (probability_ < least_) throw Abandoned{};
  }

  std::vector<std::uint64_t>& path_;
  std::vector<std::uint64_t>& sizes_;
  double least_;
  std::size_t depth_ = 0;
  double probability_ = 1.0;
};

/// Branching dice for which an exponential coin (checked by itself with ScriptedCoins) is a single step.
class ExponentialDice : public BranchingDice {
 public:
  using BranchingDice::BranchingDice;
};

template <>
inline bool coin_exp_one<ExponentialDice>(ExponentialDice& dice) {
  return dice.flip(std::exp(-1.0));
}

template <>
inline bool coin_exp_below_one<ExponentialDice>(ExponentialDice& dice, const Fraction& p) {
  return dice.flip(std::exp(-BranchingDice::ratio(p)));
}

/// The probability of each result of `draw(dice)`, summed over all branches of probability at least `least`:
/// a lower bound of the true one (up to rounding, 1e-13 of it), too small by at most one minus their sum.
template <class Dice, class Draw>
std::map<std::int64_t, double> enumerate_law(const Draw& draw, double least) {
  std::map<std::int64_t, double> law;
  std::vector<std::uint64_t> path;
  std::vector<std::uint64_t> sizes;
  for (;;) {
    leave_if_abandoned();
    Dice dice(path, sizes, least);
    try {
      const auto result = static_cast<std::int64_t>(draw(dice));
      law[result] += dice.probability();
    } catch (const BranchingDice::Abandoned&) {
    }
    while (!path.empty() && path.back() + 1 == sizes.back()) {
      path.pop_back();
      sizes.pop_back();
    }
    if (path.empty()) return law;
    ++path.back();
  }
}

}  // namespace pypgm
