#pragma once
// Loops over two tables, one inside the other as a Layout says: expand, combine, sums, maxima. For
// kernels.cpp alone, which is compiled for each instruction set: nothing here may have external linkage.
#include "core/simd/contiguous_loops.hpp"

namespace pypgm {

namespace {

constexpr std::size_t kShortRun = 32;  // cells of a run that is worked on with its neighbours

/// Calls row.shared for each innermost run that the small table has, and row.apart for each that it lacks,
/// with the offsets in the large and the small table. Where the row has these, consecutive runs that the
/// small table lacks go to row.rows together, consecutive runs that share one run of it to row.columns.
template <class Row>
inline void walk(const Row& row, std::size_t large, std::size_t small, AxisRange axes) {
  if (axes.n == 0) return row.shared(large, small, 1);
  const Axis& axis = *axes.first;
  if (axes.n == 1)
    return axis.small != 0 ? row.shared(large, small, axis.size) : row.apart(large, small, axis.size);
  const Axis& run = axes.first[1];
  if constexpr (requires { &Row::rows; }) {
    if (axes.n == 2 && run.small != 0) return row.columns(large, small, axis.size, axis.large, run.size);
    if (axes.n == 2) return row.rows(large, small, axis.size, run.size);
  }
  for (std::size_t i = 0; i < axis.size; ++i, large += axis.large, small += axis.small) {
    if (axes.n > 2) {
      walk(row, large, small, {axes.first + 1, axes.n - 1});
    } else if (run.small != 0) {
      row.shared(large, small, run.size);
    } else {
      row.apart(large, small, run.size);
    }
  }
}

template <class Op>
struct CombineRow {
  double* out;
  const double* in;
  const double* from;

  void shared(std::size_t l, std::size_t s, std::size_t n) const {
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store(out + l + i, Op::apply(load(in + l + i), load(from + s + i)));
    for (; i < n; ++i) out[l + i] = Op::apply(in[l + i], from[s + i]);
  }
  void apart(std::size_t l, std::size_t s, std::size_t n) const {
    const double value = from[s];
    const Lanes values = fill(value);
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) store(out + l + i, Op::apply(load(in + l + i), values));
    for (; i < n; ++i) out[l + i] = Op::apply(in[l + i], value);
  }
  void columns(std::size_t l, std::size_t s, std::size_t count, std::size_t step, std::size_t n) const {
    if (step == n && n < kShortRun && count >= kLanes) return repeat(l, s, count * n, n);
    for (std::size_t r = 0; r < count; ++r) shared(l + r * step, s, n);
  }
  /// The same short run again and again; a vector begins anywhere in it. Run by run it takes 1.3 to 2.5 times
  /// as long for 16 of them, 1.5 to 8 times for 1,000, and longer for fewer than 8.
  void repeat(std::size_t l, std::size_t s, std::size_t cells, std::size_t n) const {
    double run[kShortRun + kLanes];
    for (std::size_t i = 0; i < n + kLanes; ++i) run[i] = i < n ? from[s + i] : run[i - n];
    std::size_t i = 0, place = 0;
    for (; i + kLanes <= cells; i += kLanes) {
      store(out + l + i, Op::apply(load(in + l + i), load(run + place)));
      place += kLanes % n;
      if (place >= n) place -= n;
    }
    for (; i < cells; ++i, place = place + 1 == n ? 0 : place + 1)
      out[l + i] = Op::apply(in[l + i], run[place]);
  }
  void rows(std::size_t l, std::size_t s, std::size_t count, std::size_t n) const {
    std::size_t r = 0;
    if (n == 2) r = spread<2>(l, s, count);
    if (n == 3) r = spread<3>(l, s, count);
    if (n == 4) r = spread<4>(l, s, count);
    if (n == 5) r = spread<5>(l, s, count);
    if (n == 6) r = spread<6>(l, s, count);
    if (n == 7) r = spread<7>(l, s, count);
    for (; r < count; ++r) apart(l + r * n, s + r, n);
  }
  /// Eight rows of n cells at a time; returns how many are done. Row by row they take 1.5 to 8 times as long.
  template <std::size_t n>
  std::size_t spread(std::size_t l, std::size_t s, std::size_t count) const {
    std::size_t r = 0;
    for (; r + kLanes <= count; r += kLanes) {
      double values[n * kLanes];
      for (std::size_t k = 0; k < kLanes; ++k) {
        for (std::size_t i = 0; i < n; ++i) values[k * n + i] = from[s + r + k];
      }
      const std::size_t first = l + r * n;
      for (std::size_t i = 0; i < n * kLanes; i += kLanes) {
        store(out + first + i, Op::apply(load(in + first + i), load(values + i)));
      }
    }
    return r;
  }
};

struct Assign {
  static auto apply(auto /*a*/, auto b) { return b; }
};
struct Add {
  static auto apply(auto a, auto b) { return a + b; }
};
struct Subtract {
  static auto apply(auto a, auto b) { return a - b; }
};
struct Multiply {
  static auto apply(auto a, auto b) { return a * b; }
};

struct SumRow {
  const double* table;
  double* sums;

