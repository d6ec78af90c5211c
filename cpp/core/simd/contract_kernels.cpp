// Compiled once for each instruction set, with PYPGM_ISA its name; see kernels.cpp.
#include "core/simd/contract_kernels.hpp"

#include <type_traits>

#include "core/simd/kernel_set.hpp"
#include "core/simd/lanes.hpp"

namespace pypgm {

namespace {

struct SumOfProducts {
  static constexpr double kEmpty = 0.0;
  static auto join(auto sum, auto a, auto b) { return sum + a * b; }
  static double join(double sum, double other) { return sum + other; }
  static double fold(Lanes sums) { return sum_lanes(sums); }
};

struct LargestSum {
  static constexpr double kEmpty = -kInfinity;
  static Lanes join(Lanes largest, Lanes a, Lanes b) { return larger(largest, a + b); }
  static double join(double largest, double a, double b) { return join(largest, a + b); }
  static double join(double largest, double other) { return other > largest ? other : largest; }
  static double fold(Lanes largest) { return largest_lane(largest); }
};

struct Steps {
  std::size_t row_a, row_out, sum_a, sum_b;
  bool fresh;  ///< out holds nothing yet
};

/// R rows, kWide * 8 lanes of them or the last n < 8: sums held in registers, each b read once for all rows.
template <class Ring, int R, std::size_t kWide, bool kLanesInA, bool kLanesInB, bool kSome>
inline void block(const double* a, const double* b, double* out, const Steps& step, std::size_t n_sums,
                  std::size_t n) {
  Lanes sums[R][kWide];
  for (int r = 0; r < R; ++r) {
    for (std::size_t w = 0; w < kWide; ++w) {
      const double* place = out + static_cast<std::size_t>(r) * step.row_out + w * kLanes;
      sums[r][w] = step.fresh ? fill(Ring::kEmpty) : (kSome ? load_some(place, n) : load(place));
    }
  }
  for (std::size_t s = 0; s < n_sums; ++s, a += step.sum_a, b += step.sum_b) {
    Lanes right[kWide];
    for (std::size_t w = 0; w < kWide; ++w) {
      const double* place = b + w * kLanes;
      right[w] = !kLanesInB ? fill(*b) : (kSome ? load_some(place, n) : load(place));
    }
    for (int r = 0; r < R; ++r) {
      const double* row = a + static_cast<std::size_t>(r) * step.row_a;
      for (std::size_t w = 0; w < kWide; ++w) {
        const double* place = row + w * kLanes;
        const Lanes left = !kLanesInA ? fill(*row) : (kSome ? load_some(place, n) : load(place));
        sums[r][w] = Ring::join(sums[r][w], left, right[w]);
      }
    }
  }
  for (int r = 0; r < R; ++r) {
    for (std::size_t w = 0; w < kWide; ++w) {
      double* place = out + static_cast<std::size_t>(r) * step.row_out + w * kLanes;
      if (kSome) {
        store_some(place, n, sums[r][w]);
      } else {
        store(place, sums[r][w]);
      }
    }
  }
}

/// Lanes that are cells of the answer.
template <class Ring, int R, bool kLanesInA, bool kLanesInB>
void spread(const double* a, const double* b, double* out, const Steps& step, std::size_t n_sums,
            std::size_t n) {
  std::size_t l = 0;
  const auto left = [&] { return kLanesInA ? a + l : a; };
  const auto right = [&] { return kLanesInB ? b + l : b; };
  // Twelve registers hold sums, beside what is multiplied; a single row takes them all, so that tables are
  // read in long runs.
  constexpr std::size_t kWide = (kPartLanes == kLanes ? 12 : 6) / R;
  for (; l + kWide * kLanes <= n; l += kWide * kLanes) {
    block<Ring, R, kWide, kLanesInA, kLanesInB, false>(left(), right(), out + l, step, n_sums, 0);
  }
  for (; l + kLanes <= n; l += kLanes) {
    block<Ring, R, 1, kLanesInA, kLanesInB, false>(left(), right(), out + l, step, n_sums, 0);
  }
  if (l < n) block<Ring, R, 1, kLanesInA, kLanesInB, true>(left(), right(), out + l, step, n_sums, n - l);
}

/// Lanes that are summed: the full ones of all sums first, then the last n % 8 of each, so that sums stay in
/// registers.
template <class Ring, int R, bool kLanesInA>
inline void dot(const double* a, const double* b, double* out, const Steps& step, std::size_t n_sums,
                std::size_t n) {
  const std::size_t full = n / kLanes * kLanes;
  const auto row = [&](std::size_t s, int r) {
    return a + s * step.sum_a + static_cast<std::size_t>(r) * step.row_a;
  };
  Lanes sums[R];
  for (int r = 0; r < R; ++r) sums[r] = fill(Ring::kEmpty);
  for (std::size_t s = 0; s < n_sums; ++s) {
    for (std::size_t l = 0; l < full; l += kLanes) {
      const Lanes right = load(b + s * step.sum_b + l);
      for (int r = 0; r < R; ++r) {
        sums[r] = Ring::join(sums[r], kLanesInA ? load(row(s, r) + l) : fill(*row(s, r)), right);
      }
    }
  }
  for (std::size_t s = 0; full < n && s < n_sums; ++s) {
    const Lanes right = load_some(b + s * step.sum_b + full, n - full, Ring::kEmpty);
    for (int r = 0; r < R; ++r) {
      sums[r] =
          Ring::join(sums[r], kLanesInA ? load_some(row(s, r) + full, n - full) : fill(*row(s, r)), right);
    }
  }
  for (int r = 0; r < R; ++r) {
    double* place = out + static_cast<std::size_t>(r) * step.row_out;
    const double sum = Ring::fold(sums[r]);
    *place = step.fresh ? sum : Ring::join(*place, sum);
  }
}

template <class Ring, int R>
void rows_of(const double* a, const double* b, double* out, const Steps& step, std::size_t n_sums,
             const LoopAxis& lanes) {
  if (lanes.out == 0 && lanes.a != 0) return dot<Ring, R, true>(a, b, out, step, n_sums, lanes.size);
  if (lanes.out == 0) return dot<Ring, R, false>(a, b, out, step, n_sums, lanes.size);
  if (lanes.a != 0) return spread<Ring, R, true, true>(a, b, out, step, n_sums, lanes.size);
  if (lanes.b != 0) return spread<Ring, R, false, true>(a, b, out, step, n_sums, lanes.size);
  return spread<Ring, R, false, false>(a, b, out, step, n_sums, lanes.size);
}

/// Calls go(count of rows as a constant, first row) for all rows, six at a time: one by one products of two
/// tables take 1.3 to 2.7 times as long (bench_contract), 1.8 to 1.9 in trees of pairs (bench_propagation).
template <class Go>
inline void for_rows(std::size_t n, const Go& go) {
  std::size_t r = 0;
  for (; r + 6 <= n; r += 6) go(std::integral_constant<int, 6>{}, r);
  for (; r + 2 <= n; r += 2) go(std::integral_constant<int, 2>{}, r);
  for (; r < n; ++r) go(std::integral_constant<int, 1>{}, r);
}

template <class Ring>
void contract_rows(const Loops& loops, const double* a, const double* b, double* out) {
  const LoopAxis& rows = loops.rows;
  const LoopAxis& batch = loops.batch;
  const Steps step{rows.a, rows.out, loops.sums.a, loops.sums.b, loops.fresh};
  const auto go_rows = [&](auto count, std::size_t r, std::size_t i) {
    rows_of<Ring, count>(a + i * batch.a + r * rows.a, b + i * batch.b, out + i * batch.out + r * rows.out,
                         step, loops.sums.size, loops.lanes);
  };
  for (std::size_t i = 0; i < batch.size; ++i) {
    for_rows(rows.size, [&](auto count, std::size_t r) { go_rows(count, r, i); });
  }
}

}  // namespace

PYPGM_KERNEL_SET(ContractKernels, contract_kernels) = {contract_rows<SumOfProducts>,
                                                       contract_rows<LargestSum>};

}  // namespace pypgm
