#pragma once
// Unsigned integers of a fixed 320 bits: enough for the exact samplers, which prove their own bounds.
#include <array>
#include <bit>
#include <cassert>
#include <compare>
#include <cstddef>
#include <cstdint>

#if defined(_MSC_VER) && !defined(__SIZEOF_INT128__)
#include <intrin.h>
#endif

namespace pypgm {

/// A 128-bit product.
struct Product {
  std::uint64_t high;
  std::uint64_t low;
};

/// The portable twin of `multiply`, always compiled so that tests can compare the two.
constexpr Product multiply_portable(std::uint64_t a, std::uint64_t b) {
  const std::uint64_t a0 = a & 0xffffffff, a1 = a >> 32, b0 = b & 0xffffffff, b1 = b >> 32;
  const std::uint64_t low = a0 * b0;
  // Each sum is at most (2^32 - 1)^2 + 2 (2^32 - 1) = 2^64 - 1.
  const std::uint64_t middle = a1 * b0 + (low >> 32);
  const std::uint64_t other = a0 * b1 + (middle & 0xffffffff);
  return {a1 * b1 + (middle >> 32) + (other >> 32), (other << 32) | (low & 0xffffffff)};
}

/// a * b, exactly.
inline Product multiply(std::uint64_t a, std::uint64_t b) {
#if defined(__SIZEOF_INT128__)
  __extension__ using Wide128 = unsigned __int128;
  const Wide128 product = static_cast<Wide128>(a) * b;
  return {static_cast<std::uint64_t>(product >> 64), static_cast<std::uint64_t>(product)};
#elif defined(_MSC_VER) && defined(_M_X64)
  Product product;
  product.low = _umul128(a, b, &product.high);
  return product;
#else
  return multiply_portable(a, b);
#endif
}

/// An unsigned integer below 2^320. Overflow is a broken precondition: callers state why it cannot happen.
class Wide {
 public:
  static constexpr std::size_t kLimbs = 5;

  constexpr Wide() = default;
  constexpr Wide(std::uint64_t value) : limbs_{value} {}  // implicit: a small number is a wide one

  /// The bits from `shift` on, as one word (the caller knows that no bit above the word is set).
  std::uint64_t word_at(int shift) const {
    const auto limb = static_cast<std::size_t>(shift / 64);
    const int bits = shift % 64;
    if (limb >= kLimbs) return 0;
    const std::uint64_t low = limbs_[limb] >> bits;
    return bits == 0 || limb + 1 == kLimbs ? low : low | limbs_[limb + 1] << (64 - bits);
  }

  /// Number of bits up to the highest one set; 0 for 0.
  int bit_width() const {
    for (std::size_t i = kLimbs; i-- > 0;) {
      if (limbs_[i] != 0) return static_cast<int>(64 * i) + static_cast<int>(std::bit_width(limbs_[i]));
    }
    return 0;
  }

  bool is_zero() const { return bit_width() == 0; }

  std::strong_ordering operator<=>(const Wide& other) const {
    for (std::size_t i = kLimbs; i-- > 0;) {
      if (limbs_[i] != other.limbs_[i]) return limbs_[i] <=> other.limbs_[i];
    }
    return std::strong_ordering::equal;
  }
  bool operator==(const Wide& other) const = default;

  /// Requires *this >= other.
  Wide& operator-=(const Wide& other) {
    std::uint64_t borrow = 0;
    for (std::size_t i = 0; i < kLimbs; ++i) {
      const std::uint64_t without = limbs_[i] - other.limbs_[i];
      const std::uint64_t next = (limbs_[i] < other.limbs_[i]) | (without < borrow);
      limbs_[i] = without - borrow;
      borrow = next;
    }
    assert(borrow == 0);
    return *this;
  }

  /// Requires *this < 2^256.
  Wide times_two_to_the_64() const {
    assert(limbs_[kLimbs - 1] == 0);
    Wide result;
    for (std::size_t i = 1; i < kLimbs; ++i) result.limbs_[i] = limbs_[i - 1];
    return result;
  }

  /// Requires the product to fit.
  friend Wide operator*(const Wide& a, std::uint64_t b) {
    Wide result;
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < kLimbs; ++i) {
      const Product product = multiply(a.limbs_[i], b);
      result.limbs_[i] = product.low + carry;
      carry = product.high + (result.limbs_[i] < carry);
    }
    assert(carry == 0);
    return result;
  }

  /// The square; requires *this < 2^128.
  Wide squared() const {
    assert(bit_width() <= 128);
    Wide result = *this * limbs_[0];
    Wide upper = (*this * limbs_[1]).times_two_to_the_64();
    std::uint64_t carry = 0;
    for (std::size_t i = 0; i < kLimbs; ++i) {
      const std::uint64_t sum = result.limbs_[i] + upper.limbs_[i];
      const std::uint64_t next = sum < upper.limbs_[i];
      result.limbs_[i] = sum + carry;
      carry = next | static_cast<std::uint64_t>(result.limbs_[i] < carry);
    }
    return result;
  }

 private:
  std::array<std::uint64_t, kLimbs> limbs_{};  // least significant first
};

}  // namespace pypgm
