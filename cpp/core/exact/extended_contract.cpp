// Contractions whose cells have a power of two each: rows are scaled by their largest exponent, or, where
// that would lose a term, summed one by one.
#include "core/exact/extended_contract.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <memory>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/threads.hpp"
#include "core/exact/contract.hpp"
#include "core/simd/extended_kernels.hpp"
#include "core/simd/kernels.hpp"

// What scaling sets to zero is below 2^kLeastPower of a table whose partner has no weight above 2^high: a
// cell of K terms lacks at most K 2^(kLeastPower + high), which is nothing beside 2^kBesides times as much.

namespace pypgm {

namespace {

constexpr double kBesides = 60;
constexpr double kTop = 480;       // largest exponent of a scaled row: products fill the range of doubles
constexpr std::size_t kRun = 256;  // cells that stay in the nearest cache

/// Calls body(begin, end) for pieces of a table: smaller ones than where every cell costs the same.
template <class Body>
void for_pieces(std::size_t n, int n_threads, const Body& body) {
  const std::size_t pieces = std::max<std::size_t>(1, n / (kPiece / 16));
  parallel_for(pieces, n_threads, [&](std::size_t p) { body(n * p / pieces, n * (p + 1) / pieces); });
}

/// The rows of a table in a contraction: a row is the cells that differ only in attributes that `out` lacks.
struct Rows {
  Layout table;  ///< the table of rows inside the table
  Layout out;    ///< the table of rows inside `out`
  Layout both;   ///< the table over the attributes shared with the other table, inside the table

  bool single() const { return table.small == table.large; }                    ///< each cell is a row
  std::size_t cells() const { return table.large + table.small + both.small; }  ///< of the three tables
};

using StepIn = std::size_t LoopAxis::*;  ///< of a table: 0 where it lacks the attribute

Rows rows_of(const Loops& loops, StepIn table, StepIn other) {
  const auto layout = [&](StepIn large, StepIn small) {
    std::vector<LoopAxis> axes;
    loops.for_axes([&](const LoopAxis& axis) {
      if (axis.*large != 0) axes.push_back(axis);
    });
    std::sort(axes.begin(), axes.end(),
              [&](const LoopAxis& x, const LoopAxis& y) { return x.*large > y.*large; });
    std::vector<std::size_t> sizes;
    std::vector<std::uint8_t> kept;
    for (const LoopAxis& axis : axes) {
      sizes.push_back(axis.size);
      kept.push_back(axis.*small != 0 ? 1 : 0);
    }
    return make_layout(sizes, kept);
  };
  return {layout(table, &LoopAxis::out), layout(&LoopAxis::out, table), layout(table, other)};
}

/// A table as the products take it, and what each of its rows was divided by, as exponents (null: nothing).
struct Scaled {
  const double* weights;
  const double* tops;
  double high;   ///< no weight is above 2^high
  bool flushed;  ///< whether some may have been set to zero
};

double* largest_exponents(const double* exponents, const Layout& layout, double* tops) {
  std::fill_n(tops, layout.small, -kInfinity);
  kernels().reduce_max(exponents, tops, layout);
  return tops + layout.small;
}

/// What a's exponents may be raised by and b's lowered without changing a product: half of how much further
/// b's largest one reaches for each code of what both have. A row's largest weight in one table then meets
/// one of the largest in the other. Returns the end of the shifts, and null where there is nothing to even
/// out.
double* shifts_between(const Operand& a, const Operand& b, const Rows& rows_a, const Rows& rows_b,
                       double* scratch) {
  if (a.exponents == nullptr || b.exponents == nullptr || rows_a.both.small == 1) return nullptr;
  if (rows_a.single() && rows_b.single()) return nullptr;
  double* const tops = largest_exponents(a.exponents, rows_a.both, scratch);
  double* const end = largest_exponents(b.exponents, rows_b.both, tops);
  for (std::size_t i = 0; i < rows_a.both.small; ++i) {
    const double shift = std::floor((tops[i] - scratch[i]) / 2);
    scratch[i] = std::abs(shift) < kInfinity ? shift : 0.0;  // no weight in one of the tables
    tops[i] = -scratch[i];
  }
  return end;
}

Scaled scale_rows(const Operand& table, const double* shifts, const Rows& rows, double*& scratch,
                  int n_threads) {
  if (table.exponents == nullptr) return {table.weights, nullptr, table.range.high, false};
  if (rows.single() && shifts == nullptr) return {table.weights, table.exponents, 1, false};
  const double* exponents = table.exponents;
  double* const weights = scratch;
  scratch = weights + rows.table.large;
  if (shifts != nullptr) {
    kernels().add(weights, exponents, shifts, rows.both);
    exponents = weights;
    if (rows.single()) return {table.weights, exponents, 1, false};
  }
  double* const tops = scratch;
  const Layout& layout = rows.table;
  scratch = largest_exponents(exponents, layout, tops);
  // A row of zeros has no largest weight.
  for (std::size_t i = 0; i < layout.small; ++i) tops[i] = tops[i] == -kInfinity ? 0.0 : kTop - tops[i];
  kernels().add(weights, exponents, tops, layout);
  for_pieces(layout.large, n_threads, [&](std::size_t begin, std::size_t end) {
    extended_kernels().weigh(table.weights + begin, weights + begin, end - begin, weights + begin);
  });
  for (std::size_t i = 0; i < layout.small; ++i) tops[i] = -tops[i];
  return {weights, tops, kTop + 1, true};
}

/// Cells of the answer without any scaling: the largest exponent of a cell's terms first, then their sum.
class TermByTerm {
 public:
  static constexpr std::size_t kMost = 64;  ///< cells, or terms of a cell, at a time

