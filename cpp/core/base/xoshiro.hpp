#pragma once
// The generator of post-processing (synthetic records, sampled assignments): fast, not secure.
#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>

#include "core/base/watch.hpp"

namespace pypgm {

/// SplitMix64 of Steele, Lea and Flood (OOPSLA 2014).
class SplitMix {
 public:
  explicit SplitMix(std::uint64_t seed) : state_(seed) {}
  std::uint64_t next() {
    std::uint64_t z = state_ += 0x9e3779b97f4a7c15U;
    z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9U;
    z = (z ^ (z >> 27)) * 0x94d049bb133111ebU;
    return z ^ (z >> 31);
  }

 private:
  std::uint64_t state_;
};

/// xoshiro256++ 1.0 of Blackman and Vigna (ACM TOMS 47, 2021), its state filled by SplitMix64: a small fast
/// generator for post-processing. Never for release noise: its state can be computed from its output.
class Xoshiro {
 public:
  explicit Xoshiro(std::uint64_t seed) {
    SplitMix words(seed);
    for (std::uint64_t& word : state_) word = words.next();
  }

  /// 64 random bits.
  std::uint64_t bits() {
    const std::uint64_t result = std::rotl(state_[0] + state_[3], 23) + state_[0];
    const std::uint64_t shifted = state_[1] << 17;
    state_[2] ^= state_[0];
    state_[3] ^= state_[1];
    state_[1] ^= state_[2];
    state_[0] ^= state_[3];
    state_[2] ^= shifted;
    state_[3] = std::rotl(state_[3], 45);
    return result;
  }

  /// A double in [0, 1), a multiple of 2^-53.
  double uniform() { return static_cast<double>(bits() >> 11) * 0x1p-53; }

  /// An integer in [0, n), each equally likely (multiply and reject, Lemire 2019). Requires n >= 1.
  std::uint32_t below(std::uint32_t n) {
    assert(n >= 1);
    std::uint64_t product = (bits() >> 32) * n;
    if (static_cast<std::uint32_t>(product) < n) {
      const std::uint32_t refused = (0U - n) % n;
      while (static_cast<std::uint32_t>(product) < refused) product = (bits() >> 32) * n;
    }
    return static_cast<std::uint32_t>(product >> 32);
  }

 private:
  std::array<std::uint64_t, 4> state_{};
};

/// Permutes values uniformly at random (Fisher and Yates). Requires fewer than 2^32 values.
template <class T>
void shuffle(std::span<T> values, Xoshiro& random) {
  constexpr std::size_t kBetweenLooks = 4096;
  for (std::size_t left = values.size(); left > 1; --left) {
    if (left % kBetweenLooks == 0) leave_if_abandoned();
    std::swap(values[left - 1], values[random.below(static_cast<std::uint32_t>(left))]);
  }
}

}  // namespace pypgm
