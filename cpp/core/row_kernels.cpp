// Loops over the rows of a clique, compiled once for each instruction set, with PYPGM_ISA its name; see
// kernels.cpp.
#include "core/row_kernels.hpp"

#include "core/growth.hpp"
#include "core/part_lanes.hpp"

namespace pypgm {

namespace {

// RowGrid are worked on in chunks of as many cells as stay in registers between what is known of them and
// their growth; the last register of a row's last chunk may be filled in part. What is summed along the rows
// stays in registers while the inner loop goes over them.
constexpr std::size_t kParts = kPartLanes == kLanes ? 2 : 4;  // 16 cells in registers of four lanes or eight
constexpr std::size_t kChunk = kParts * kPartLanes;
constexpr std::size_t kEighths = kLanes / kPartLanes;  // registers of eight lanes

/// A chunk of a row: all parts but the last are full.
template <std::size_t kCount>
struct Chunk {
  static constexpr std::size_t count = kCount;
  std::size_t tail;  ///< lanes of the last part

  Part load_at(const double* p, std::size_t k) const {
    Part x;
    if (k + 1 == kCount) {
      x = load_first(p + k * kPartLanes, tail);
    } else {
      read(x, p + k * kPartLanes);
    }
    return x;
  }
  void store_at(double* p, std::size_t k, Part x) const {
    if (k + 1 == kCount) {
      store_first(p + k * kPartLanes, tail, x);
    } else {
      store(p + k * kPartLanes, x);
    }
  }
};

/// Eight lanes in parts: which lane a cell is added to is part of the program, not of the machine.
struct Eight {
  Part parts[kEighths];

  Eight() {
    for (Part& part : parts) part = same(0.0);
  }
  void add(std::size_t k, Part x) { parts[k % kEighths] = parts[k % kEighths] + x; }
  double sum() const { return sum_eight(parts); }
};

/// Calls go(chunk, first cell) for the chunks of a row, the count of parts a constant.
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
    for (std::size_t o = 0; o < rows.outer.size; ++o) {
      const double* cells = weights + o * rows.outer.cells + at;
      const double* times = along + o * rows.outer.along + at;
      std::size_t row = o * rows.outer.across;
      for (std::size_t i = 0; i < rows.inner.size; ++i, cells += rows.inner.cells, row += rows.inner.across) {
        Eight sum;
        for (std::size_t k = 0; k < chunk.count; ++k) {
          sum.add(k, chunk.load_at(cells, k) * chunk.load_at(times, k));
        }
        sums[row] += across[row] * sum.sum();
      }
    }
  });
}

void sum_along(const RowGrid& rows, const double* weights, const double* across, double* sums) {
  for_chunks(rows.n, [&](auto chunk, std::size_t at) {
    for (std::size_t o = 0; o < rows.outer.size; ++o) {
      const double* cells = weights + o * rows.outer.cells + at;
      const double* times = across + o * rows.outer.across;
      double* to = sums + o * rows.outer.along + at;
      Part sum[chunk.count];
      for (std::size_t k = 0; k < chunk.count; ++k) sum[k] = chunk.load_at(to, k);
      for (std::size_t i = 0; i < rows.inner.size; ++i, cells += rows.inner.cells) {
        const Part factor = same(times[i * rows.inner.across]);
        for (std::size_t k = 0; k < chunk.count; ++k) sum[k] = sum[k] + factor * chunk.load_at(cells, k);
      }
      for (std::size_t k = 0; k < chunk.count; ++k) chunk.store_at(to, k, sum[k]);
    }
  });
}

