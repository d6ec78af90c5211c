#pragma once
// Seeds of generators that run beside each other.
#include <cstdint>

#include "core/base/xoshiro.hpp"

namespace pypgm {

/// A seed for generator (a, b) of many that start from one seed; differs from all others as hashes do.
inline std::uint64_t stream_seed(std::uint64_t seed, std::uint64_t a, std::uint64_t b) {
  const std::uint64_t first = SplitMix(seed).next() + a;
  return SplitMix(SplitMix(first).next() + b).next();
}

}  // namespace pypgm
