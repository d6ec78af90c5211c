// Loops over the rows of a clique, compiled once for each instruction set, with PYPGM_ISA its name; see
// kernels.cpp.
#include "core/simd/row_kernels.hpp"

#include "core/simd/growth.hpp"
#include "core/simd/kernel_set.hpp"
#include "core/simd/partial_lanes.hpp"

namespace pypgm {

namespace {

// Rows are worked on in chunks of as many cells as stay in registers between what is known of them and their
// growth. Weights are stored in the order they lie in memory: going through them in strides of rows costs up
// to four times as much where they come from memory.
constexpr std::size_t kParts = kPartLanes == kLanes ? 2 : 4;  // 16 cells in registers of four lanes or eight
constexpr std::size_t kChunk = kParts * kPartLanes;
constexpr std::size_t kEighths = kLanes / kPartLanes;  // registers of eight lanes

inline Part load_part(const double* p) {
  Part x;
  read(x, p);
  return x;
}

/// Neighbouring cells of a row.
template <std::size_t kCount>
struct Whole {
  static constexpr std::size_t count = kCount;

  std::size_t cells() const { return kCount * kPartLanes; }
  Part load_at(const double* p, std::size_t k) const { return load_part(p + k * kPartLanes); }
  Part load_stored(const double* p, std::size_t k) const { return load_at(p, k); }
  void store_at(double* p, std::size_t k, Part x) const { store(p + k * kPartLanes, x); }
};

/// Those of which the last part has `tail` lanes.
template <std::size_t kCount>
struct Chunk {
  static constexpr std::size_t count = kCount;
  std::size_t tail;

  std::size_t cells() const { return (kCount - 1) * kPartLanes + tail; }
  Part load_at(const double* p, std::size_t k) const {
    return k + 1 < kCount ? load_part(p + k * kPartLanes) : load_first(p + k * kPartLanes, tail);
  }
  /// The same of what was stored by store_at not long ago.
  Part load_stored(const double* p, std::size_t k) const {
    return k + 1 < kCount ? load_part(p + k * kPartLanes) : load_stored_first(p + k * kPartLanes, tail);
  }
  void store_at(double* p, std::size_t k, Part x) const {
    k + 1 < kCount ? store(p + k * kPartLanes, x) : store_first(p + k * kPartLanes, tail, x);
  }
};

/// The n < 8 cells at the end of a long row.
struct Loose {
  static constexpr std::size_t count = kEighths;
  std::size_t n;

