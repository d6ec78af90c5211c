#pragma once
// Eight doubles at a time: arithmetic, masked loads and stores, sums and exp over SIMD lanes. For kernels
// only: they are compiled for each instruction set, so nothing here may have external linkage.
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

// Eight lanes are one register, or nested pairs of registers: compilers keep a vector that is wider than a
// register in memory.

#if defined(__GNUC__) && defined(__AVX512F__)
constexpr std::size_t kPartLanes = 8;
#elif defined(__GNUC__) && defined(__AVX2__)
constexpr std::size_t kPartLanes = 4;
#elif defined(__GNUC__)
constexpr std::size_t kPartLanes = 2;
#else
constexpr std::size_t kPartLanes = 1;
#endif

#if defined(__GNUC__)

using Part = double __attribute__((vector_size(kPartLanes * sizeof(double))));
using PartBits = std::int64_t __attribute__((vector_size(kPartLanes * sizeof(double))));

inline PartBits bits(Part x) { return reinterpret_cast<PartBits>(x); }
inline Part numbers(PartBits x) { return reinterpret_cast<Part>(x); }
inline PartBits shift_left(PartBits x, int n) { return x << n; }
inline Part absolute(Part x) { return numbers(bits(x) & std::numeric_limits<std::int64_t>::max()); }

#else

using Part = double;
using PartBits = std::int64_t;

inline PartBits bits(Part x) { return std::bit_cast<PartBits>(x); }
inline Part numbers(PartBits x) { return std::bit_cast<Part>(x); }
inline PartBits shift_left(PartBits x, int n) {
  return static_cast<PartBits>(static_cast<std::uint64_t>(x) << n);
}
inline Part absolute(Part x) { return x < 0 ? -x : x; }

#endif

/// twice_low and twice_high repeat each lane of the first and of the last half. sum_each: lane r is the sum
/// of the lanes of rows[r], added in the order of sum_lanes.
#if defined(__GNUC__) && defined(__AVX512F__)
inline Part same(double x) { return Part{x, x, x, x, x, x, x, x}; }
inline double sum_lanes(Part x) { return ((x[0] + x[1]) + (x[2] + x[3])) + ((x[4] + x[5]) + (x[6] + x[7])); }
inline Part twice_low(Part x) { return __builtin_shufflevector(x, x, 0, 0, 1, 1, 2, 2, 3, 3); }
inline Part twice_high(Part x) { return __builtin_shufflevector(x, x, 4, 4, 5, 5, 6, 6, 7, 7); }
inline Part sum_each(const Part* rows) {
  Part pairs[4];
  for (std::size_t k = 0; k < 4; ++k) {
    pairs[k] = __builtin_shufflevector(rows[2 * k], rows[2 * k + 1], 0, 8, 2, 10, 4, 12, 6, 14) +
               __builtin_shufflevector(rows[2 * k], rows[2 * k + 1], 1, 9, 3, 11, 5, 13, 7, 15);
  }
  Part fours[2];
  for (std::size_t k = 0; k < 2; ++k) {
    fours[k] = __builtin_shufflevector(pairs[2 * k], pairs[2 * k + 1], 0, 1, 8, 9, 4, 5, 12, 13) +
               __builtin_shufflevector(pairs[2 * k], pairs[2 * k + 1], 2, 3, 10, 11, 6, 7, 14, 15);
  }
  return __builtin_shufflevector(fours[0], fours[1], 0, 1, 2, 3, 8, 9, 10, 11) +
         __builtin_shufflevector(fours[0], fours[1], 4, 5, 6, 7, 12, 13, 14, 15);
}
#elif defined(__GNUC__) && defined(__AVX2__)
inline Part same(double x) { return Part{x, x, x, x}; }
inline double sum_lanes(Part x) { return (x[0] + x[1]) + (x[2] + x[3]); }
inline Part twice_low(Part x) { return __builtin_shufflevector(x, x, 0, 0, 1, 1); }
inline Part twice_high(Part x) { return __builtin_shufflevector(x, x, 2, 2, 3, 3); }
inline Part sum_each(const Part* rows) {
  Part pairs[2];
  for (std::size_t k = 0; k < 2; ++k) {
    pairs[k] = __builtin_shufflevector(rows[2 * k], rows[2 * k + 1], 0, 4, 2, 6) +
               __builtin_shufflevector(rows[2 * k], rows[2 * k + 1], 1, 5, 3, 7);
  }
  return __builtin_shufflevector(pairs[0], pairs[1], 0, 1, 4, 5) +
         __builtin_shufflevector(pairs[0], pairs[1], 2, 3, 6, 7);
}
#elif defined(__GNUC__)
inline Part same(double x) { return Part{x, x}; }
inline double sum_lanes(Part x) { return x[0] + x[1]; }
inline Part twice_low(Part x) { return __builtin_shufflevector(x, x, 0, 0); }
inline Part twice_high(Part x) { return __builtin_shufflevector(x, x, 1, 1); }
inline Part sum_each(const Part* rows) {
  return __builtin_shufflevector(rows[0], rows[1], 0, 2) + __builtin_shufflevector(rows[0], rows[1], 1, 3);
}
#else
inline Part same(double x) { return x; }
inline double sum_lanes(Part x) { return x; }
inline Part twice_low(Part x) { return x; }
inline Part twice_high(Part x) { return x; }
inline Part sum_each(const Part* rows) { return rows[0]; }
#endif

