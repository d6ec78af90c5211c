// Loops of accelerated descent, compiled once for each instruction set (PYPGM_ISA is its name; see
// kernels.cpp).
#include "core/simd/path_kernels.hpp"

#include <limits>

#include "core/simd/kernel_set.hpp"
#include "core/simd/lanes.hpp"

namespace pypgm {

namespace {

void descend(const PathTable& t, double total, double a, double step, double* theta, double* window,
             double* mean) {
  const Lanes mix = fill(a);
  const Lanes scale = fill(total);
  const Lanes length = fill(step);
  const Lanes same = fill(*t.w);
  constexpr double zero = std::numeric_limits<double>::lowest();  // a logarithm below this is -inf
  for_cells(t.n, [&](auto at, auto put) {
    const Lanes x = at(t.x);
    const Lanes point = scale * (x + mix * (at(t.z) - x));
    if (window != nullptr) put(window, at(window) + length * point);
    const Lanes weight = t.one_weight ? same : at(t.w);
    const Lanes moved = at(theta) - length * weight * (point - at(t.y));
    put(theta, moved);
    if (mean != nullptr) put(mean, at(mean) + zero_below(moved, zero, mix * (moved - at(mean))));
  });
}

void follow(const PathTable& t, const double* next, double total, double a, double* mean, PathSums& sums) {
  const Lanes mix = fill(a);
  const Lanes beyond = fill(t.beyond);
  const Lanes scale = fill(total);
  const Lanes same = fill(*t.w);
  Lanes loss = fill(0.0);
  Lanes held_out_loss = loss;
  Lanes slope = loss;
  Lanes curvature = loss;
  for_cells(t.n, [&](auto at, auto put) {
    const Lanes x = at(t.x);
    const Lanes z = at(t.z);
    const Lanes b = at(next);
    const Lanes y = at(t.y);
    const Lanes weight = t.one_weight ? same : at(t.w);
    const Lanes moved = b - z;
    const Lanes weighted = weight * moved;
    slope = slope + weighted * (scale * (x + mix * (z - x)) - y);
    curvature = curvature + weighted * moved;
    const Lanes to = x + mix * (b - x);
    put(mean, to);
    const auto square = [&](Lanes miss) { return weight * miss * miss; };
    if (t.held_out != nullptr) {
      const Lanes held_out = at(t.held_out);
      held_out_loss = held_out_loss + square(scale * to - (held_out + beyond * (held_out - y)));
    }
    loss = loss + square(scale * to - y);
  });
  sums += {0.5 * sum_lanes(loss), 0.5 * sum_lanes(held_out_loss), sum_lanes(slope), sum_lanes(curvature)};
}

}  // namespace

PYPGM_KERNEL_SET(PathKernels, path_kernels) = {descend, follow};

}  // namespace pypgm