  void shared(std::size_t l, std::size_t s, std::size_t n) const {
    for (std::size_t i = 0; i < n; ++i) sums[s + i] += table[l + i];
  }
  void apart(std::size_t l, std::size_t s, std::size_t n) const { sums[s] += sum(table + l, n); }
  void columns(std::size_t l, std::size_t s, std::size_t count, std::size_t step, std::size_t n) const {
    std::size_t i = 0;
    if (step == n && n <= kLanes) return add_short<1>(l, s, count, n);
    if (step == n && n <= 2 * kLanes) return add_short<2>(l, s, count, n);
    if (step == n && n <= kChains * kLanes) return add_short<kChains>(l, s, count, n);
    for (; i + kChains * kLanes <= n; i += kChains * kLanes) add_columns<kChains>(l + i, s + i, count, step);
    for (; i + kLanes <= n; i += kLanes) add_columns<1>(l + i, s + i, count, step);
    for (std::size_t r = 0; r < count && i < n; ++r) shared(l + r * step + i, s + i, n - i);
  }
  /// Sums runs of at most `width` vectors; the last vector may read into the next run. Sums over such runs
  /// one vector at a time take 1.4 to 1.7 times as long (bench_kernels_reduce), sweeps over triples 1.03
  /// to 1.08.
  template <std::size_t width>
  void add_short(std::size_t l, std::size_t s, std::size_t count, std::size_t n) const {
    const double* row = table + l;
    Lanes lanes[width];
    for (std::size_t c = 0; c < width; ++c) lanes[c] = fill(0.0);
    std::size_t r = 0;
    for (; r * n + width * kLanes <= count * n; ++r, row += n) {
      for (std::size_t c = 0; c < width; ++c) lanes[c] = lanes[c] + load(row + c * kLanes);
    }
    double runs[width * kLanes];
    for (std::size_t c = 0; c < width; ++c) store(runs + c * kLanes, lanes[c]);
    for (; r < count; ++r, row += n) {
      for (std::size_t i = 0; i < n; ++i) runs[i] += row[i];
    }
    for (std::size_t i = 0; i < n; ++i) sums[s + i] += runs[i];
  }
  /// Sums the first vectors of many rows; the sums stay in registers. Four vectors at a time: one at a time
  /// takes 1.5 to 1.7 times as long (bench_kernels_reduce, 100 values), a sweep over triples of 40
  /// values 1.3.
  template <std::size_t width>
  void add_columns(std::size_t l, std::size_t s, std::size_t count, std::size_t step) const {
    Lanes lanes[width];
    for (std::size_t c = 0; c < width; ++c) lanes[c] = load(sums + s + c * kLanes);
    for (std::size_t r = 0; r < count; ++r) {
      for (std::size_t c = 0; c < width; ++c) lanes[c] = lanes[c] + load(table + l + r * step + c * kLanes);
    }
    for (std::size_t c = 0; c < width; ++c) store(sums + s + c * kLanes, lanes[c]);
  }
  void rows(std::size_t l, std::size_t s, std::size_t count, std::size_t n) const {
    if (n < kLanes) return short_rows(table + l, sums + s, count, n);
    for (std::size_t r = 0; r < count; ++r) apart(l + r * n, s + r, n);
  }
  /// Rows of fewer than eight, added in the order of sum_lanes. As other rows they take 2.3 to 2.5 times as
  /// long (bench_kernels_reduce, 4 values), sweeps over triples of 3 or 5 values 1.02 to 1.05.
  static void short_rows(const double* row, double* to, std::size_t count, std::size_t n) {
    if (n == 2) return add_rows<2>(row, to, count);
    if (n == 3) return add_rows<3>(row, to, count);
    if (n == 4) return add_rows<4>(row, to, count);
    if (n == 5) return add_rows<5>(row, to, count);
    if (n == 6) return add_rows<6>(row, to, count);
    add_rows<7>(row, to, count);
  }
  template <std::size_t n>
  static void add_rows(const double* row, double* to, std::size_t count) {
    const auto pair = [](const double* p, std::size_t i) {
      if (i >= n) return 0.0;
      return i + 1 < n ? p[i] + p[i + 1] : p[i];
    };
    for (std::size_t r = 0; r < count; ++r, row += n) {
      to[r] += (pair(row, 0) + pair(row, 2)) + (pair(row, 4) + pair(row, 6));
    }
  }
};

struct MaxRow {
  const double* table;
  double* tops;

