// Checks the parameters of noise, and adds it to counts on one or several threads.
#include "core/noise/noise.hpp"

#include <algorithm>
#include <cmath>
#include <string>

#include "core/base/threads.hpp"
#include "core/base/watch.hpp"

namespace pypgm {

namespace {

void check(const char* what, Rational value, int bits) {
  const std::uint64_t limit = std::uint64_t{1} << bits;
  if (value.numerator < 1 || value.numerator >= limit || value.denominator < 1 ||
      value.denominator >= limit) {
    throw std::invalid_argument(std::string(what) +
                                " must be a positive rational with numerator and denominator below 2^" +
                                std::to_string(bits) + ", got " + std::to_string(value.numerator) + "/" +
                                std::to_string(value.denominator));
  }
}

Rational checked_scale(Rational scale) {
  check("the scale of discrete Laplace noise", scale, kScaleBits);
  return scale;
}

/// floor(sqrt(n / d)) = floor(sqrt(floor(n / d))).
std::uint64_t floor_sqrt(Rational variance) {
  const std::uint64_t whole = variance.numerator / variance.denominator;
  auto root = static_cast<std::uint64_t>(std::sqrt(static_cast<double>(whole)));
  while (root * root > whole) --root;
  while ((root + 1) * (root + 1) <= whole) ++root;
  return root;
}

std::uint64_t laplace_scale(Rational variance) {
  check("the variance of discrete Gaussian noise", variance, kVarianceBits);
  return floor_sqrt(variance) + 1;
}

template <class Law>
void add(std::span<std::int64_t> counts, const Law& law, WordStream& words) {
  Dice<WordStream> dice(words);
  const Watch* const watch = thread_watch;
  for (std::int64_t& count : counts) {
    leave_if_abandoned(watch);
    count = saturating_add(count, law(dice));
  }
}

constexpr std::size_t kChunk = 4096;  // draws a thread makes at a time, about a millisecond

template <class Law>
void add_in_parallel(std::span<std::int64_t> counts, const Law& law, int n_threads) {
  const std::size_t chunks = (counts.size() + kChunk - 1) / kChunk;
  parallel_for(chunks, threads_for(counts.size() * kDrawWork, n_threads), [&](std::size_t i) {
    const std::size_t first = i * kChunk;
    add(counts.subspan(first, std::min(kChunk, counts.size() - first)), law, secure_words());
  });
}

}  // namespace

DiscreteLaplace::DiscreteLaplace(Rational scale)
    : t_(checked_scale(scale).numerator),
      s_(scale.denominator),
      denominator_(make_fraction(Wide(0), Wide(t_))),
      shift_(Fraction::kBits - denominator_.denominator.bit_width()) {}

DiscreteGaussian::DiscreteGaussian(Rational variance)
    : laplace_({laplace_scale(variance), 1}),
      n_(variance.numerator),
      d_t_(variance.denominator * laplace_scale(variance)),
      denominator_(make_fraction(Wide(0), Wide(variance.numerator) * 2 * d_t_ * laplace_scale(variance))) {}

void add_discrete_laplace(std::span<std::int64_t> counts, Rational scale, WordStream& words) {
  add(counts, DiscreteLaplace(scale), words);
}

void add_discrete_gaussian(std::span<std::int64_t> counts, Rational variance, WordStream& words) {
  add(counts, DiscreteGaussian(variance), words);
}

void add_discrete_laplace(std::span<std::int64_t> counts, Rational scale, int n_threads) {
  add_in_parallel(counts, DiscreteLaplace(scale), n_threads);
}

void add_discrete_gaussian(std::span<std::int64_t> counts, Rational variance, int n_threads) {
  add_in_parallel(counts, DiscreteGaussian(variance), n_threads);
}

void flip_coins(std::span<std::uint8_t> out, Rational rate, WordStream& words) {
  check("the rate of a sample", rate, kScaleBits);
  if (rate.numerator > rate.denominator) {
    throw std::invalid_argument("the rate of a sample must be at most 1");
  }
  Dice<WordStream> dice(words);
  const Watch* const watch = thread_watch;
  for (std::uint8_t& coin : out) {
    leave_if_abandoned(watch);
    coin = dice.below(rate.denominator) < rate.numerator ? 1 : 0;
  }
}

}  // namespace pypgm