inline Part larger(Part a, Part b) { return b > a ? b : a; }
/// min(a, b) where b > -inf, a elsewhere.
inline Part smaller_finite(Part a, Part b) {
  const Part finite = b == same(-kInfinity) ? same(kInfinity) : b;
  return finite < a ? finite : a;
}
/// min(a, b) where b > 0, a elsewhere.
inline Part smaller_positive(Part a, Part b) {
  const Part positive = b > same(0.0) ? b : same(kInfinity);
  return positive < a ? positive : a;
}
inline Part zero_below(Part x, double limit, Part value) { return x < same(limit) ? same(0.0) : value; }

inline void set(Part& x, double number) { x = same(number); }
template <class Number>
inline void read(Part& x, const Number* p) {
  std::memcpy(&x, p, sizeof x);
}
template <class Number>
inline void read(PartBits& x, const Number* p) {
  std::memcpy(&x, p, sizeof x);
}
inline void store(double* p, Part x) { std::memcpy(p, &x, sizeof x); }

/// Two halves of a vector; every operation applies to both.
template <class Half>
struct Pair {
  static constexpr std::size_t kHalf = sizeof(Half) / sizeof(double);  ///< lanes
  Half low, high;
};

template <class Half>
inline Pair<Half> operator+(Pair<Half> a, Pair<Half> b) {
  return {a.low + b.low, a.high + b.high};
}
template <class Half>
inline Pair<Half> operator-(Pair<Half> a, Pair<Half> b) {
  return {a.low - b.low, a.high - b.high};
}
template <class Half>
inline Pair<Half> operator*(Pair<Half> a, Pair<Half> b) {
  return {a.low * b.low, a.high * b.high};
}
template <class Half>
inline Pair<Half> operator&(Pair<Half> a, Pair<Half> b) {
  return {a.low & b.low, a.high & b.high};
}
template <class Half>
inline Pair<Half> operator|(Pair<Half> a, Pair<Half> b) {
  return {a.low | b.low, a.high | b.high};
}
template <class Half>
inline auto bits(Pair<Half> x) {
  return Pair<decltype(bits(x.low))>{bits(x.low), bits(x.high)};
}
template <class Half>
inline auto numbers(Pair<Half> x) {
  return Pair<decltype(numbers(x.low))>{numbers(x.low), numbers(x.high)};
}
template <class Half>
inline Pair<Half> shift_left(Pair<Half> x, int n) {
  return {shift_left(x.low, n), shift_left(x.high, n)};
}
template <class Half>
inline Pair<Half> absolute(Pair<Half> x) {
  return {absolute(x.low), absolute(x.high)};
}
template <class Half>
inline Pair<Half> larger(Pair<Half> a, Pair<Half> b) {
  return {larger(a.low, b.low), larger(a.high, b.high)};
}
template <class Half>
inline Pair<Half> smaller_finite(Pair<Half> a, Pair<Half> b) {
  return {smaller_finite(a.low, b.low), smaller_finite(a.high, b.high)};
}
template <class Half>
inline Pair<Half> smaller_positive(Pair<Half> a, Pair<Half> b) {
  return {smaller_positive(a.low, b.low), smaller_positive(a.high, b.high)};
}
template <class Half>
inline Pair<Half> zero_below(Pair<Half> x, double limit, Pair<Half> value) {
  return {zero_below(x.low, limit, value.low), zero_below(x.high, limit, value.high)};
}
template <class Half>
inline Pair<Half> twice_low(Pair<Half> x) {
  return {twice_low(x.low), twice_high(x.low)};
}
template <class Half>
inline Pair<Half> twice_high(Pair<Half> x) {
  return {twice_low(x.high), twice_high(x.high)};
}
template <class Half>
inline double sum_lanes(Pair<Half> x) {
  return sum_lanes(x.low) + sum_lanes(x.high);
}
template <class Half>
inline Pair<Half> sum_each(const Pair<Half>* rows) {
  const auto half = [](const Pair<Half>* some) {
    Half low[Pair<Half>::kHalf];
    Half high[Pair<Half>::kHalf];
    for (std::size_t r = 0; r < Pair<Half>::kHalf; ++r) {
      low[r] = some[r].low;
      high[r] = some[r].high;
    }
    return sum_each(low) + sum_each(high);
  };
  return {half(rows), half(rows + Pair<Half>::kHalf)};
}
template <class Half>
inline void set(Pair<Half>& x, double number) {
  set(x.low, number);
  set(x.high, number);
}
template <class Half, class Number>
inline void read(Pair<Half>& x, const Number* p) {
  read(x.low, p);
  read(x.high, p + Pair<Half>::kHalf);
}
template <class Half>
inline void store(double* p, Pair<Half> x) {
  store(p, x.low);
  store(p + Pair<Half>::kHalf, x.high);
}

