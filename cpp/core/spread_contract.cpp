#include "core/spread_contract.hpp"

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cmath>
#include <limits>
#include <vector>

#include "core/kernels.hpp"
#include "core/spread_kernels.hpp"
#include "core/threads.hpp"

// What scaling sets to zero is below 2^kLeastPower of a table whose partner has no weight above 2^high: a
// cell of K terms lacks at most K 2^(kLeastPower + high), which is nothing beside 2^kBesides times as much.

namespace pypgm {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kBesides = 60;
constexpr std::size_t kMostAxes = 64;

/// Calls body(begin, end) for pieces of a table.
template <class Body>
void for_pieces(std::size_t n, int n_threads, const Body& body) {
  const std::size_t pieces = std::max<std::size_t>(1, n / kPiece);
  parallel_for(pieces, n_threads, [&](std::size_t p) { body(n * p / pieces, n * (p + 1) / pieces); });
}

/// A table as the products take it, and what each of its rows was divided by, as exponents (null: nothing).
struct Scaled {
  const double* weights;
  const double* tops;
};

Scaled scale_rows(const SpreadTable& table, const Rows& rows, double*& scratch, int n_threads) {
  if (table.exponents == nullptr) return {table.weights, nullptr};
  if (rows.single()) return {table.weights, table.exponents};
  const Layout& layout = rows.table;
  double* const tops = scratch;
  double* const weights = tops + layout.small;
  scratch = weights + layout.large;
  std::fill_n(tops, layout.small, -kInfinity);
  kernels().reduce_max(table.exponents, tops, layout.axes.data(), layout.axes.size());
  // A row of zeros has no largest weight.
  for (std::size_t i = 0; i < layout.small; ++i) tops[i] = tops[i] == -kInfinity ? 0.0 : -tops[i];
  kernels().add(weights, table.exponents, tops, layout.axes.data(), layout.axes.size());
  for_pieces(layout.large, n_threads, [&](std::size_t begin, std::size_t end) {
    spread_kernels().weigh(table.weights + begin, weights + begin, end - begin, weights + begin);
  });
  for (std::size_t i = 0; i < layout.small; ++i) tops[i] = -tops[i];
  return {weights, tops};
}

/// One cell of the answer at a time, without any scaling.
class CellByCell {
 public:
  CellByCell(const Loops& loops, const SpreadTable& a, const SpreadTable& b)
      : a_(loops.swapped ? b : a), b_(loops.swapped ? a : b) {
    for (const LoopAxis& axis : loops.outer) take(axis);
    for (const LoopAxis& axis : {loops.rows, loops.sums, loops.lanes}) take(axis);
    assert(n_kept_ <= kMostAxes && n_summed_ <= kMostAxes);
  }

  struct Sum {
    double weight = 0;
    double exponent = 0;
  };

  Sum at(std::size_t cell) const {
    std::size_t a = 0;
    std::size_t b = 0;
    for (std::size_t i = 0; i < n_kept_; ++i) {
      const LoopAxis& axis = kept_[i];
      const std::size_t code = cell / axis.out % axis.size;
      a += code * axis.a;
      b += code * axis.b;
    }
    Sum sum;
    add_terms(n_summed_, a, b, sum);
    return sum;
  }

 private:
  void take(const LoopAxis& axis) {
    if (axis.size == 1) return;
    if (axis.out != 0) {
      kept_[n_kept_++] = axis;
    } else {
      summed_[n_summed_++] = axis;
    }
  }

  void add_terms(std::size_t axes, std::size_t a, std::size_t b, Sum& sum) const {
    if (axes == 0) return add(a, b, sum);
    const LoopAxis& axis = summed_[axes - 1];
    for (std::size_t i = 0; i < axis.size; ++i) add_terms(axes - 1, a + i * axis.a, b + i * axis.b, sum);
  }

