// Loops over the tables of a region, compiled once for each instruction set.
#include "core/region_kernels.hpp"

#include <bit>
#include <cstdint>

namespace pypgm {

namespace {

constexpr std::size_t kLanes = 8;

/// log(x) for normal x > 0: x = 2^n m with m in [sqrt(1/2), sqrt(2)), and log m = 2 atanh((m - 1) / (m + 1))
/// by its series, of which eleven terms leave less than 1e-17.
inline double log_one(double x) {
  constexpr double kLn2High = 6.93147180369123816490e-01;
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  constexpr std::uint64_t kRootHalf = 0x3fe6a09e667f3bcdu;  // the bits of sqrt(1/2)
  const std::uint64_t bits = std::bit_cast<std::uint64_t>(x) - kRootHalf;
  const double n = static_cast<double>(static_cast<std::int64_t>(bits) >> 52);
  const double m = std::bit_cast<double>((bits & 0x000fffffffffffffu) + kRootHalf);
  const double t = (m - 1.0) / (m + 1.0);
  const double z = t * t;
  double p = 2.0 / 21;
  p = p * z + 2.0 / 19;
  p = p * z + 2.0 / 17;
  p = p * z + 2.0 / 15;
  p = p * z + 2.0 / 13;
  p = p * z + 2.0 / 11;
  p = p * z + 2.0 / 9;
  p = p * z + 2.0 / 7;
  p = p * z + 2.0 / 5;
  p = p * z + 2.0 / 3;
  return n * kLn2High + (2.0 * t + (t * z * p + n * kLn2Low));
}

void log_floored(const double* in, std::size_t n, double floor, double* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = log_one(in[i] < floor ? floor : in[i]);
}

template <bool kOne>
void descend_with(const double* x, const double* z, const double* y, const double* w, double total, double a,
                  double step, std::size_t n, double* theta) {
  for (std::size_t i = 0; i < n; ++i) {
    theta[i] -= step * w[kOne ? 0 : i] * (total * (x[i] + a * (z[i] - x[i])) - y[i]);
  }
}

void descend(const double* x, const double* z, const double* y, const double* w, bool one_weight,
             double total, double a, double step, std::size_t n, double* theta) {
  if (one_weight) {
    descend_with<true>(x, z, y, w, total, a, step, n, theta);
  } else {
    descend_with<false>(x, z, y, w, total, a, step, n, theta);
  }
}

/// One lane of `follow`.
template <bool kOne, bool kHeld>
inline void follow_one(const double* b, const double* z, const double* y, const double* held, const double* w,
                       double total, double a, std::size_t i, double* x, double* loss, double* validation,
                       double* slope, double* curvature) {
  const double weight = w[kOne ? 0 : i];
  const double d = b[i] - z[i];
  const double v = total * (x[i] + a * (z[i] - x[i]));
  const double g = weight * (v - y[i]);
  x[i] += a * (b[i] - x[i]);
  const double miss = total * x[i] - y[i];
  *loss += 0.5 * weight * miss * miss;
  if (kHeld) {
    const double miss_held = total * x[i] - held[i];
    *validation += 0.5 * weight * miss_held * miss_held;
  }
  *slope += g * d;
  *curvature += weight * d * d;
}

template <bool kOne, bool kHeld>
void follow_with(const double* b, const double* z, const double* y, const double* held, const double* w,
                 double total, double a, std::size_t n, double* x, double* sums) {
  double lanes[4][kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      follow_one<kOne, kHeld>(b, z, y, held, w, total, a, i + l, x, &lanes[0][l], &lanes[1][l], &lanes[2][l],
                              &lanes[3][l]);
    }
  }
  for (; i < n; ++i) {
    follow_one<kOne, kHeld>(b, z, y, held, w, total, a, i, x, &lanes[0][0], &lanes[1][0], &lanes[2][0],
                            &lanes[3][0]);
  }
  for (std::size_t s = 0; s < 4; ++s) {
    for (std::size_t l = 0; l < kLanes; ++l) sums[s] += lanes[s][l];
  }
}

void follow(const double* b, const double* z, const double* y, const double* held, const double* w,
            bool one_weight, double total, double a, std::size_t n, double* x, double* sums) {
  if (one_weight) {
    held == nullptr ? follow_with<true, false>(b, z, y, held, w, total, a, n, x, sums)
                    : follow_with<true, true>(b, z, y, held, w, total, a, n, x, sums);
  } else {
    held == nullptr ? follow_with<false, false>(b, z, y, held, w, total, a, n, x, sums)
                    : follow_with<false, true>(b, z, y, held, w, total, a, n, x, sums);
  }
}

}  // namespace

#define PYPGM_JOIN_(a, b) a##b
#define PYPGM_JOIN(a, b) PYPGM_JOIN_(a, b)

extern const RegionKernels PYPGM_JOIN(region_kernels_, PYPGM_ISA);
const RegionKernels PYPGM_JOIN(region_kernels_, PYPGM_ISA) = {log_floored, descend, follow};

}  // namespace pypgm
