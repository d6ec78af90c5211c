// Rows of excess counts, compiled once for each instruction set (PYPGM_ISA is its name; see kernels.cpp).
#include "core/simd/record_kernels.hpp"

#include "core/simd/kernel_set.hpp"
#include "core/simd/lanes.hpp"

namespace pypgm {

namespace {

// One register of floats, or one float where the compiler has no vectors.
#if defined(__GNUC__)
constexpr std::size_t kFloats = kPartLanes * sizeof(double) / sizeof(float);
using Floats = float __attribute__((vector_size(kFloats * sizeof(float))));
using Places = std::int32_t __attribute__((vector_size(kFloats * sizeof(float))));
inline float float_at(Floats x, std::size_t i) { return x[i]; }
inline std::int32_t place_at(Places x, std::size_t i) { return x[i]; }
#else
constexpr std::size_t kFloats = 1;
using Floats = float;
using Places = std::int32_t;
inline float float_at(Floats x, std::size_t) { return x; }
inline std::int32_t place_at(Places x, std::size_t) { return x; }
#endif
static_assert(kFloats <= kReadBeyond);

constexpr float kInfinite = static_cast<float>(kInfinity);
alignas(64) constexpr std::int32_t kFirstPlaces[16] = {0, 1, 2, 3, 4, 5, 6, 7, 8, 9, 10, 11, 12, 13, 14, 15};

/// Two sums, of the even and of the odd rows: one alone would wait for each addition.
inline Floats sum_of_rows(const float* const* rows, std::size_t n_rows, std::size_t first) {
  Floats even = load_part<Floats>(rows[0] + first);
  Floats odd{};
  std::size_t k = 1;
  for (; k + 1 < n_rows; k += 2) {
    odd = odd + load_part<Floats>(rows[k] + first);
    even = even + load_part<Floats>(rows[k + 1] + first);
  }
  if (k < n_rows) odd = odd + load_part<Floats>(rows[k] + first);
  return even + odd;
}

Least least_sum(const float* const* rows, std::size_t n_rows, std::size_t n) {
  Floats least = kInfinite - Floats{};
  Places at{};
  Places place = load_part<Places>(kFirstPlaces);
  const Places end = static_cast<std::int32_t>(n) - Places{};
  for (std::size_t first = 0; first < n; first += kFloats) {
    const Floats sum = sum_of_rows(rows, n_rows, first);
    const Floats counted = place < end ? sum : kInfinite - Floats{};
    const auto less = counted < least;
    least = less ? counted : least;
    at = less ? place : at;
    place = place + static_cast<std::int32_t>(kFloats);
  }
  Least best{float_at(least, 0), static_cast<std::uint32_t>(place_at(at, 0))};
  for (std::size_t i = 1; i < kFloats; ++i) {
    const Least lane{float_at(least, i), static_cast<std::uint32_t>(place_at(at, i))};
    if (lane.value < best.value || (lane.value == best.value && lane.at < best.at)) best = lane;
  }
  return best;
}

double finite_l1(const float* in, std::size_t n) {
  double sums[kLanes] = {};
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    for (std::size_t l = 0; l < kLanes; ++l) {
      const float x = in[i + l] < 0 ? -in[i + l] : in[i + l];
      sums[l] += x < kInfinite ? x : 0.0F;
    }
  }
  for (std::size_t l = 0; i + l < n; ++l) {
    const float x = in[i + l] < 0 ? -in[i + l] : in[i + l];
    sums[l] += x < kInfinite ? x : 0.0F;
  }
  return ((sums[0] + sums[1]) + (sums[2] + sums[3])) + ((sums[4] + sums[5]) + (sums[6] + sums[7]));
}

void add(const float* in, std::size_t n, float* sum) {
  PYPGM_CELL_BY_CELL
  for (std::size_t i = 0; i < n; ++i) sum[i] += in[i];
}

void add_steps(const std::uint32_t* values, std::uint32_t step, std::size_t n, std::uint32_t* shift) {
  PYPGM_CELL_BY_CELL
  for (std::size_t i = 0; i < n; ++i) shift[i] += step * values[i];
}

void add_cells(const float* cells, const std::uint32_t* shift, std::uint32_t now, std::size_t n, float* sum) {
  PYPGM_CELL_BY_CELL
  for (std::size_t i = 0; i < n; ++i) sum[i] += cells[shift[i]] - (shift[i] == now ? 1.0F : 0.0F);
}

}  // namespace

PYPGM_KERNEL_SET(RecordKernels, record_kernels) = {least_sum, finite_l1, add, add_steps, add_cells};

}  // namespace pypgm
