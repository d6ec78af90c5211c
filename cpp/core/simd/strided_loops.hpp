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

template <std::size_t n>
struct Count {};

/// Calls body with 2 <= n < 8 as a constant.
template <class Body>
inline void with_constant(std::size_t n, const Body& body) {
  if (n == 2) return body(Count<2>());
  if (n == 3) return body(Count<3>());
  if (n == 4) return body(Count<4>());
  if (n == 5) return body(Count<5>());
  if (n == 6) return body(Count<6>());
  body(Count<7>());
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
    if (n < kLanes && step == n) return short_rows<true>(l, s, count, n);
    for (std::size_t r = 0; r < count; ++r) shared(l + r * step, s, n);
  }
  void rows(std::size_t l, std::size_t s, std::size_t count, std::size_t n) const {
    if (n < kLanes) return short_rows<false>(l, s, count, n);
    for (std::size_t r = 0; r < count; ++r) apart(l + r * n, s + r, n);
  }
  /// Rows of fewer than eight, each with the same cells of the small table or with one cell of its own.
  template <bool columns>
  void short_rows(std::size_t l, std::size_t s, std::size_t count, std::size_t n) const {
    with_constant(n, [=, this]<std::size_t width>(Count<width>) {
      const double* const row = from + s;
      for (std::size_t r = 0; r < count; ++r) {
        const double* const old = in + l + r * width;
        double cells[width];
        for (std::size_t i = 0; i < width; ++i) cells[i] = Op::apply(old[i], row[columns ? i : r]);
        std::memcpy(out + l + r * width, cells, sizeof cells);
      }
    });
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
    with_constant(n, [=]<std::size_t width>(Count<width>) { add_rows<width>(row, to, count); });
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
