#pragma once
// Eight doubles at a time: arithmetic, masked loads and stores, sums over SIMD lanes, and `for_cells`,
// the loop over them. For kernels only: they are compiled for each instruction set, so nothing here may have
// external linkage.
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <utility>
#if defined(__GNUC__) && defined(__AVX2__)
#include <immintrin.h>
#endif

#include "core/base/numbers.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kLanes = 8;

// Eight lanes are one register or several parts of a register each: compilers keep a vector that is wider
// than a register in memory.

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
using PartBits = std::uint64_t __attribute__((vector_size(kPartLanes * sizeof(double))));
#else
using Part = double;
using PartBits = std::uint64_t;
#endif

inline Part fill_part(double x) { return x - Part{}; }  // whatever a part is, each lane is x - 0

constexpr std::size_t kParts = kLanes / kPartLanes;

struct Lanes {
  Part part[kParts];
};
struct Bits {
  PartBits part[kParts];
};

template <class Out, class Op, std::size_t... k>
inline Out parts_at(const Op& op, std::index_sequence<k...>) {
  return {{op(k)...}};
}
/// The lanes whose parts are op(0), op(1), .... Without a loop: compilers then keep them in registers.
template <class Out, class Op>
inline Out parts(const Op& op) {
  return parts_at<Out>(op, std::make_index_sequence<kParts>{});
}
/// Applies op to each part.
template <class Out, class Op, class... In>
inline Out each(const Op& op, const In&... in) {
  return parts<Out>([&](std::size_t k) { return op(in.part[k]...); });
}

inline Lanes operator+(Lanes a, Lanes b) {
  return each<Lanes>([](Part x, Part y) { return x + y; }, a, b);
}
inline Lanes operator-(Lanes a, Lanes b) {
  return each<Lanes>([](Part x, Part y) { return x - y; }, a, b);
}
inline Lanes operator*(Lanes a, Lanes b) {
  return each<Lanes>([](Part x, Part y) { return x * y; }, a, b);
}
inline Lanes operator/(Lanes a, Lanes b) {
  return each<Lanes>([](Part x, Part y) { return x / y; }, a, b);
}
inline Bits operator+(Bits a, Bits b) {
  return each<Bits>([](auto x, auto y) { return x + y; }, a, b);
}
inline Bits operator-(Bits a, Bits b) {
  return each<Bits>([](auto x, auto y) { return x - y; }, a, b);
}
inline Bits operator&(Bits a, Bits b) {
  return each<Bits>([](auto x, auto y) { return x & y; }, a, b);
}
inline Bits operator|(Bits a, Bits b) {
  return each<Bits>([](auto x, auto y) { return x | y; }, a, b);
}
inline Bits operator<<(Bits a, int n) {
  return each<Bits>([=](PartBits x) { return x << n; }, a);
}
inline Bits operator>>(Bits a, int n) {
  return each<Bits>([=](PartBits x) { return x >> n; }, a);
}

inline Bits bits(Lanes a) {
  return each<Bits>([](Part x) { return __builtin_bit_cast(PartBits, x); }, a);
}
inline Lanes numbers(Bits a) {
  return each<Lanes>([](PartBits x) { return __builtin_bit_cast(Part, x); }, a);
}

inline Lanes fill(double x) {
  return parts<Lanes>([=](std::size_t) { return fill_part(x); });
}

template <class P, class Number>
inline P load_part(const Number* p) {
  P x;
  std::memcpy(&x, p, sizeof x);
  return x;
}
inline Lanes load(const double* p) {
  return parts<Lanes>([=](std::size_t k) { return load_part<Part>(p + k * kPartLanes); });
}
inline Bits load_mask(const std::uint64_t* p) {
  return parts<Bits>([=](std::size_t k) { return load_part<PartBits>(p + k * kPartLanes); });
}
inline void store(double* p, Lanes x) {
  for (std::size_t k = 0; k < kParts; ++k) std::memcpy(p + k * kPartLanes, &x.part[k], sizeof(Part));
}

inline Lanes absolute(Lanes x) { return numbers((bits(x) << 1) >> 1); }
inline Lanes larger(Lanes a, Lanes b) {
  return each<Lanes>([](Part x, Part y) { return y > x ? y : x; }, a, b);
}
/// min(a, b) where b is above the limit, a elsewhere.
inline Lanes smaller_above(double limit, Lanes a, Lanes b) {
  const auto smaller = [=](Part x, Part y) {
    const Part above = y > fill_part(limit) ? y : fill_part(kInfinity);
    return above < x ? above : x;
  };
  return each<Lanes>(smaller, a, b);
}
/// 0 where x is below the limit, the value elsewhere.
inline Lanes zero_below(Lanes x, double limit, Lanes value) {
  const auto cut = [=](Part y, Part v) { return y < fill_part(limit) ? fill_part(0.0) : v; };
  return each<Lanes>(cut, x, value);
}