template <bool kAlong, bool kAcross, class Chunk>
inline void marginal_rows(const RowGrid& grid, const double* weights, const RowTables& to, double* out,
                          const Chunk& chunk, std::size_t at) {
  // Copied: for all the compiler knows a store of marginals could change them.
  const RowGrid rows = grid;
  const RowTables tables = to;
  for (std::size_t o = 0; o < rows.outer.size; ++o) {
    Part along[chunk.count];
    Part sums[chunk.count];
    for (std::size_t k = 0; k < chunk.count; ++k) {
      along[k] = chunk.load_at(tables.along + o * rows.outer.along + at, k);
      if (kAlong) sums[k] = chunk.load_at(tables.along_sums + o * rows.outer.along + at, k);
    }
    std::size_t cell = o * rows.outer.cells + at;
    std::size_t row = o * rows.outer.across;
    for (std::size_t i = 0; i < rows.inner.size; ++i, cell += rows.inner.cells, row += rows.inner.across) {
      const Part factor = same(tables.across[row]);
      Eight sum;
      for (std::size_t k = 0; k < chunk.count; ++k) {
        const Part marginal = chunk.load_at(weights + cell, k) * along[k] * factor;
        if (kAlong) sums[k] = sums[k] + marginal;
        if (kAcross) sum.add(k, marginal);
        chunk.store_at(out + cell, k, marginal);
      }
      if (kAcross) tables.across_sums[row] += sum.sum();
    }
    for (std::size_t k = 0; kAlong && k < chunk.count; ++k) {
      chunk.store_at(tables.along_sums + o * rows.outer.along + at, k, sums[k]);
    }
  }
}

template <bool kAlong, bool kAcross>
void marginals_with(const RowGrid& rows, const double* weights, const RowTables& tables, double* out) {
  for_chunks(rows.n, [&](auto chunk, std::size_t at) {
    marginal_rows<kAlong, kAcross>(rows, weights, tables, out, chunk, at);
  });
}

void marginals(const RowGrid& rows, const double* weights, const RowTables& tables, double* out) {
  const bool along = tables.along_sums != nullptr;
  if (tables.across_sums != nullptr) {
    along ? marginals_with<true, true>(rows, weights, tables, out)
          : marginals_with<false, true>(rows, weights, tables, out);
  } else {
    along ? marginals_with<true, false>(rows, weights, tables, out)
          : marginals_with<false, false>(rows, weights, tables, out);
  }
}

/// A step under way.
struct Going {
  const RowGrid& rows;
  double* const weights;
  const RowTables& tables;
  const RowStep& step;
  Eight squares{};  ///< weighted
  Part farthest = same(0.0);
  bool leapt = false;
};

/// The growth of n weights by moves that need exponentials, or are leaps.
void grow_far(Going& going, double* weights, const double* moves, std::size_t n) {
  double largest = 0;
  for (std::size_t i = 0; i < n; ++i) {
    const double size = moves[i] < 0 ? -moves[i] : moves[i];
    largest = size > largest ? size : largest;
  }
  if (!(largest <= going.step.leap)) {
    double* leaps = going.step.leaps;
    const RowGrid& rows = going.rows;
    if (!going.leapt) std::memset(leaps, 0, rows.n * rows.outer.size * rows.inner.size * sizeof(double));
    std::memcpy(leaps + (weights - going.weights), moves, n * sizeof(double));
    going.leapt = true;
    return;
  }
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) {
    store(weights + i, load(weights + i) * exp_lanes(load(moves + i)));
  }
  if (i == n) return;
  store_some(weights + i, n - i, load_some(weights + i, n - i) * exp_lanes(load_some(moves + i, n - i)));
}

/// Multiplies a chunk of weights, `own`, by the exponentials of its moves.
template <class Chunk>
inline void grow(Going& going, const Chunk& chunk, double* weights, const Part* own, const Part* moves,
                 Part largest) {
  if (!any_above(largest, kTinyMoves)) {
    for (std::size_t k = 0; k < chunk.count; ++k) chunk.store_at(weights, k, grown_by_tiny(own[k], moves[k]));
  } else if (!any_above(largest, kSmallMoves)) {
    for (std::size_t k = 0; k < chunk.count; ++k)
      chunk.store_at(weights, k, grown_by_small(own[k], moves[k]));
  } else {
    alignas(64) double room[kChunk];
    for (std::size_t k = 0; k < chunk.count; ++k) store(room + k * kPartLanes, moves[k]);
    grow_far(going, weights, room, (chunk.count - 1) * kPartLanes + chunk.tail);
  }
}

