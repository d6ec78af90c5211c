#pragma once
// Loops over two tables of which one lies inside the other. For kernels.cpp alone, which is compiled once for
// each instruction set: nothing here may have external linkage.
#include "core/kernels_flat.hpp"

namespace pypgm {

namespace {

/// Walks a layout and hands its innermost runs to row.shared (run present in the small table) or row.apart,
/// as places in the large and the small table. Many runs apart, one behind the other, go to row.rows, many
/// that share one run of the small table to row.columns.
template <class Row>
void walk(const Row& row, std::size_t large, std::size_t small, const Axis* axes, std::size_t n_axes) {
  if (n_axes == 0) return row.shared(large, small, 1);
  const Axis& axis = axes[0];
  if (n_axes == 1)
    return axis.small != 0 ? row.shared(large, small, axis.size) : row.apart(large, small, axis.size);
  if (n_axes > 2) {
    for (std::size_t i = 0; i < axis.size; ++i) {
      walk(row, large + i * axis.large, small + i * axis.small, axes + 1, n_axes - 1);
    }
    return;
  }
  const std::size_t n = axes[1].size;
  if (axes[1].small != 0) {
    row.columns(large, small, axis.size, axis.large, n);
  } else {
    row.rows(large, small, axis.size, n);
  }
}

template <class Op>
struct CombineRow {
  double* out;
  const double* in;
  const double* from;

  void shared(std::size_t l, std::size_t s, std::size_t n) const {
    for (std::size_t i = 0; i < n; ++i) out[l + i] = Op::apply(in[l + i], from[s + i]);
  }
  void apart(std::size_t l, std::size_t s, std::size_t n) const {
    const double value = from[s];
    for (std::size_t i = 0; i < n; ++i) out[l + i] = Op::apply(in[l + i], value);
  }
  void columns(std::size_t l, std::size_t s, std::size_t count, std::size_t step, std::size_t n) const {
    std::size_t r = 0;
    if ((!Op::kReads || out != in) && step == n && n < kManyCells) {
      // A short run, as many times as fit: whole lanes run over into the next rows, which are written later.
      const std::size_t together = kManyCells / n;
      double runs[kManyCells + kLanes] = {};
      for (std::size_t i = 0; i < together * n; ++i) runs[i] = from[s + i % n];
      for (; (r + together) * n + kLanes <= count * n; r += together) {
        for (std::size_t i = 0; i < together * n; i += kLanes) {
          const Lanes values = load(runs + i);
          store(out + l + r * n + i, Op::apply(Op::kReads ? load(in + l + r * n + i) : values, values));
        }
      }
    }
    for (; r < count; ++r) shared(l + r * step, s, n);
  }
  void rows(std::size_t l, std::size_t s, std::size_t count, std::size_t n) const {
    std::size_t r = 0;
    for (; n == 2 && r + kLanes <= count; r += kLanes) {
      const Lanes values = load(from + s + r);
      const std::size_t at = l + 2 * r;
      const Lanes low = twice_low(values);
      const Lanes high = twice_high(values);
      store(out + at, Op::apply(Op::kReads ? load(in + at) : low, low));
      store(out + at + kLanes, Op::apply(Op::kReads ? load(in + at + kLanes) : high, high));
    }
    if ((!Op::kReads || out != in) && n < kManyCells) {
      // Whole lanes run over into the next row, which is written after this one.
      for (; (r + 1) * n + kLanes <= count * n; ++r) {
        const Lanes value = fill(from[s + r]);
        for (std::size_t i = r * n; i < (r + 1) * n; i += kLanes) {
          store(out + l + i, Op::apply(Op::kReads ? load(in + l + i) : value, value));
        }
      }
    }
    for (; r < count; ++r) apart(l + r * n, s + r, n);
  }
};

struct Assign {
  static constexpr bool kReads = false;
  static double apply(double /*a*/, double b) { return b; }
  static Lanes apply(Lanes /*a*/, Lanes b) { return b; }
};
struct Add {
  static constexpr bool kReads = true;
  static double apply(double a, double b) { return a + b; }
  static Lanes apply(Lanes a, Lanes b) { return a + b; }
};
struct Multiply {
  static constexpr bool kReads = true;
  static double apply(double a, double b) { return a * b; }
  static Lanes apply(Lanes a, Lanes b) { return a * b; }
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
    if (step == n && n < kManyCells / 2) {
      const std::size_t done = add_runs(l, s, count, n);
      for (std::size_t r = done; r < count; ++r) shared(l + r * n, s, n);
      return;
    }
    for (; i + kChains * kLanes <= n; i += kChains * kLanes) add_columns<kChains>(l + i, s + i, count, step);
    for (; i + kLanes <= n; i += kLanes) add_columns<1>(l + i, s + i, count, step);
    for (std::size_t r = 0; r < count && i < n; ++r) shared(l + r * step + i, s + i, n - i);
  }
  /// Adds up short runs, as many side by side as fit, and these at last; returns how many there were.
  std::size_t add_runs(std::size_t l, std::size_t s, std::size_t count, std::size_t n) const {
    const std::size_t together = kManyCells / n;
    const std::size_t cells = together * n;
    const std::size_t whole = cells / kLanes;
    const Bits rest = lanes_before(cells - whole * kLanes);
    Lanes lanes[kLanes + 1] = {};
    std::size_t r = 0;
    for (; (r + together) * n + kLanes <= count * n; r += together) {
      const double* at = table + l + r * n;
      for (std::size_t i = 0; i < whole; ++i) lanes[i] = lanes[i] + load(at + i * kLanes);
      lanes[whole] = lanes[whole] + first_lanes(load(at + whole * kLanes), rest);
    }
    double runs[kManyCells + kLanes];
    for (std::size_t i = 0; i <= whole; ++i) store(runs + i * kLanes, lanes[i]);
    for (std::size_t i = 0; r > 0 && i < cells; ++i) sums[s + i % n] += runs[i];
    return r;
  }
  /// The first lanes of many rows, added to the same place while it stays in registers.
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
    const double* row = table + l;
    std::size_t r = 0;
    // Eight rows at a time, each in eight lanes; the last lanes of a row may reach into the next one. The
    // numbers are added in the order of sum(), so that it does not matter where a table is cut.
    const std::size_t whole = n / kLanes * kLanes;
    const Bits rest = lanes_before(n - whole);
    const auto add_row = [=](const double* p) {
      Lanes lanes = fill(0.0);
      for (std::size_t i = 0; i < whole; i += kLanes) lanes = lanes + load(p + i);
      return whole < n ? lanes + first_lanes(load(p + whole), rest) : lanes;
    };
    for (; n < kManyCells && (r + kLanes) * n + kLanes <= count * n; r += kLanes, row += kLanes * n) {
      const Lanes lanes[kLanes] = {add_row(row),         add_row(row + n),     add_row(row + 2 * n),
                                   add_row(row + 3 * n), add_row(row + 4 * n), add_row(row + 5 * n),
                                   add_row(row + 6 * n), add_row(row + 7 * n)};
      store(sums + s + r, load(sums + s + r) + sum_each(lanes));
    }
    if (n < kManyCells && count - r > 1 && count - r <= kLanes) {
      // The last rows, with zeros behind them.
      double last[kLanes * kManyCells + kLanes];
      std::memset(last, 0, (kLanes * n + kLanes) * sizeof(double));
      std::memcpy(last, row, (count - r) * n * sizeof(double));
      const Lanes lanes[kLanes] = {add_row(last),         add_row(last + n),     add_row(last + 2 * n),
                                   add_row(last + 3 * n), add_row(last + 4 * n), add_row(last + 5 * n),
                                   add_row(last + 6 * n), add_row(last + 7 * n)};
      double totals[kLanes];
      store(totals, sum_each(lanes));
      for (std::size_t k = 0; r < count; ++k, ++r) sums[s + r] += totals[k];
      return;
    }
    for (; r < count; ++r, row += n) sums[s + r] += sum(row, n);
  }
};

