#pragma once
// Loops over contiguous cells: exp, log, sums, maxima, residuals. For kernels.cpp alone, which is compiled
// for each instruction set: nothing here may have external linkage.
#include "core/simd/exp_log.hpp"
#include "core/simd/kernel_set.hpp"
#include "core/simd/kernels.hpp"
#include "core/simd/lanes.hpp"

namespace pypgm {

namespace {

inline void exp_shifted(const double* in, std::size_t n, double shift, double* out) {
  const Lanes shifts = fill(shift);
  for_cells(n, [&](auto at, auto put) { put(out, exp_lanes(at(in, shift) - shifts)); });
}

inline void log_floored(const double* in, std::size_t n, double floor, double* out) {
  const Lanes floors = fill(floor);
  for_cells(n, [&](auto at, auto put) { put(out, log_lanes(larger(floors, at(in)))); });
}

inline double add_logs(const double* sums, std::size_t n, double* message) {
  const Lanes floors = fill(std::numeric_limits<double>::min());
  Lanes tops = fill(-kInfinity);
  for_cells(n, [&](auto at, auto put) {
    const Lanes sum = at(sums);
    const Lanes none = zero_below(fill(0.0) - sum, 0.0, fill(kInfinity));
    const Lanes logs = at(message) + log_lanes(larger(floors, sum)) - none;
    put(message, logs);
    tops = larger(tops, logs);
  });
  const double top = largest_lane(tops);
  const Lanes shift = fill(top > -kInfinity ? top : 0.0);
  for_cells(n, [&](auto at, auto put) { put(message, at(message) - shift); });
  return top;
}

constexpr std::size_t kManyCells = 64;  // runs of fewer cells are short
constexpr std::size_t kChains = 4;

/// Reduces n numbers to eight lanes in an order that does not depend on the instruction set: one operation
/// after the other or, for long runs, in four independent chains that hide latency: sums of 1,000 to 100,000
/// cells take .7 to .8 of the time (AVX-512), dot products .9 to 1.
template <class Folded, class Op, class Load>
inline Folded fold(std::size_t n, Folded start, Op op, Load load_at) {
  Folded lanes = start;
  std::size_t i = 0;
  if (n >= kManyCells) {
    Folded chains[kChains] = {lanes, lanes, lanes, lanes};
    for (; i + kChains * kLanes <= n; i += kChains * kLanes) {
      for (std::size_t c = 0; c < kChains; ++c) chains[c] = op(chains[c], load_at(i + c * kLanes, kLanes));
    }
    lanes = op(op(chains[0], chains[1]), op(chains[2], chains[3]));
  }
  for (; i + kLanes <= n; i += kLanes) lanes = op(lanes, load_at(i, kLanes));
  if (i < n) lanes = op(lanes, load_at(i, n - i));
  return lanes;
}

inline Lanes load_up_to(const double* p, std::size_t n, double rest = 0.0) {
  return n == kLanes ? load(p) : load_some(p, n, rest);
}

constexpr auto kPlus = [](Lanes a, Lanes b) { return a + b; };
constexpr auto kLarger = [](Lanes a, Lanes b) { return larger(a, b); };

inline double max(const double* in, std::size_t n) {
  return largest_lane(fold(n, fill(-kInfinity), kLarger,
                           [=](std::size_t i, std::size_t k) { return load_up_to(in + i, k, -kInfinity); }));
}

inline Extent extent(const double* in, std::size_t n) {
  struct Ends {
    Lanes least, largest;
  };
  const auto wider = [](Ends a, Ends b) {
    return Ends{smaller_above(-kInfinity, a.least, b.least), larger(a.largest, b.largest)};
  };
  const Ends ends =
      fold(n, Ends{fill(kInfinity), fill(-kInfinity)}, wider, [=](std::size_t i, std::size_t k) {
        const Lanes cells = load_up_to(in + i, k, -kInfinity);
        return Ends{cells, cells};
      });
  return {smallest_lane(ends.least), largest_lane(ends.largest)};
}

inline double sum(const double* in, std::size_t n) {
  return sum_lanes(
      fold(n, fill(0.0), kPlus, [=](std::size_t i, std::size_t k) { return load_up_to(in + i, k); }));
}

inline double dot(const double* a, const double* b, std::size_t n) {
  return sum_lanes(fold(n, fill(0.0), kPlus, [=](std::size_t i, std::size_t k) {
    return load_up_to(a + i, k) * load_up_to(b + i, k);
  }));
}

inline void scale(double* table, std::size_t n, double factor) {
  for (std::size_t i = 0; i < n; ++i) table[i] *= factor;
}

inline Extent magnitudes(const double* in, std::size_t n) {
  const auto load_at = [=](std::size_t i, std::size_t k) { return absolute(load_up_to(in + i, k)); };
  const auto smaller = [](Lanes a, Lanes b) { return smaller_above(0.0, a, b); };
  return {smallest_lane(fold(n, fill(kInfinity), smaller, load_at)),
          largest_lane(fold(n, fill(0.0), kLarger, load_at))};
}

inline void add_scaled(const double* a, const double* b, double factor, std::size_t n, double* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = a[i] + factor * b[i];
}

inline void divide(const double* a, const double* b, double factor, std::size_t n, double* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = b[i] > 0 ? a[i] / (b[i] * factor) : 0.0;
}

inline void store_up_to(double* p, std::size_t n, Lanes x) {
  n == kLanes ? store(p, x) : store_some(p, n, x);
}

inline double residuals(const double* table, const double* value, const double* weights, double weight,
                        std::size_t n, double* gradient) {
  return 0.5 * sum_lanes(fold(n, fill(0.0), kPlus, [=](std::size_t i, std::size_t k) {
           const Lanes at = load_up_to(table + i, k);
           const Lanes difference = value == nullptr ? at : at - load_up_to(value + i, k);
           const Lanes weighted =
               (weights == nullptr ? fill(weight) : load_up_to(weights + i, k)) * difference;
           if (gradient != nullptr) store_up_to(gradient + i, k, weighted);
           return weighted * difference;
         }));
}

}  // namespace

}  // namespace pypgm
