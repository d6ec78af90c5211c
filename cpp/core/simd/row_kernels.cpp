// Loops over the rows of a clique, compiled once for each instruction set (PYPGM_ISA is its name; see
// kernels.cpp).
#include "core/simd/row_kernels.hpp"

#include "core/simd/kernel_set.hpp"
#include "core/simd/partial_lanes.hpp"

namespace pypgm {

namespace {

// Rows are processed in chunks of as many cells as fit the registers. Products are stored in memory order: in
// strides of rows it takes up to four times as long when they come from memory.
constexpr std::size_t kParts = kPartLanes == kLanes ? 2 : 4;  // 16 cells in registers of four lanes or eight
constexpr std::size_t kChunk = kParts * kPartLanes;
constexpr std::size_t kEighths = kLanes / kPartLanes;  // registers of eight lanes

inline Part load_part(const double* p) {
  Part x;
  read(x, p);
  return x;
}

/// A chunk of kCount registers, of which the last has `tail` lanes.
template <std::size_t kCount>
struct Chunk {
  static constexpr std::size_t count = kCount;
  std::size_t tail;

  std::size_t cells() const { return (kCount - 1) * kPartLanes + tail; }
  Part load_at(const double* p, std::size_t k) const {
    return k + 1 < kCount ? load_part(p + k * kPartLanes) : load_first(p + k * kPartLanes, tail);
  }
  /// The same for memory recently written by store_at.
  Part load_stored(const double* p, std::size_t k) const {
    return k + 1 < kCount ? load_part(p + k * kPartLanes) : load_stored_first(p + k * kPartLanes, tail);
  }
  void store_at(double* p, std::size_t k, Part x) const {
    k + 1 < kCount ? store(p + k * kPartLanes, x) : store_first(p + k * kPartLanes, tail, x);
  }
};

/// Eight lanes in registers: the lane a cell is added to does not depend on the instruction set.
struct Eight {
  Part parts[kEighths];

  Eight() {
    for (Part& part : parts) part = same(0.0);
  }
  void add(std::size_t k, Part x) { parts[k % kEighths] = parts[k % kEighths] + x; }
  double sum() const { return sum_eight(parts); }
};

/// Calls go(chunk, first cell) for the chunks of a row, with the number of registers a constant.
template <std::size_t kCount = kParts, class Go>
inline void go_last(std::size_t parts, std::size_t tail, std::size_t at, const Go& go) {
  if constexpr (kCount > 1) {
    if (parts < kCount) return go_last<kCount - 1>(parts, tail, at, go);
  }
  go(Chunk<kCount>{tail}, at);
}

template <class Go>
inline void for_chunks(std::size_t n, const Go& go) {
  std::size_t at = 0;
  for (; at + kChunk < n; at += kChunk) go_last(kParts, kPartLanes, at, go);
  const std::size_t parts = (n - at + kPartLanes - 1) / kPartLanes;
  go_last(parts, n - at - (parts - 1) * kPartLanes, at, go);
}

void sum_across(const RowGrid& rows, const double* weights, const double* along, const double* across,
                double* sums) {
  for_chunks(rows.n, [&](auto chunk, std::size_t at) {
    const double* cells = weights + at;
    for (std::size_t o = 0; o < rows.outer.size; ++o) {
      const double* times = along + o * rows.outer.along + at;
      std::size_t row = o * rows.outer.across;
      for (std::size_t i = 0; i < rows.inner.size; ++i) {
        Eight sum;
        for (std::size_t k = 0; k < chunk.count; ++k) {
          sum.add(k, chunk.load_at(cells, k) * chunk.load_at(times, k));
        }
        sums[row] += across[row] * sum.sum();
        cells += rows.n;
        times += rows.inner.along;
        row += rows.inner.across;
      }
    }
  });
}

void sum_along(const RowGrid& rows, const double* weights, const double* across, double* sums) {
  // The inner loop is the one over rows that share their sums, which stay in registers.
  const bool turned = rows.inner.along != 0;
  const RowLoop& outer = turned ? rows.inner : rows.outer;
  const RowLoop& inner = turned ? rows.outer : rows.inner;
  const std::size_t outer_step = turned ? rows.n : rows.n * rows.inner.size;
  const std::size_t inner_step = turned ? rows.n * rows.inner.size : rows.n;
  for_chunks(rows.n, [&](auto chunk, std::size_t at) {
    for (std::size_t o = 0; o < outer.size; ++o) {
      const double* cells = weights + o * outer_step + at;
      const double* times = across + o * outer.across;
      double* to = sums + o * outer.along + at;
      Part sum[chunk.count];
      for (std::size_t k = 0; k < chunk.count; ++k) sum[k] = chunk.load_at(to, k);
      for (std::size_t i = 0; i < inner.size; ++i, cells += inner_step) {
        const Part factor = same(times[i * inner.across]);
        for (std::size_t k = 0; k < chunk.count; ++k) sum[k] = sum[k] + factor * chunk.load_at(cells, k);
      }
      for (std::size_t k = 0; k < chunk.count; ++k) chunk.store_at(to, k, sum[k]);
    }
  });
}

/// `each(go)` calls go(chunk, first cell) for the chunks of a row.
template <class Each>
PYPGM_ALWAYS_INLINE void multiply_rows(const RowGrid rows, const double* weights, const RowTables tables,
                                       double* out, const Each& each) {
  const bool sums_along = tables.along_sums != nullptr;
  for (std::size_t o = 0; o < rows.outer.size; ++o) {
    for (std::size_t i = 0; i < rows.inner.size; ++i, weights += rows.n, out += rows.n) {
      const std::size_t by_cell = o * rows.outer.along + i * rows.inner.along;
      const std::size_t row = o * rows.outer.across + i * rows.inner.across;
      const Part factor = same(tables.across[row]);
      Eight sum;
      each([&](const auto& chunk, std::size_t at) {
        double* const sums = sums_along ? tables.along_sums + by_cell + at : nullptr;
        for (std::size_t k = 0; k < chunk.count; ++k) {
          const Part along = chunk.load_at(tables.along + by_cell + at, k);
          const Part product = chunk.load_at(weights + at, k) * along * factor;
          chunk.store_at(out + at, k, product);
          sum.add(k, product);
          if (sums_along) chunk.store_at(sums, k, chunk.load_stored(sums, k) + product);
        }
      });
      if (tables.across_sums != nullptr) tables.across_sums[row] += sum.sum();
    }
  }
}

void multiply(const RowGrid& rows, const double* weights, const RowTables& tables, double* out) {
  if (rows.n > kChunk) {
    return multiply_rows(rows, weights, tables, out, [&](const auto& go) { for_chunks(rows.n, go); });
  }
  for_chunks(rows.n, [&](const auto& chunk, std::size_t) {
    multiply_rows(rows, weights, tables, out, [&](const auto& go) { go(chunk, 0); });
  });
}

}  // namespace

PYPGM_KERNEL_SET(RowKernels, row_kernels) = {sum_across, sum_along, multiply};

}  // namespace pypgm