struct MaxRow {
  const double* table;
  double* tops;

  void shared(std::size_t l, std::size_t s, std::size_t n) const {
    for (std::size_t i = 0; i < n; ++i) tops[s + i] = table[l + i] > tops[s + i] ? table[l + i] : tops[s + i];
  }
  void apart(std::size_t l, std::size_t s, std::size_t n) const {
    const double top = max(table + l, n);
    tops[s] = top > tops[s] ? top : tops[s];
  }
  void columns(std::size_t l, std::size_t s, std::size_t count, std::size_t step, std::size_t n) const {
    for (std::size_t r = 0; r < count; ++r) shared(l + r * step, s, n);
  }
  void rows(std::size_t l, std::size_t s, std::size_t count, std::size_t n) const {
    for (std::size_t r = 0; r < count; ++r) apart(l + r * n, s + r, n);
  }
};

struct ExpRow {
  const double* table;
  const double* shift;
  double* sums;

  void shared(std::size_t l, std::size_t s, std::size_t n) const {
    std::size_t i = 0;
    for (; i + kLanes <= n; i += kLanes) {
      store(sums + s + i, load(sums + s + i) + exp_lanes(load(table + l + i) - load(shift + s + i)));
    }
    if (i == n) return;
    const Lanes rest = exp_lanes(load_some(table + l + i, n - i) - load_some(shift + s + i, n - i));
    store_some(sums + s + i, n - i, load_some(sums + s + i, n - i) + rest);
  }
  void apart(std::size_t l, std::size_t s, std::size_t n) const {
    const Lanes shifts = fill(shift[s]);
    sums[s] += sum_lanes(fold(n, 0.0, kPlus, [=, this](std::size_t i, std::size_t k) {
      return exp_lanes(load_up_to(table + l + i, k, -kInfinity) - shifts);
    }));
  }
  void columns(std::size_t l, std::size_t s, std::size_t count, std::size_t step, std::size_t n) const {
    for (std::size_t r = 0; r < count; ++r) shared(l + r * step, s, n);
  }
  void rows(std::size_t l, std::size_t s, std::size_t count, std::size_t n) const {
    for (std::size_t r = 0; r < count; ++r) apart(l + r * n, s + r, n);
  }
};

void assign(double* large, const double* small, const Axis* axes, std::size_t n_axes) {
  walk(CombineRow<Assign>{large, large, small}, 0, 0, axes, n_axes);
}

template <class Op>
void combine(double* out, const double* in, const double* small, const Axis* axes, std::size_t n_axes) {
  walk(CombineRow<Op>{out, in, small}, 0, 0, axes, n_axes);
}

template <class Row>
void reduce(const double* large, double* small, const Axis* axes, std::size_t n_axes) {
  walk(Row{large, small}, 0, 0, axes, n_axes);
}

void reduce_exp(const double* large, const double* shift, double* small, const Axis* axes,
                std::size_t n_axes) {
  walk(ExpRow{large, shift, small}, 0, 0, axes, n_axes);
}

}  // namespace

}  // namespace pypgm