template <bool kOne, bool kAlong, bool kAcross, class Chunk>
inline void step_rows(Going& going, const Chunk& chunk, std::size_t at) {
  // All that the loop reads is copied: for all the compiler knows a store of weights could change it.
  const RowGrid rows = going.rows;
  const RowTables tables = going.tables;
  const RowStep step = going.step;
  const Part back = same(kOne ? -step.alpha * step.weight : -step.alpha);
  Eight squares = going.squares;
  Part farthest = going.farthest;
  for (std::size_t o = 0; o < rows.outer.size; ++o) {
    Part along[chunk.count];
    Part sums[chunk.count];
    for (std::size_t k = 0; k < chunk.count; ++k) {
      along[k] = chunk.load_at(tables.along + o * rows.outer.along + at, k);
      if (kAlong) sums[k] = chunk.load_at(tables.along_sums + o * rows.outer.along + at, k);
    }
    std::size_t cell = o * rows.outer.cells + at;
    std::size_t row = o * rows.outer.across;
    for (std::size_t i = 0; i < rows.inner.size; ++i, cell += rows.inner.cells, row += rows.inner.across) {
      const Part factor = same(tables.across[row]);
      Part own[chunk.count];
      Part moves[chunk.count];
      Part largest = same(0.0);
      Eight sum;
      for (std::size_t k = 0; k < chunk.count; ++k) {
        own[k] = chunk.load_at(going.weights + cell, k);
        const Part marginal = own[k] * along[k] * factor;
        if (kAlong) sums[k] = sums[k] + marginal;
        if (kAcross) sum.add(k, marginal);
        const Part off = marginal - chunk.load_at(step.values + cell, k);
        const Part weighted = kOne ? off : chunk.load_at(step.weights + cell, k) * off;
        squares.add(k, weighted * off);
        moves[k] = back * weighted;
        largest = k == 0 ? absolute(moves[k]) : larger(largest, absolute(moves[k]));
      }
      if (kAcross) tables.across_sums[row] += sum.sum();
      farthest = larger(farthest, largest);
      grow(going, chunk, going.weights + cell, own, moves, largest);
    }
    for (std::size_t k = 0; kAlong && k < chunk.count; ++k) {
      chunk.store_at(tables.along_sums + o * rows.outer.along + at, k, sums[k]);
    }
  }
  going.squares = squares;
  going.farthest = farthest;
}

template <bool kOne, bool kAlong, bool kAcross>
RowMoves step_with(const RowGrid& rows, double* weights, const RowTables& tables, const RowStep& step) {
  Going going{rows, weights, tables, step};
  for_chunks(rows.n, [&](auto chunk, std::size_t at) { step_rows<kOne, kAlong, kAcross>(going, chunk, at); });
  double far[kPartLanes];
  store(far, going.farthest);
  double largest = 0;
  for (const double x : far) largest = x > largest ? x : largest;
  return {0.5 * going.squares.sum() * (kOne ? step.weight : 1.0), largest, going.leapt};
}

template <bool kOne>
RowMoves step_for(const RowGrid& rows, double* weights, const RowTables& tables, const RowStep& step) {
  const bool along = tables.along_sums != nullptr;
  if (tables.across_sums != nullptr) {
    return along ? step_with<kOne, true, true>(rows, weights, tables, step)
                 : step_with<kOne, false, true>(rows, weights, tables, step);
  }
  return along ? step_with<kOne, true, false>(rows, weights, tables, step)
               : step_with<kOne, false, false>(rows, weights, tables, step);
}

RowMoves step(const RowGrid& rows, double* weights, const RowTables& tables, const RowStep& step) {
  return step.weights == nullptr ? step_for<true>(rows, weights, tables, step)
                                 : step_for<false>(rows, weights, tables, step);
}

}  // namespace

#define PYPGM_JOIN_(a, b) a##b
#define PYPGM_JOIN(a, b) PYPGM_JOIN_(a, b)

extern const RowKernels PYPGM_JOIN(row_kernels_, PYPGM_ISA);
const RowKernels PYPGM_JOIN(row_kernels_, PYPGM_ISA) = {sum_across, sum_along, marginals, step};

}  // namespace pypgm