  void add(std::size_t a, std::size_t b, Sum& sum) const {
    const double weight = a_.weights[a] * b_.weights[b];
    if (weight == 0) return;
    const double exponent = exponent_of(a_, a) + exponent_of(b_, b);
    if (sum.weight == 0) {
      sum = {weight, exponent};
    } else if (exponent <= sum.exponent) {
      sum.weight += weight * power(exponent - sum.exponent);
    } else {
      sum = {sum.weight * power(sum.exponent - exponent) + weight, exponent};
    }
  }

  static double exponent_of(const SpreadTable& table, std::size_t cell) {
    return table.exponents == nullptr ? 0.0 : table.exponents[cell];
  }

  static double power(double exponent) {
    if (exponent < kLeastPower) return 0;
    return std::bit_cast<double>(static_cast<std::uint64_t>(static_cast<std::int64_t>(exponent) + 1023)
                                 << 52);
  }

  SpreadTable a_;
  SpreadTable b_;
  std::array<LoopAxis, kMostAxes> kept_;
  std::array<LoopAxis, kMostAxes> summed_;
  std::size_t n_kept_ = 0;
  std::size_t n_summed_ = 0;
};

/// The exponents of the answer's cells: those of the rows they come from.
void add_tops(const Scaled& scaled, const Rows& rows, bool first, double* exponents) {
  if (scaled.tops == nullptr) return;
  const Layout& layout = rows.out;
  if (first) {
    kernels().assign(exponents, scaled.tops, layout.axes.data(), layout.axes.size());
  } else {
    kernels().add(exponents, exponents, scaled.tops, layout.axes.data(), layout.axes.size());
  }
}

}  // namespace

Rows make_rows(std::span<const std::size_t> sizes, std::uint64_t table, std::uint64_t out) {
  std::vector<std::size_t> own;
  std::vector<std::uint8_t> kept;
  const auto layout = [&](std::uint64_t large) {
    own.clear();
    kept.clear();
    for (std::size_t i = 0; i < sizes.size(); ++i) {
      if ((large >> i & 1) == 0) continue;
      own.push_back(sizes[i]);
      kept.push_back((table & out) >> i & 1);
    }
    return make_layout(own, kept);
  };
  return {layout(table), layout(out)};
}

void contract_spread(const Loops& loops, const Rows& rows_a, const Rows& rows_b, const SpreadTable& a,
                     const SpreadTable& b, double* out, double* out_exponents, double* scratch,
                     int n_threads) {
  assert(a.exponents != nullptr || b.exponents != nullptr);
  const Scaled left = scale_rows(a, rows_a, scratch, n_threads);
  const Scaled right = scale_rows(b, rows_b, scratch, n_threads);
  contract(loops, left.weights, right.weights, out, n_threads);
  add_tops(left, rows_a, true, out_exponents);
  add_tops(right, rows_b, left.tops == nullptr, out_exponents);
  const double terms = static_cast<double>(loops.work / std::max<std::size_t>(1, loops.cells));
  const double high = std::max(a.exponents == nullptr ? a.high : 1.0, b.exponents == nullptr ? b.high : 1.0);
  const double least = std::exp2(kLeastPower + high + kBesides + std::ceil(std::log2(terms)) + 1);
  const CellByCell cells(loops, a, b);
  for_pieces(loops.cells, n_threads, [&](std::size_t begin, std::size_t end) {
    constexpr std::size_t kRun = 256;
    for (std::size_t i = begin; i < end; i += kRun) {
      const std::size_t n = std::min(kRun, end - i);
      if (spread_kernels().any_below(out + i, least, n)) {
        for (std::size_t k = i; k < i + n; ++k) {
          if (!(out[k] < least)) continue;
          const CellByCell::Sum sum = cells.at(k);
          out[k] = sum.weight;
          out_exponents[k] = sum.exponent;
        }
      }
      spread_kernels().split(out + i, out_exponents + i, n);
    }
  });
}

}  // namespace pypgm