  TermByTerm(const Loops& loops, const Operand& a, const Operand& b) : a_(a), b_(b), lanes_(loops.lanes) {
    for (const LoopAxis& axis : loops.outer) take(axis);
    for (const LoopAxis& axis : {loops.batch, loops.rows, loops.sums}) take(axis);
  }

  /// Cells next to each other whose terms are.
  std::size_t row() const { return lanes_.out != 0 ? lanes_.size : 1; }

  /// The n <= kMost cells from the given one on, all in one row.
  void sum(std::size_t cell, std::size_t n, double* weights, double* exponents) const {
    std::size_t a = cell % row() * lanes_.a;
    std::size_t b = cell % row() * lanes_.b;
    for (const LoopAxis& axis : kept_) {
      const std::size_t code = cell / axis.out % axis.size;
      a += code * axis.a;
      b += code * axis.b;
    }
    const std::size_t side = lanes_.out != 0 ? n : std::min(kMost, lanes_.size);
    double tops[kMost];
    double sums[kMost];
    std::fill_n(tops, side, -kInfinity);
    std::fill_n(sums, side, 0.0);
    for_terms(summed_.size(), a, b, side, [&](const Terms& left, const Terms& right, std::size_t k) {
      extended_kernels().raise(left, right, k, tops);
    });
    if (lanes_.out == 0) std::fill_n(tops, side, *std::max_element(tops, tops + side));
    std::replace(tops, tops + side, -kInfinity, 0.0);
    for_terms(summed_.size(), a, b, side, [&](const Terms& left, const Terms& right, std::size_t k) {
      extended_kernels().add(left, right, k, tops, sums);
    });
    if (lanes_.out == 0) sums[0] = kernels().sum(sums, side);
    std::copy_n(sums, n, weights);
    std::copy_n(tops, n, exponents);
  }

 private:
  void take(const LoopAxis& axis) {
    if (axis.size > 1) (axis.out != 0 ? kept_ : summed_).push_back(axis);
  }

  template <class Body>
  void for_terms(std::size_t axes, std::size_t a, std::size_t b, std::size_t side, const Body& body) const {
    if (axes == 0) return for_lanes(a, b, side, body);
    const LoopAxis& axis = summed_[axes - 1];
    for (std::size_t i = 0; i < axis.size; ++i) {
      for_terms(axes - 1, a + i * axis.a, b + i * axis.b, side, body);
    }
  }

  template <class Body>
  void for_lanes(std::size_t a, std::size_t b, std::size_t side, const Body& body) const {
    if (lanes_.out != 0) return body(terms(a_, a, lanes_.a), terms(b_, b, lanes_.b), side);
    for (std::size_t l = 0; l < lanes_.size; l += side) {
      body(terms(a_, a + l * lanes_.a, lanes_.a), terms(b_, b + l * lanes_.b, lanes_.b),
           std::min(side, lanes_.size - l));
    }
  }