  std::size_t cells() const { return n; }
  std::size_t lanes(std::size_t k) const {
    const std::size_t behind = n < k * kPartLanes ? 0 : n - k * kPartLanes;
    return behind < kPartLanes ? behind : kPartLanes;
  }
  Part load_at(const double* p, std::size_t k) const {
    return lanes(k) == 0 ? same(0.0) : load_first(p + k * kPartLanes, lanes(k));
  }
  Part load_stored(const double* p, std::size_t k) const { return load_at(p, k); }
  void store_at(double* p, std::size_t k, Part x) const {
    if (lanes(k) > 0) store_first(p + k * kPartLanes, lanes(k), x);
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
  // The sums stay in registers while a loop goes over rows that share them.
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

/// A step under way.
struct Going {
  const RowGrid& rows;
  double* const weights;
  const RowTables& tables;
  const RowStep& step;
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
PYPGM_ALWAYS_INLINE void grow(Going& going, const Chunk& chunk, double* weights, const Part* own,
                              const Part* moves, Part largest) {
  if (!any_above(largest, kTinyMoves)) {
    for (std::size_t k = 0; k < chunk.count; ++k) chunk.store_at(weights, k, grown_by_tiny(own[k], moves[k]));
  } else if (!any_above(largest, kSmallMoves)) {
    for (std::size_t k = 0; k < chunk.count; ++k)
      chunk.store_at(weights, k, grown_by_small(own[k], moves[k]));
  } else {
    alignas(64) double room[kChunk];
    for (std::size_t k = 0; k < chunk.count; ++k) store(room + k * kPartLanes, moves[k]);
    grow_far(going, weights, room, chunk.cells());
  }
}

/// Where the loops are: pointers to a chunk of a row.
struct Place {
  double* weights;
  const double* values;
  const double* measured;  ///< weights of the measured values
  const double* along;
  double* along_sums;

  template <bool kOne, bool kAlong>
  Place at(std::size_t cell, std::size_t along_cell) const {
    return {weights + cell, values + cell, kOne ? nullptr : measured + cell, along + along_cell,
            kAlong ? along_sums + along_cell : nullptr};
  }
};

/// What a step adds up, kept in registers by its loops: for all the compiler knows a store of weights could
/// change what is behind a pointer.
struct Tally {
  Eight squares;  ///< weighted
  Part farthest = same(0.0);
};

/// Takes the step of a chunk; adds its marginal to `sum`.
template <bool kOne, bool kAlong, class Some>
PYPGM_ALWAYS_INLINE void step_chunk(Going& going, const Some& chunk, const Place& to, Part factor, Part back,
                                    Tally& tally, Eight& sum) {
  Part own[Some::count];
  Part moves[Some::count];
  Part largest = same(0.0);
  for (std::size_t k = 0; k < chunk.count; ++k) {
    own[k] = chunk.load_at(to.weights, k);
    const Part marginal = own[k] * chunk.load_at(to.along, k) * factor;
    if (kAlong) chunk.store_at(to.along_sums, k, chunk.load_stored(to.along_sums, k) + marginal);
    sum.add(k, marginal);
    const Part off = marginal - chunk.load_at(to.values, k);
    const Part weighted = kOne ? off : chunk.load_at(to.measured, k) * off;
    tally.squares.add(k, weighted * off);
    moves[k] = back * weighted;
    largest = k == 0 ? absolute(moves[k]) : larger(largest, absolute(moves[k]));
  }
  tally.farthest = larger(tally.farthest, largest);
  grow(going, chunk, to.weights, own, moves, largest);
}

/// Takes the steps of all rows: of chunks of eight cells and a last one, or of `last` alone where a row is no
/// longer than that.
template <bool kOne, bool kAlong, bool kAcross, bool kLong, class Last>
void step_rows(Going& going, const Last last, Tally& total) {
  const RowGrid rows = going.rows;
  const RowTables tables = going.tables;
  const Part back = same(kOne ? -going.step.alpha * going.step.weight : -going.step.alpha);
  Tally tally = total;
  Place first{going.weights, going.step.values, going.step.weights, tables.along, tables.along_sums};
  for (std::size_t o = 0; o < rows.outer.size; ++o) {
    for (std::size_t i = 0; i < rows.inner.size; ++i) {
      const std::size_t row = o * rows.outer.across + i * rows.inner.across;
      Place to = first.at<kOne, kAlong>(0, o * rows.outer.along + i * rows.inner.along);
      const Part factor = same(tables.across[row]);
      Eight sum;
      std::size_t at = 0;
      for (; kLong && at + kLanes <= rows.n; at += kLanes) {
        step_chunk<kOne, kAlong>(going, Whole<kEighths>{}, to, factor, back, tally, sum);
        to = to.at<kOne, kAlong>(kLanes, kLanes);
      }
      if (!kLong || at < rows.n) step_chunk<kOne, kAlong>(going, last, to, factor, back, tally, sum);
      if (kAcross) tables.across_sums[row] += sum.sum();
      first = first.at<kOne, kAlong>(rows.n, 0);
    }
  }
  total = tally;
}

template <bool kOne, bool kAlong, bool kAcross>
RowMoves step_with(const RowGrid& rows, double* weights, const RowTables& tables, const RowStep& step) {
  Going going{rows, weights, tables, step};
  Tally tally;
  if (rows.n <= kChunk) {
    for_chunks(rows.n, [&](auto chunk, std::size_t) {
      step_rows<kOne, kAlong, kAcross, false>(going, chunk, tally);
    });
  } else {
    step_rows<kOne, kAlong, kAcross, true>(going, Loose{rows.n % kLanes}, tally);
  }
  double far[kPartLanes];
  store(far, tally.farthest);
  double largest = 0;
  for (const double x : far) largest = x > largest ? x : largest;
  return {0.5 * tally.squares.sum() * (kOne ? step.weight : 1.0), largest, going.leapt};
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

PYPGM_KERNEL_SET(RowKernels, row_kernels) = {sum_across, sum_along, multiply, step};

}  // namespace pypgm
