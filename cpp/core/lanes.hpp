#pragma once
// Eight numbers at a time, for the loops of the kernels alone: they are compiled once for each instruction
// set, so nothing here may have external linkage.
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#if defined(__GNUC__) && defined(__AVX2__)
#include <immintrin.h>
#endif

namespace pypgm {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr std::size_t kLanes = 8;

#if defined(__GNUC__)

using Lanes = double __attribute__((vector_size(64)));
using Bits = std::int64_t __attribute__((vector_size(64)));

inline Lanes fill(double x) { return Lanes{x, x, x, x, x, x, x, x}; }
inline Bits bits(Lanes x) { return reinterpret_cast<Bits>(x); }
inline Lanes numbers(Bits x) { return reinterpret_cast<Lanes>(x); }
inline Lanes larger(Lanes a, Lanes b) { return b > a ? b : a; }
/// b where it is above -inf and smaller than a.
inline Lanes smaller_finite(Lanes a, Lanes b) {
  const Lanes finite = b == fill(-kInfinity) ? fill(kInfinity) : b;
  return finite < a ? finite : a;
}
/// b where it is positive and smaller than a.
inline Lanes smaller_positive(Lanes a, Lanes b) {
  const Lanes positive = b > fill(0.0) ? b : fill(kInfinity);
  return positive < a ? positive : a;
}
inline Lanes zero_below(Lanes x, double limit, Lanes value) { return x < fill(limit) ? fill(0.0) : value; }
inline Lanes absolute(Lanes x) { return numbers(bits(x) & std::numeric_limits<std::int64_t>::max()); }
inline Bits shift_left(Bits x, int n) { return x << n; }

/// The first, and the last, four lanes, each twice.
inline Lanes twice_low(Lanes x) { return __builtin_shufflevector(x, x, 0, 0, 1, 1, 2, 2, 3, 3); }
inline Lanes twice_high(Lanes x) { return __builtin_shufflevector(x, x, 4, 4, 5, 5, 6, 6, 7, 7); }

/// The lanes of a mask, 0 elsewhere.
inline Lanes first_lanes(Lanes x, Bits mask) { return numbers(bits(x) & mask); }

/// Lane r: the sum of the lanes of rows[r], added in the order of sum_lanes.
inline Lanes sum_each(const Lanes* rows) {
  Lanes pairs[4];
  for (std::size_t k = 0; k < 4; ++k) {
    pairs[k] = __builtin_shufflevector(rows[2 * k], rows[2 * k + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
               __builtin_shufflevector(rows[2 * k], rows[2 * k + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  Lanes fours[2];
  for (std::size_t k = 0; k < 2; ++k) {
    fours[k] = __builtin_shufflevector(pairs[2 * k], pairs[2 * k + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
               __builtin_shufflevector(pairs[2 * k], pairs[2 * k + 1], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  return __builtin_shufflevector(fours[0], fours[1], 0, 1, 2, 3, 8, 9, 10, 11) +
         __builtin_shufflevector(fours[0], fours[1], 4, 5, 6, 7, 12, 13, 14, 15);
}

#else

struct Lanes {
  double v[kLanes];
  double& operator[](std::size_t i) { return v[i]; }
  double operator[](std::size_t i) const { return v[i]; }
};
struct Bits {
  std::int64_t v[kLanes];
  std::int64_t& operator[](std::size_t i) { return v[i]; }
  std::int64_t operator[](std::size_t i) const { return v[i]; }
};

template <class Op>
inline Lanes each(Op op) {
  Lanes out;
  for (std::size_t i = 0; i < kLanes; ++i) out.v[i] = op(i);
  return out;
}

inline Lanes fill(double x) {
  return each([=](std::size_t) { return x; });
}
inline Lanes operator+(Lanes a, Lanes b) {
  return each([&](std::size_t i) { return a[i] + b[i]; });
}
inline Lanes operator-(Lanes a, Lanes b) {
  return each([&](std::size_t i) { return a[i] - b[i]; });
}
inline Lanes operator*(Lanes a, Lanes b) {
  return each([&](std::size_t i) { return a[i] * b[i]; });
}
inline Bits bits(Lanes x) { return std::bit_cast<Bits>(x); }
inline Lanes numbers(Bits x) { return std::bit_cast<Lanes>(x); }
inline Lanes larger(Lanes a, Lanes b) {
  return each([&](std::size_t i) { return b[i] > a[i] ? b[i] : a[i]; });
}
inline Lanes smaller_finite(Lanes a, Lanes b) {
  return each([&](std::size_t i) { return b[i] != -kInfinity && b[i] < a[i] ? b[i] : a[i]; });
}
inline Lanes smaller_positive(Lanes a, Lanes b) {
  return each([&](std::size_t i) { return b[i] > 0 && b[i] < a[i] ? b[i] : a[i]; });
}
inline Lanes zero_below(Lanes x, double limit, Lanes value) {
  return each([&](std::size_t i) { return x[i] < limit ? 0.0 : value[i]; });
}
inline Lanes absolute(Lanes x) {
  return each([&](std::size_t i) { return x[i] < 0 ? -x[i] : x[i]; });
}
inline Bits shift_left(Bits x, int n) {
  for (std::size_t i = 0; i < kLanes; ++i)
    x.v[i] = static_cast<std::int64_t>(static_cast<std::uint64_t>(x.v[i]) << n);
  return x;
}
inline Lanes twice_low(Lanes x) {
  return each([&](std::size_t i) { return x[i / 2]; });
}
inline Lanes twice_high(Lanes x) {
  return each([&](std::size_t i) { return x[4 + i / 2]; });
}
inline Lanes first_lanes(Lanes x, Bits mask) {
  Bits b = bits(x);
  for (std::size_t i = 0; i < kLanes; ++i) b.v[i] &= mask.v[i];
  return numbers(b);
}
inline Lanes sum_each(const Lanes* rows) {
  return each([&](std::size_t r) {
    const Lanes& x = rows[r];
    return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7]));
  });
}

#endif

inline Lanes load(const double* p) {
  Lanes x;
  std::memcpy(&x, p, sizeof x);
  return x;
}

inline void store(double* p, Lanes x) { std::memcpy(p, &x, sizeof x); }

#if defined(__GNUC__) && defined(__AVX2__) && !defined(__AVX512F__)
/// For the first n < 8 of four lanes from the given one on: all bits where they are among these.
inline __m256i among_first(std::size_t n, std::size_t from) {
  alignas(64) static constexpr std::int64_t kOnes[16] = {-1, -1, -1, -1, -1, -1, -1, -1};
  return _mm256_loadu_si256(reinterpret_cast<const __m256i*>(kOnes + 8 - n + from));
}
#endif

/// The first n < 8 numbers at p, `rest` behind them; reads no more than those. Masks, as a loop over them
/// would cost more than all the full lanes of a row.
inline Lanes load_some(const double* p, std::size_t n, double rest) {
#if defined(__GNUC__) && defined(__AVX512F__)
  return _mm512_mask_loadu_pd(fill(rest), static_cast<__mmask8>((1U << n) - 1U), p);
#elif defined(__GNUC__) && defined(__AVX2__)
  const auto half = [&](std::size_t from) {
    const __m256i mask = among_first(n, from);
    return _mm256_blendv_pd(_mm256_set1_pd(rest), _mm256_maskload_pd(p + from, mask),
                            _mm256_castsi256_pd(mask));
  };
  return __builtin_shufflevector(half(0), half(4), 0, 1, 2, 3, 4, 5, 6, 7);
#else
  Lanes x = fill(rest);
  for (std::size_t i = 0; i < n; ++i) x[i] = p[i];
  return x;
#endif
}

inline void store_some(double* p, std::size_t n, Lanes x) {
#if defined(__GNUC__) && defined(__AVX512F__)
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1U << n) - 1U), x);
#elif defined(__GNUC__) && defined(__AVX2__)
  _mm256_maskstore_pd(p, among_first(n, 0), __builtin_shufflevector(x, x, 0, 1, 2, 3));
  _mm256_maskstore_pd(p + 4, among_first(n, 4), __builtin_shufflevector(x, x, 4, 5, 6, 7));
#else
  for (std::size_t i = 0; i < n; ++i) p[i] = x[i];
#endif
}

inline double sum_lanes(Lanes x) { return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7])); }

inline double largest_lane(Lanes x) {
  double result = x[0];
  for (std::size_t l = 1; l < kLanes; ++l) result = x[l] > result ? x[l] : result;
  return result;
}

inline double smallest_lane(Lanes x) {
  double result = x[0];
  for (std::size_t l = 1; l < kLanes; ++l) result = x[l] < result ? x[l] : result;
  return result;
}

/// A mask of the lanes [begin, end).
inline Bits lanes_between(std::size_t begin, std::size_t end) {
  Bits mask{};
  for (std::size_t i = 0; i < kLanes; ++i) mask[i] = i >= begin && i < end ? -1 : 0;
  return mask;
}

/// exp(x) for x <= 709, 0 below -708 (where results leave the normal range); NaN stays. x = n ln 2 + r, a
/// polynomial for exp(r), and 2^n put together from its exponent.
inline Lanes exp_lanes(Lanes x) {
  constexpr double kLog2e = 1.4426950408889634074;
  constexpr double kLn2High = 6.93147180369123816490e-01;
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  // Adding 1.5 * 2^52 rounds to an integer; with the 1023, the low bits are the exponent of 2^n at once.
  constexpr double kRound = 6755399441055744.0 + 1023.0;
  const Lanes shifted = x * fill(kLog2e) + fill(kRound);
  const Lanes n = shifted - fill(kRound);
  const Lanes r = (x - n * fill(kLn2High)) - n * fill(kLn2Low);
  // The polynomial of degree 11 with the least relative error, 3.1e-18, for |r| <= ln(2)/2.
  Lanes p = fill(2.499431505732594e-08) * r + fill(2.7632308621611045e-07);
  p = p * r + fill(2.755762257459199e-06);
  p = p * r + fill(2.4801486480130036e-05);
  p = p * r + fill(0.00019841269432538557);
  p = p * r + fill(0.0013888888951262375);
  p = p * r + fill(0.008333333333559387);
  p = p * r + fill(0.04166666666649262);
  p = p * r + fill(0.1666666666666617);
  p = p * r + fill(0.5000000000000018);
  p = p * r + fill(1.0);
  p = p * r + fill(1.0);
  return zero_below(x, -708.0, p * numbers(shift_left(bits(shifted), 52)));
}

}  // namespace

}  // namespace pypgm