  void shared(std::size_t l, std::size_t s, std::size_t n) const { columns(l, s, 1, n, n); }
  void apart(std::size_t l, std::size_t s, std::size_t n) const {
    const double top = max(table + l, n);
    tops[s] = top > tops[s] ? top : tops[s];
  }
  void columns(std::size_t l, std::size_t s, std::size_t count, std::size_t step, std::size_t n) const {
    for (std::size_t i = 0; i < n; i += kLanes) {
      const std::size_t k = n - i < kLanes ? n - i : kLanes;
      Lanes top = load_up_to(tops + s + i, k);
      for (std::size_t r = 0; r < count; ++r) top = larger(top, load_up_to(table + l + r * step + i, k));
      store_up_to(tops + s + i, k, top);
    }
  }
  void rows(std::size_t l, std::size_t s, std::size_t count, std::size_t n) const {
    for (std::size_t r = 0; r < count; ++r) apart(l + r * n, s + r, n);
  }
};

struct ExpRow {
  const double* table;
  const double* shift;
  double* out;  ///< or null
  double* sums;

  void shared(std::size_t l, std::size_t s, std::size_t n) const {
    for_cells(n, [=, this](auto at, auto put) {
      const Lanes weights = exp_lanes(at(table + l) - at(shift + s));
      if (out != nullptr) put(out + l, weights);
      put(sums + s, at(sums + s) + weights);
    });
  }
  void apart(std::size_t l, std::size_t s, std::size_t n) const {
    const Lanes shifts = fill(shift[s]);
    sums[s] += sum_lanes(fold(n, fill(0.0), kPlus, [=, this](std::size_t i, std::size_t k) {
      const Lanes weights = exp_lanes(load_up_to(table + l + i, k, -kInfinity) - shifts);
      if (out != nullptr) store_up_to(out + l + i, k, weights);
      return weights;
    }));
  }
  void columns(std::size_t l, std::size_t s, std::size_t count, std::size_t step, std::size_t n) const {
    if (out != nullptr && step == n && n < kShortRun) return by_passes<true>(l, s, count, n);
    for (std::size_t r = 0; r < count; ++r) shared(l + r * step, s, n);
  }
  void rows(std::size_t l, std::size_t s, std::size_t count, std::size_t n) const {
    if (out != nullptr && n < kShortRun) return by_passes<false>(l, s, count, n);
    for (std::size_t r = 0; r < count; ++r) apart(l + r * n, s + r, n);
  }
  /// Short runs would leave many lanes of the exponentials empty.
  template <bool columns>
  void by_passes(std::size_t l, std::size_t s, std::size_t count, std::size_t n) const {
    const CombineRow<Subtract> less{out, table, shift};
    for (std::size_t r = 0; r < count; ++r) {
      columns ? less.shared(l + r * n, s, n) : less.apart(l + r * n, s + r, n);
    }
    exp_shifted(out + l, count * n, 0.0, out + l);
    const SumRow sum{out, sums};
    columns ? sum.columns(l, s, count, n, n) : sum.rows(l, s, count, n);
  }
};

inline void assign(double* large, const double* small, AxisRange axes) {
  walk(CombineRow<Assign>{large, large, small}, 0, 0, axes);
}

template <class Op>
inline void combine(double* out, const double* in, const double* small, AxisRange axes) {
  walk(CombineRow<Op>{out, in, small}, 0, 0, axes);
}

template <class Row>
inline void reduce(const double* large, double* small, AxisRange axes) {
  walk(Row{large, small}, 0, 0, axes);
}

inline void exp_rows(const double* large, const double* shift, double* out, double* sums, AxisRange axes) {
  walk(ExpRow{large, shift, out, sums}, 0, 0, axes);
}

}  // namespace

}  // namespace pypgm