/// ((a + b) + (c + d)) + ((e + f) + (g + h)).
inline double sum_lanes(Lanes x) {
#if defined(__GNUC__) && defined(__AVX512F__)
  // Neighbours, pairs and halves change places. Lane by lane an iteration on triples of ten values takes 1.05
  // times as long, for sums of short rows (bench_descent, 10 attributes).
  constexpr __mmask8 all = 0xFF;
  Part sums = x.part[0] + _mm512_maskz_permute_pd(all, x.part[0], 0x55);
  sums = sums + _mm512_maskz_permutex_pd(all, sums, 0x4E);
  sums = sums + _mm512_maskz_shuffle_f64x2(all, sums, sums, 0x4E);
  return sums[0];
#else
  double a[kLanes];
  store(a, x);
  return ((a[0] + a[1]) + (a[2] + a[3])) + ((a[4] + a[5]) + (a[6] + a[7]));
#endif
}
template <class Op>
inline double fold_lanes(Lanes x, const Op& op) {
  double lane[kLanes];
  store(lane, x);
  for (std::size_t half = kLanes / 2; half > 0; half /= 2) {
    for (std::size_t l = 0; l < half; ++l) lane[l] = op(lane[l + half], lane[l]) ? lane[l + half] : lane[l];
  }
  return lane[0];
}
inline double largest_lane(Lanes x) {
  return fold_lanes(x, [](double a, double b) { return a > b; });
}
inline double smallest_lane(Lanes x) {
  return fold_lanes(x, [](double a, double b) { return a < b; });
}

/// Eight consecutive numbers of this array are the mask of any number of first or of last lanes.
constexpr std::uint64_t kSet = ~std::uint64_t{0};
alignas(64) constexpr std::uint64_t kMasks[24] = {kSet, kSet, kSet, kSet, kSet, kSet, kSet, kSet,
                                                  0,    0,    0,    0,    0,    0,    0,    0,
                                                  kSet, kSet, kSet, kSet, kSet, kSet, kSet, kSet};

/// Masks of the first n <= 8 lanes, and of the lanes from the n-th on.
inline Bits lanes_before(std::size_t n) { return load_mask(kMasks + kLanes - n); }
inline Bits lanes_from(std::size_t n) { return load_mask(kMasks + 2 * kLanes - n); }

/// The first n < 8 numbers at p, then `rest`; reads only those n. Masked, as a scalar loop over the last
/// lanes would take longer than all full lanes of a row.
inline Lanes load_some(const double* p, std::size_t n, double rest = 0.0) {
#if defined(__GNUC__) && defined(__AVX512F__)
  return {{_mm512_mask_loadu_pd(fill_part(rest), static_cast<__mmask8>((1U << n) - 1U), p)}};
#elif defined(__GNUC__) && defined(__AVX2__)
  const Bits mask = lanes_before(n);
  const Lanes some{
      {_mm256_maskload_pd(p, __m256i(mask.part[0])), _mm256_maskload_pd(p + 4, __m256i(mask.part[1]))}};
  return numbers(bits(some) | (bits(fill(rest)) & lanes_from(n)));
#else
  double scratch[kLanes];
  for (std::size_t i = 0; i < kLanes; ++i) scratch[i] = i < n ? p[i] : rest;
  return load(scratch);
#endif
}

inline void store_some(double* p, std::size_t n, Lanes x) {
#if defined(__GNUC__) && defined(__AVX512F__)
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1U << n) - 1U), x.part[0]);
#elif defined(__GNUC__) && defined(__AVX2__)
  const Bits mask = lanes_before(n);
  _mm256_maskstore_pd(p, __m256i(mask.part[0]), x.part[0]);
  _mm256_maskstore_pd(p + 4, __m256i(mask.part[1]), x.part[1]);
#else
  double scratch[kLanes];
  store(scratch, x);
  for (std::size_t i = 0; i < n; ++i) p[i] = scratch[i];
#endif
}

/// Calls step(load_at, store_at) for each eight cells and for the remaining ones; lanes behind these hold the
/// second argument of load_at, 0 by default.
template <class Step>
inline void for_cells(std::size_t n, const Step& step) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    step([=](const double* p, double = 0.0) { return load(p + i); },
         [=](double* p, Lanes x) { store(p + i, x); });
  }
  if (i == n) return;
  step([=](const double* p, double rest = 0.0) { return load_some(p + i, n - i, rest); },
       [=](double* p, Lanes x) { store_some(p + i, n - i, x); });
}

}  // namespace

}  // namespace pypgm