  static Terms terms(const Operand& table, std::size_t cell, std::size_t step) {
    static constexpr double kZeros[kMost] = {};
    return {table.weights + cell, table.exponents == nullptr ? kZeros : table.exponents + cell, step == 0};
  }

  Operand a_;
  Operand b_;
  LoopAxis lanes_;
  std::vector<LoopAxis> kept_;
  std::vector<LoopAxis> summed_;
};

/// Sums those of the cells [begin, end) that are below `least` term by term.
void sum_again(const TermByTerm& terms, double least, std::size_t begin, std::size_t end, double* out,
               double* exponents, const Watch* watch) {
  for (std::size_t i = begin; i < end && !is_abandoned(watch);) {
    if (!(std::abs(out[i]) < least)) {
      ++i;
      continue;
    }
    std::size_t n = std::min({TermByTerm::kMost, end - i, terms.row() - i % terms.row()});
    while (!(std::abs(out[i + n - 1]) < least)) --n;
    double weights[TermByTerm::kMost];
    double powers[TermByTerm::kMost];
    terms.sum(i, n, weights, powers);
    for (std::size_t k = 0; k < n; ++k) {
      if (!(std::abs(out[i + k]) < least)) continue;
      out[i + k] = weights[k];
      exponents[i + k] = powers[k];
    }
    i += n;
  }
}

/// The exponents of the answer's cells: those of the rows they come from.
void add_tops(const Scaled& scaled, const Rows& rows, bool first, double* exponents) {
  if (scaled.tops == nullptr) return;
  if (first) {
    kernels().assign(exponents, scaled.tops, rows.out);
  } else {
    kernels().add(exponents, exponents, scaled.tops, rows.out);
  }
}

}  // namespace

void contract_extended(const Loops& loops, const Operand& given_a, const Operand& given_b, double* out,
                       double* out_exponents, int n_threads, const Watch* watch) {
  assert(given_a.exponents != nullptr || given_b.exponents != nullptr);
  const Operand& a = loops.swapped ? given_b : given_a;
  const Operand& b = loops.swapped ? given_a : given_b;
  const Rows rows_a = rows_of(loops, &LoopAxis::a, &LoopAxis::b);
  const Rows rows_b = rows_of(loops, &LoopAxis::b, &LoopAxis::a);
  const auto buffer = std::make_unique_for_overwrite<double[]>(rows_a.cells() + rows_b.cells());
  double* scratch = buffer.get();
  double* const shifted = shifts_between(a, b, rows_a, rows_b, scratch);
  const double* const shifts = shifted == nullptr ? nullptr : scratch;
  const double* const back = shifted == nullptr ? nullptr : shifts + rows_a.both.small;
  if (shifted != nullptr) scratch = shifted;
  const Scaled left = scale_rows(a, shifts, rows_a, scratch, n_threads);
  const Scaled right = scale_rows(b, back, rows_b, scratch, n_threads);
  const double* const weights[] = {left.weights, right.weights};
  contract(loops, weights[loops.swapped ? 1 : 0], weights[loops.swapped ? 0 : 1], out, n_threads, watch);
  add_tops(left, rows_a, true, out_exponents);
  add_tops(right, rows_b, left.tops == nullptr, out_exponents);
  const double terms = static_cast<double>(loops.work / std::max<std::size_t>(1, loops.cells));
  const double high = std::max({0.0, left.flushed ? right.high : 0.0, right.flushed ? left.high : 0.0});
  const double least = std::exp2(kLeastPower + high + kBesides + std::ceil(std::log2(terms)) + 1);
  const TermByTerm exact(loops, a, b);
  for_pieces(loops.cells, n_threads, [&](std::size_t begin, std::size_t end) {
    for (std::size_t i = begin; i < end; i += kRun) {
      const std::size_t n = std::min(kRun, end - i);
      if (extended_kernels().any_below(out + i, least, n))
        sum_again(exact, least, i, i + n, out, out_exponents, watch);
      extended_kernels().split(out + i, out_exponents + i, n);
    }
  });
}

}  // namespace pypgm