template <class T, std::size_t n>
struct Times {
  using Type = typename Times<Pair<T>, n / 2>::Type;
};
template <class T>
struct Times<T, 1> {
  using Type = T;
};

using Lanes = Times<Part, kLanes / kPartLanes>::Type;
using Bits = Times<PartBits, kLanes / kPartLanes>::Type;

inline Lanes fill(double x) {
  Lanes lanes;
  set(lanes, x);
  return lanes;
}

inline Lanes load(const double* p) {
  Lanes lanes;
  read(lanes, p);
  return lanes;
}

/// The lanes where the mask is set, 0 elsewhere.
inline Lanes first_lanes(Lanes x, Bits mask) { return numbers(bits(x) & mask); }

/// Eight consecutive numbers of this array are the mask of any number of first or of last lanes.
alignas(64) constexpr std::int64_t kMasks[24] = {-1, -1, -1, -1, -1, -1, -1, -1, 0,  0,  0,  0,
                                                 0,  0,  0,  0,  -1, -1, -1, -1, -1, -1, -1, -1};

/// A mask of the first n <= 8 lanes.
inline Bits lanes_before(std::size_t n) {
  Bits mask;
  read(mask, kMasks + kLanes - n);
  return mask;
}

/// A mask of the lanes from the n-th on.
inline Bits lanes_from(std::size_t n) {
  Bits mask;
  read(mask, kMasks + 2 * kLanes - n);
  return mask;
}

/// The first n < 8 numbers at p, then zeros; reads only those n. Masked, as a scalar loop over the last lanes
/// would take longer than all full lanes of a row.
inline Lanes load_some(const double* p, std::size_t n) {
#if defined(__GNUC__) && defined(__AVX512F__)
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1U << n) - 1U), p);
#elif defined(__GNUC__) && defined(__AVX2__)
  const Bits mask = lanes_before(n);
  return {_mm256_maskload_pd(p, __m256i(mask.low)), _mm256_maskload_pd(p + 4, __m256i(mask.high))};
#else
  double scratch[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) scratch[i] = i < n ? p[i] : 0.0;
  return load(scratch);
#endif
}

/// The same with `rest` instead of zeros.
inline Lanes load_some(const double* p, std::size_t n, double rest) {
#if defined(__GNUC__) && defined(__AVX512F__)
  return _mm512_mask_loadu_pd(fill(rest), static_cast<__mmask8>((1U << n) - 1U), p);
#else
  return numbers(bits(load_some(p, n)) | (bits(fill(rest)) & lanes_from(n)));
#endif
}

inline void store_some(double* p, std::size_t n, Lanes x) {
#if defined(__GNUC__) && defined(__AVX512F__)
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1U << n) - 1U), x);
#elif defined(__GNUC__) && defined(__AVX2__)
  const Bits mask = lanes_before(n);
  _mm256_maskstore_pd(p, __m256i(mask.low), x.low);
  _mm256_maskstore_pd(p + 4, __m256i(mask.high), x.high);
#else
  double scratch[kLanes];
  store(scratch, x);
  for (std::size_t i = 0; i < n; ++i) p[i] = scratch[i];
#endif
}

inline double largest_lane(Lanes x) {
  double lane[kLanes];
  store(lane, x);
  double result = lane[0];
  for (std::size_t l = 1; l < kLanes; ++l) result = lane[l] > result ? lane[l] : result;
  return result;
}

inline double smallest_lane(Lanes x) {
  double lane[kLanes];
  store(lane, x);
  double result = lane[0];
  for (std::size_t l = 1; l < kLanes; ++l) result = lane[l] < result ? lane[l] : result;
  return result;
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
