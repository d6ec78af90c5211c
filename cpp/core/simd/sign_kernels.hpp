#pragma once
// Inner loop of sums of products of signs: exclusive or of bits, and how many are set.
#include <cstddef>
#include <cstdint>

namespace pypgm {

/// Words, of 64 records each, that are worked on together: 16-bit parts of a word hold the bits of so many.
inline constexpr std::size_t kSignBlock = 64;

/// Loops compiled for each instruction set; integers throughout, so the sets give the same numbers.
struct SignKernels {
  /// The bits set in the exclusive or of rows set[0 .. order), of which row r starts at words + r * stride.
  /// size <= kSignBlock, order >= 1.
  std::int64_t (*count_odd)(const std::uint64_t* words, std::size_t stride, const std::uint16_t* set,
                            std::size_t order, std::size_t size);
};

/// The set for the fastest instruction set of this machine.
const SignKernels& sign_kernels();

}  // namespace pypgm
