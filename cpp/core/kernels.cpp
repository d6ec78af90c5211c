// Compiled once for each instruction set, with PYPGM_ISA its name. Everything here has internal linkage but
// the one table at the end, and no standard template is used: a symbol compiled for a newer machine and
// shared with the rest of the library could otherwise be the one the linker keeps.
#include "core/kernels.hpp"

#include "core/lanes.hpp"

namespace pypgm {

namespace {

void exp_shifted(const double* in, std::size_t n, double shift, double* out) {
  const Lanes shifts = fill(shift);
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) store(out + i, exp_lanes(load(in + i) - shifts));
  if (i < n) store_some(out + i, n - i, exp_lanes(load_some(in + i, n - i, shift) - shifts));
}

constexpr std::size_t kManyCells = 64;  // where a run is no longer short
constexpr std::size_t kChains = 4;

/// Folds n numbers into eight, so that the order of the operations is part of the program, not of the
/// machine: one operation after the other, or, where there are many, four chains of them that need not wait
/// for each other.
template <class Op, class Load>
inline Lanes fold(std::size_t n, double start, Op op, Load load_at) {
  Lanes lanes = fill(start);
  std::size_t i = 0;
  if (n >= kManyCells) {
    Lanes chains[kChains] = {lanes, lanes, lanes, lanes};
    for (; i + kChains * kLanes <= n; i += kChains * kLanes) {
      for (std::size_t c = 0; c < kChains; ++c) chains[c] = op(chains[c], load_at(i + c * kLanes, kLanes));
    }
    lanes = op(op(chains[0], chains[1]), op(chains[2], chains[3]));
  }
  for (; i + kLanes <= n; i += kLanes) lanes = op(lanes, load_at(i, kLanes));
  if (i < n) lanes = op(lanes, load_at(i, n - i));
  return lanes;
}

inline Lanes load_up_to(const double* p, std::size_t n, double rest) {
  return n == kLanes ? load(p) : load_some(p, n, rest);
}

constexpr auto kPlus = [](Lanes a, Lanes b) { return a + b; };
constexpr auto kLarger = [](Lanes a, Lanes b) { return larger(a, b); };

double max(const double* in, std::size_t n) {
  return largest_lane(fold(n, -kInfinity, kLarger,
                           [=](std::size_t i, std::size_t k) { return load_up_to(in + i, k, -kInfinity); }));
}

Extent extent(const double* in, std::size_t n) {
  const Lanes least = fold(
      n, kInfinity, [](Lanes a, Lanes b) { return smaller_finite(a, b); },
      [=](std::size_t i, std::size_t k) { return load_up_to(in + i, k, -kInfinity); });
  return {smallest_lane(least), max(in, n)};
}

double sum(const double* in, std::size_t n) {
  return sum_lanes(
      fold(n, 0.0, kPlus, [=](std::size_t i, std::size_t k) { return load_up_to(in + i, k, 0.0); }));
}

double dot(const double* a, const double* b, std::size_t n) {
  return sum_lanes(fold(n, 0.0, kPlus, [=](std::size_t i, std::size_t k) {
    return load_up_to(a + i, k, 0.0) * load_up_to(b + i, k, 0.0);
  }));
}

void scale(double* table, std::size_t n, double factor) {
  for (std::size_t i = 0; i < n; ++i) table[i] *= factor;
}

Extent normalise(double* table, std::size_t n) {
  const double peak = max(table, n);
  if (!(peak > 0)) return {kInfinity, peak};
  scale(table, n, 1 / peak);
  const Lanes least = fold(
      n, kInfinity, [](Lanes a, Lanes b) { return smaller_positive(a, b); },
      [=](std::size_t i, std::size_t k) { return load_up_to(table + i, k, 0.0); });
  return {smallest_lane(least), peak};
}

void add_scaled(const double* a, const double* b, double factor, std::size_t n, double* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = a[i] + factor * b[i];
}

double divide(const double* a, const double* b, double factor, std::size_t n, double* out) {
  for (std::size_t i = 0; i < n; ++i) out[i] = b[i] > 0 ? a[i] / (b[i] * factor) : 0.0;
  return max(out, n);
}

inline void store_up_to(double* p, std::size_t n, Lanes x) {
  n == kLanes ? store(p, x) : store_some(p, n, x);
}

double residuals(const double* table, const double* value, const double* weights, double weight,
                 std::size_t n, double* gradient) {
  return 0.5 * sum_lanes(fold(n, 0.0, kPlus, [=](std::size_t i, std::size_t k) {
           const Lanes at = load_up_to(table + i, k, 0.0);
           const Lanes difference = value == nullptr ? at : at - load_up_to(value + i, k, 0.0);
           const Lanes weighted =
               (weights == nullptr ? fill(weight) : load_up_to(weights + i, k, 0.0)) * difference;
           if (gradient != nullptr) store_up_to(gradient + i, k, load_up_to(gradient + i, k, 0.0) + weighted);
           return weighted * difference;
         }));
}

template <class Weight>
inline double descend_with(const double* table, const double* value, double step, std::size_t n,
                           const double* theta, double* next, double shift, double* out, Extent* extent,
                           Weight weight_at) {
  const Lanes steps = fill(step);
  const Lanes shifts = fill(shift);
  Lanes squared = fill(0.0);
  Lanes least = fill(kInfinity);
  Lanes largest = fill(-kInfinity);
  const auto go = [&](std::size_t i, std::size_t k) {
    const Lanes difference = load_up_to(table + i, k, 0.0) - load_up_to(value + i, k, 0.0);
    const Lanes weighted = weight_at(i, k) * difference;
    const Lanes moved = load_up_to(theta + i, k, -kInfinity) - steps * weighted;
    squared = squared + weighted * difference;
    least = smaller_finite(least, moved);
    largest = larger(largest, moved);
    store_up_to(next + i, k, moved);
    store_up_to(out + i, k, exp_lanes(moved - shifts));
  };
  std::size_t i = 0;
  for (; i + kLanes <= n; i += kLanes) go(i, kLanes);
  if (i < n) go(i, n - i);
  *extent = {smallest_lane(least), largest_lane(largest)};
  return 0.5 * sum_lanes(squared);
}

double descend(const double* table, const double* value, const double* weights, double weight, double step,
               std::size_t n, const double* theta, double* next, double shift, double* out, Extent* extent) {
  if (weights == nullptr) {
    const Lanes same = fill(weight);
    return descend_with(table, value, step, n, theta, next, shift, out, extent,
                        [=](std::size_t, std::size_t) { return same; });
  }
  return descend_with(table, value, step, n, theta, next, shift, out, extent,
                      [=](std::size_t i, std::size_t k) { return load_up_to(weights + i, k, 0.0); });
}

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
    const Bits rest = lanes_between(0, cells - whole * kLanes);
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
    const Bits rest = lanes_between(0, n - whole);
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
      const Lanes totals = sum_each(lanes);
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
    const Lanes rest = exp_lanes(load_some(table + l + i, n - i, 0.0) - load_some(shift + s + i, n - i, 0.0));
    store_some(sums + s + i, n - i, load_some(sums + s + i, n - i, 0.0) + rest);
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

#define PYPGM_JOIN_(a, b) a##b
#define PYPGM_JOIN(a, b) PYPGM_JOIN_(a, b)
#define PYPGM_TEXT_(a) #a
#define PYPGM_TEXT(a) PYPGM_TEXT_(a)

extern const Kernels PYPGM_JOIN(kernels_, PYPGM_ISA);
const Kernels PYPGM_JOIN(kernels_, PYPGM_ISA) = {
    PYPGM_TEXT(PYPGM_ISA),
    exp_shifted,
    max,
    extent,
    sum,
    dot,
    scale,
    normalise,
    add_scaled,
    divide,
    residuals,
    descend,
    assign,
    combine<Add>,
    combine<Multiply>,
    reduce<SumRow>,
    reduce<MaxRow>,
    reduce_exp,
};

}  // namespace pypgm
