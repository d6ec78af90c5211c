#pragma once
// Rows that do not fill eight lanes: registers of one instruction set, masked loads and stores. For kernels
// only: nothing here may have external linkage.
#include "core/simd/lanes.hpp"

// What keeps registers between two functions must be one: a compiler that finds a file large enough stops
// inlining otherwise.
#if defined(__GNUC__)
#define PYPGM_ALWAYS_INLINE inline __attribute__((always_inline))
#else
#define PYPGM_ALWAYS_INLINE inline
#endif

namespace pypgm {

namespace {

/// load_first: the first n lanes, 1 <= n <= kPartLanes, zeros behind them; reads no more than those.
/// store_first writes no more than those. sum_eight: of the
/// lanes of as many parts as make eight, half added to half.
#if defined(__GNUC__) && defined(__AVX512F__)
inline Part load_first(const double* p, std::size_t n) {
  return _mm512_maskz_loadu_pd(static_cast<__mmask8>((1U << n) - 1U), p);
}
inline void store_first(double* p, std::size_t n, Part x) {
  _mm512_mask_storeu_pd(p, static_cast<__mmask8>((1U << n) - 1U), x);
}
inline Part load_stored_first(const double* p, std::size_t n) { return load_first(p, n); }
inline double sum_eight(const Part* x) {
  const auto four = __builtin_shufflevector(*x, *x, 0, 1, 2, 3) + __builtin_shufflevector(*x, *x, 4, 5, 6, 7);
  const auto two = __builtin_shufflevector(four, four, 0, 1) + __builtin_shufflevector(four, four, 2, 3);
  return two[0] + two[1];
}
#elif defined(__GNUC__) && defined(__AVX2__)
inline Part load_first(const double* p, std::size_t n) {
  PartBits mask;
  read(mask, kMasks + kLanes - n);
  return _mm256_maskload_pd(p, __m256i(mask));
}
/// What store_first stored just now is had from where it still waits to be written, if it is read as it was
/// stored.
inline Part load_stored_first(const double* p, std::size_t n) {
  if (n == 4) return load_first(p, 4);
  if (n == 2) return _mm256_set_m128d(_mm_setzero_pd(), _mm_loadu_pd(p));
  if (n == 1) return _mm256_set_m128d(_mm_setzero_pd(), _mm_load_sd(p));
  return _mm256_set_m128d(_mm_load_sd(p + 2), _mm_loadu_pd(p));
}
/// Stores of halves: one with a mask takes as long as dozens of others on some machines.
inline void store_first(double* p, std::size_t n, Part x) {
  if (n == kPartLanes) return store(p, x);
  if ((n & 2) != 0) {
    _mm_storeu_pd(p, _mm256_castpd256_pd128(x));
    if (n == 3) p[2] = x[2];
  } else {
    p[0] = x[0];
  }
}
inline double sum_eight(const Part* x) {
  const Part four = x[0] + x[1];
  const auto two = __builtin_shufflevector(four, four, 0, 1) + __builtin_shufflevector(four, four, 2, 3);
  return two[0] + two[1];
}
#elif defined(__GNUC__)
inline Part load_first(const double* p, std::size_t n) {
  Part x = {p[0], 0.0};
  if (n == kPartLanes) read(x, p);
  return x;
}
inline void store_first(double* p, std::size_t n, Part x) {
  p[0] = x[0];
  if (n == kPartLanes) p[1] = x[1];
}
inline Part load_stored_first(const double* p, std::size_t n) { return load_first(p, n); }
inline double sum_eight(const Part* x) {
  const Part two = (x[0] + x[2]) + (x[1] + x[3]);
  return two[0] + two[1];
}
#else
inline Part load_first(const double* p, std::size_t /*n*/) { return *p; }
inline void store_first(double* p, std::size_t /*n*/, Part x) { *p = x; }
inline Part load_stored_first(const double* p, std::size_t n) { return load_first(p, n); }
inline double sum_eight(const Part* x) {
  return ((x[0] + x[4]) + (x[2] + x[6])) + ((x[1] + x[5]) + (x[3] + x[7]));
}
#endif

}  // namespace

}  // namespace pypgm
