// Products of signs as bits, compiled once for each instruction set (see kernels.cpp).
#include "core/simd/sign_kernels.hpp"

#include <algorithm>

#include "core/simd/kernel_set.hpp"

namespace pypgm {

namespace {

/// The bits set in each 16-bit part of a word.
inline std::uint64_t bits_of_parts(std::uint64_t x) {
  x -= (x >> 1) & 0x5555555555555555U;
  x = (x & 0x3333333333333333U) + ((x >> 2) & 0x3333333333333333U);
  x = (x + (x >> 4)) & 0x0f0f0f0f0f0f0f0fU;
  return (x + (x >> 8)) & 0x00ff00ff00ff00ffU;
}

std::int64_t count_odd(const std::uint64_t* words, std::size_t stride, const std::uint16_t* set,
                       std::size_t order, std::size_t size) {
  std::uint64_t product[kSignBlock];
  std::copy(words + set[0] * stride, words + set[0] * stride + size, product);
  for (std::size_t i = 1; i < order; ++i) {
    const std::uint64_t* row = words + set[i] * stride;
    for (std::size_t w = 0; w < size; ++w) product[w] ^= row[w];
  }
  std::uint64_t parts = 0;  // each at most 16 * kSignBlock, below 2^16
  for (std::size_t w = 0; w < size; ++w) parts += bits_of_parts(product[w]);
  std::uint64_t total = 0;
  for (; parts != 0; parts >>= 16) total += parts & 0xffffU;
  return static_cast<std::int64_t>(total);
}

}  // namespace

PYPGM_KERNEL_SET(SignKernels, sign_kernels) = {count_odd};

}  // namespace pypgm
