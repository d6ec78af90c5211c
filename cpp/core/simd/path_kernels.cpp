// Loops of accelerated descent, compiled once for each instruction set (PYPGM_ISA is its name; see
// kernels.cpp).
#include "core/simd/path_kernels.hpp"

#include "core/simd/kernel_set.hpp"
#include "core/simd/lanes.hpp"

namespace pypgm {

namespace {

/// Calls step(load_at, store_at) for each eight cells and for the remaining ones.
template <class Step>
inline void for_cells(std::size_t n, const Step& step) {
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    step([=](const double* p) { return load(p + i); }, [=](double* p, Lanes x) { store(p + i, x); });
  }
  if (i == n) return;
  step([=](const double* p) { return load_some(p + i, n - i); },
       [=](double* p, Lanes x) { store_some(p + i, n - i, x); });
}

template <bool kOne, bool kWindow>
void descend_with(const PathTable& t, double total, double a, double step, double* theta, double* window) {
  const Lanes mix = fill(a);
  const Lanes scale = fill(total);
  const Lanes length = fill(step);
  const Lanes same = fill(*t.w);
  for_cells(t.n, [&](auto at, auto put) {
    const Lanes x = at(t.x);
    const Lanes point = scale * (x + mix * (at(t.z) - x));
    if (kWindow) put(window, at(window) + length * point);
    const Lanes weight = kOne ? same : at(t.w);
    put(theta, at(theta) - length * weight * (point - at(t.y)));
  });
}

void descend(const PathTable& t, double total, double a, double step, double* theta, double* window) {
  if (t.one_weight) {
    window == nullptr ? descend_with<true, false>(t, total, a, step, theta, window)
                      : descend_with<true, true>(t, total, a, step, theta, window);
  } else {
    window == nullptr ? descend_with<false, false>(t, total, a, step, theta, window)
                      : descend_with<false, true>(t, total, a, step, theta, window);
  }
}

template <bool kOne, bool kHeld, bool kTwice>
void follow_with(const PathTable& t, const double* next, double total, double a, double share, double* mean,
                 double* second, PathSums& sums) {
  const Lanes mix = fill(a);
  const Lanes part = fill(share);
  const Lanes beyond = fill(t.beyond);
  const Lanes scale = fill(total);
  const Lanes same = fill(*t.w);
  Lanes loss = fill(0.0);
  Lanes validation = loss;
  Lanes validation_twice = loss;
  Lanes slope = loss;
  Lanes curvature = loss;
  for_cells(t.n, [&](auto at, auto put) {
    const Lanes x = at(t.x);
    const Lanes z = at(t.z);
    const Lanes b = at(next);
    const Lanes y = at(t.y);
    const Lanes weight = kOne ? same : at(t.w);
    const Lanes moved = b - z;
    const Lanes weighted = weight * moved;
    slope = slope + weighted * (scale * (x + mix * (z - x)) - y);
    curvature = curvature + weighted * moved;
    const Lanes to = x + mix * (b - x);
    put(mean, to);
    const Lanes held = kHeld ? at(t.held) : y;
    const auto square = [&](Lanes miss) { return weight * miss * miss; };
    const auto miss_held = [&](Lanes m) { return scale * m - (held + beyond * (held - y)); };
    if (kHeld) validation = validation + square(miss_held(to));
    Lanes result = to;
    if (kTwice) {
      const Lanes before = at(second);
      result = before + part * (to - before);
      put(second, result);
      if (kHeld) validation_twice = validation_twice + square(miss_held(result));
    }
    loss = loss + square(scale * result - y);
  });
  const double validated = 0.5 * sum_lanes(validation);
  sums += {0.5 * sum_lanes(loss), validated, kTwice ? 0.5 * sum_lanes(validation_twice) : validated,
           sum_lanes(slope), sum_lanes(curvature)};
}

template <bool kOne, bool kHeld>
constexpr decltype(PathKernels::follow) kFollow[] = {follow_with<kOne, kHeld, false>,
                                                     follow_with<kOne, kHeld, true>};

void follow(const PathTable& t, const double* next, double total, double a, double share, double* mean,
            double* second, PathSums& sums) {
  const auto& some_weights = t.held == nullptr ? kFollow<false, false> : kFollow<false, true>;
  const auto& one_weight = t.held == nullptr ? kFollow<true, false> : kFollow<true, true>;
  const auto loop = (t.one_weight ? one_weight : some_weights)[second == nullptr ? 0 : 1];
  loop(t, next, total, a, share, mean, second, sums);
}

}  // namespace

PYPGM_KERNEL_SET(PathKernels, path_kernels) = {descend, follow};

}  // namespace pypgm
