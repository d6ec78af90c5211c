#include "core/queries/contraction_run.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>

#include "core/base/numbers.hpp"
#include "core/base/threads.hpp"
#include "core/queries/contraction_logs.hpp"
#include "core/simd/kernels.hpp"

// Weights: a table is what it stands for, divided by exp(log_scale) and by a power of two that keeps its peak
// (a bound of the largest magnitude) near 1. `loss` bounds what underflow may have taken from an entry:
//   the exponential of a logarithm, or a product, loses kTiny at most;
//   a sum of r products of entries of two tables loses r * (loss1 * peak2 + loss2 * peak1 + loss1 * loss2 +
//   kTiny).
// Where that is more than kTolerated of the peak of an answer, or an answer is 0 and something may be lost,
// all is computed again as logarithms of magnitudes with signs beside them.

namespace pypgm {

namespace {

constexpr double kTiny = 1e-307;
constexpr double kTolerated = 1e-17;
constexpr int kExponents = 64;           // peaks stay within 2^-64 and 2^64
constexpr std::size_t kTile = 1u << 14;  // cells of a product that stay in cache while they are summed into

struct Table {
  std::span<const double> cells;
  std::span<const double> signs;  ///< only of logarithms, and only where some weight is negative
  std::vector<double> own;
  std::vector<double> own_signs;
  double peak = 0;
  double loss = 0;
  double log_scale = 0;
};

class Run {
 public:
  Run(const Contraction& contraction, std::span<const std::span<const double>> leaves,
      std::span<const std::span<double>> out, int n_threads)
      : c_(contraction),
        leaves_(leaves),
        out_(out),
        n_threads_(n_threads),
        tables_(c_.leaves.size() + c_.steps.size()),
        returned_(tables_.size(), -1),
        read_(c_.leaves.size(), 0) {
    for (std::size_t k = 0; k < c_.outputs.size(); ++k) returned_[at(c_.outputs[k])] = static_cast<int>(k);
    for (const ContractionStep& step : c_.steps) {
      for (const int table : {step.left, step.right}) {
        if (table >= 0 && at(table) < read_.size()) read_[at(table)] = 1;
      }
    }
  }

  /// With weights. False where underflow may have cost more than is tolerated.
  bool linear();
  /// With logarithms: sums, or maxima.
  void logarithms(Semiring semiring);
  /// Leaves behind answers with their scales, from either.
  void finish(bool logarithms, std::span<double> log_scales);

 private:
  const Contraction& c_;
  std::span<const std::span<const double>> leaves_;
  std::span<const std::span<double>> out_;
  int n_threads_;
  std::vector<Table> tables_;
  std::vector<int> returned_;
  std::vector<std::uint8_t> read_;
  bool signed_ = false;

  std::span<double> room_for(std::size_t step) {
    Table& table = tables_[c_.leaves.size() + step];
    const int output = returned_[c_.leaves.size() + step];
    if (output >= 0) return out_[at(output)];
    table.own.resize(cells_over(c_.sizes, c_.steps[step].axes));
    return table.own;
  }
  void rescale(Table& table, std::span<double> cells);
  void linear_leaf(std::size_t index);
  void log_leaf(std::size_t index);
  void linear_step(std::size_t step, int threads);
  void log_step(std::size_t step, Semiring semiring, int threads);

  template <class Body>
  void for_steps(const Body& body);
};

double work_of(const std::vector<Loop>& loops) {
  double work = 1;
  for (const Loop& loop : loops) work *= static_cast<double>(loop.size);
  return work;
}

/// Steps of a level beside each other, or, where one outweighs the rest, one after the other with all threads
/// inside; then what nobody reads any more is let go.
template <class Body>
void Run::for_steps(const Body& body) {
  for (std::size_t level = 0; level < c_.levels.size(); ++level) {
    const std::vector<int>& steps = c_.levels[level];
    double work = 0;
    double largest = 0;
    for (const int s : steps) {
      const double own = work_of(c_.loops[at(s)]);
      work += own;
      largest = std::max(largest, own);
    }
    const int threads = threads_for(static_cast<std::size_t>(std::min(work, 0x1p62)), n_threads_);
    if (threads > 1 && 2 * largest <= work) {
      // In blocks, so that a step of a microsecond does not pay for being handed out.
      const std::size_t block = std::max<std::size_t>(1, steps.size() / (16 * at(threads)));
      parallel_for((steps.size() + block - 1) / block, threads, [&](std::size_t b) {
        const std::size_t end = std::min(steps.size(), (b + 1) * block);
        for (std::size_t i = b * block; i < end; ++i) body(at(steps[i]), 1);
      });
    } else {
      for (const int s : steps) body(at(s), threads);
    }
    for (const int s : c_.releases[level]) {
      Table& table = tables_[c_.leaves.size() + at(s)];
      std::vector<double>().swap(table.own);
      std::vector<double>().swap(table.own_signs);
    }
  }
}

/// Calls body(loops, offsets of the three tables) on pieces of a step, cut along the first loop that out
/// moves in: so many that each thread has one, and that a piece of out which sums run over again stays in
/// cache.
template <class Body>
void for_pieces(const std::vector<Loop>& loops, int threads, const Body& body) {
  std::size_t cut = 0;
  while (cut < loops.size() && loops[cut].out == 0) ++cut;
  if (cut == loops.size()) return body(loops, Loop{0, 0, 0, 0});
  std::size_t pieces = at(threads);
  if (cut > 0) {
    std::size_t cells = 1;
    for (const Loop& loop : loops) cells *= loop.out != 0 ? loop.size : 1;
    pieces = std::max(pieces, cells / kTile);
  }
  const std::size_t total = loops[cut].size;
  pieces = std::min(pieces, total);
  if (pieces <= 1) return body(loops, Loop{0, 0, 0, 0});
  parallel_for(pieces, threads, [&](std::size_t piece) {
    const std::size_t begin = total * piece / pieces;
    std::vector<Loop> slice = loops;
    slice[cut].size = total * (piece + 1) / pieces - begin;
    const Loop& l = loops[cut];
    body(slice, Loop{0, begin * l.left, begin * l.right, begin * l.out});
  });
}

/// Divides a table by a power of two if its peak has left the range in which products are safe.
void Run::rescale(Table& table, std::span<double> cells) {
  if (table.peak == 0) return;
  int exponent = 0;
  std::frexp(table.peak, &exponent);
  if (exponent > -kExponents && exponent <= kExponents) return;
  // In two steps: 2^-exponent itself may be beyond the range of doubles.
  const double half = std::ldexp(1.0, -(exponent / 2));
  const double rest = std::ldexp(1.0, -(exponent - exponent / 2));
  for (double& x : cells) x = x * half * rest;
  table.peak = table.peak * half * rest;
  table.loss = table.loss * half * rest + kTiny;
  table.log_scale += exponent * std::log(2.0);
}

void Run::linear_leaf(std::size_t index) {
  Table& table = tables_[index];
  table = Table{};
  const std::span<const double> given = leaves_[index];
  if (!c_.leaves[index].logarithms) {
    table.cells = given;
    table.peak = contraction_kernels().largest(given.data(), given.size());
    int exponent = 0;
    std::frexp(table.peak, &exponent);
    if (exponent <= -kExponents || exponent > kExponents) {
      table.own.assign(given.begin(), given.end());
      table.cells = table.own;
      rescale(table, table.own);
    }
    return;
  }
  const double top = kernels().max(given.data(), given.size());
  table.log_scale = top == -kInfinity ? 0.0 : top;
  table.own.resize(given.size());
  kernels().exp_shifted(given.data(), given.size(), table.log_scale, table.own.data());
  table.cells = table.own;
  table.peak = top == -kInfinity ? 0.0 : 1.0;
  table.loss = kTiny;
}

void Run::linear_step(std::size_t step, int threads) {
  const ContractionStep& s = c_.steps[step];
  const double one = 1.0;
  const Table& left = tables_[at(s.left)];
  const Table* right = s.right < 0 ? nullptr : &tables_[at(s.right)];
  const double* right_cells = right == nullptr ? &one : right->cells.data();
  const std::span<double> out = room_for(step);
  Table& table = tables_[c_.leaves.size() + step];
  std::vector<double> peaks;
  const std::vector<Loop>& loops = c_.loops[step];
  std::fill(out.begin(), out.end(), 0.0);
  for_pieces(loops, threads, [&](const std::vector<Loop>& piece, const Loop& from) {
    contraction_kernels().contract(left.cells.data() + from.left, right_cells + from.right,
                                   out.data() + from.out, piece.data(), piece.size());
  });
  double rows = 1;
  for (const Loop& loop : loops) rows *= loop.out == 0 ? static_cast<double>(loop.size) : 1.0;
  const double right_peak = right == nullptr ? 1.0 : right->peak;
  const double right_loss = right == nullptr ? 0.0 : right->loss;
  table.cells = out;
  table.log_scale = left.log_scale + (right == nullptr ? 0.0 : right->log_scale);
  table.loss = left.loss * (right_peak + right_loss) + right_loss * left.peak;
  // A sum of the entries of one table is no product: nothing new is lost.
  table.loss = rows * (table.loss + (right == nullptr ? 0.0 : kTiny));
  table.peak = contraction_kernels().largest(out.data(), out.size());
  rescale(table, out);
}

bool Run::linear() {
  for (std::size_t i = 0; i < c_.leaves.size(); ++i) {
    if (read_[i] != 0) linear_leaf(i);
  }
  for_steps([&](std::size_t step, int threads) { linear_step(step, threads); });
  const bool logarithms =
      std::any_of(c_.leaves.begin(), c_.leaves.end(), [](const Leaf& leaf) { return leaf.logarithms; });
  return std::all_of(c_.outputs.begin(), c_.outputs.end(), [&](int output) {
    const Table& table = tables_[at(output)];
    // Weights that are given as such have no more to say than a 0 does.
    return table.loss <= kTolerated * table.peak || (table.peak == 0 && !logarithms);
  });
}

void Run::log_leaf(std::size_t index) {
  Table& table = tables_[index];
  table = Table{};
  const std::span<const double> given = leaves_[index];
  if (c_.leaves[index].logarithms) {
    table.cells = given;
  } else {
    table.own.resize(given.size());
    for (std::size_t i = 0; i < given.size(); ++i) table.own[i] = std::log(std::abs(given[i]));
    table.cells = table.own;
  }
  if (!signed_) return;
  table.own_signs.assign(given.size(), 1.0);
  if (c_.leaves[index].logarithms) return;
  for (std::size_t i = 0; i < given.size(); ++i) table.own_signs[i] = given[i] < 0 ? -1.0 : 1.0;
}

void Run::log_step(std::size_t step, Semiring semiring, int threads) {
  const ContractionStep& s = c_.steps[step];
  const double zero = 0.0;
  const double one = 1.0;
  const Table& left = tables_[at(s.left)];
  LogFactors logs{left.cells.data(), &zero, signed_ ? left.signs.data() : nullptr, &one};
  if (s.right >= 0) {
    logs.right = tables_[at(s.right)].cells.data();
    logs.right_signs = tables_[at(s.right)].signs.data();
  }
  const std::span<double> out = room_for(step);
  Table& table = tables_[c_.leaves.size() + step];
  table.cells = out;
  std::fill(out.begin(), out.end(), -kInfinity);
  std::vector<double> sums(semiring == Semiring::max ? 0 : out.size());
  for_pieces(c_.loops[step], threads, [&](const std::vector<Loop>& piece, const Loop& from) {
    largest_products(piece, from, logs, out.data());
    if (semiring == Semiring::max) return;
    sum_products(piece, from, logs, out.data(), sums.data());
  });
  if (semiring == Semiring::max) return;
  for (std::size_t i = 0; i < out.size(); ++i) {
    if (out[i] != -kInfinity) out[i] += std::log(std::abs(sums[i]));
  }
  if (!signed_) return;
  for (double& sum : sums) sum = sum < 0 ? -1.0 : 1.0;
  table.own_signs.swap(sums);
  table.signs = table.own_signs;
}

void Run::logarithms(Semiring semiring) {
  for (std::size_t i = 0; i < c_.leaves.size(); ++i) {
    if (read_[i] == 0 || c_.leaves[i].logarithms || semiring != Semiring::sum) continue;
    signed_ = signed_ || std::any_of(leaves_[i].begin(), leaves_[i].end(), [](double x) { return x < 0; });
  }
  for (std::size_t i = 0; i < c_.leaves.size(); ++i) {
    if (read_[i] == 0) continue;
    log_leaf(i);
    tables_[i].signs = tables_[i].own_signs;
  }
  for_steps([&](std::size_t step, int threads) { log_step(step, semiring, threads); });
}

void Run::finish(bool logarithms, std::span<double> log_scales) {
  for (std::size_t k = 0; k < c_.outputs.size(); ++k) {
    const Table& table = tables_[at(c_.outputs[k])];
    log_scales[k] = table.log_scale;
    if (!logarithms) continue;
    const std::span<double> cells = out_[k];
    const double top = kernels().max(cells.data(), cells.size());
    log_scales[k] = top == -kInfinity ? 0.0 : top;
    kernels().exp_shifted(cells.data(), cells.size(), log_scales[k], cells.data());
    for (std::size_t i = 0; i < table.signs.size(); ++i) cells[i] *= table.signs[i];
  }
}

}  // namespace

void run_contraction(const Contraction& contraction, std::span<const std::span<const double>> leaves,
                     Semiring semiring, std::span<const std::span<double>> out, std::span<double> log_scales,
                     int n_threads) {
  assert(leaves.size() == contraction.leaves.size() && out.size() == contraction.outputs.size());
  assert(log_scales.size() == out.size());
  Run run(contraction, leaves, out, n_threads);
  if (semiring != Semiring::sum) {
    run.logarithms(semiring);
    std::fill(log_scales.begin(), log_scales.end(), 0.0);
    return;
  }
  const bool sound = run.linear();
  if (!sound) run.logarithms(semiring);
  run.finish(!sound, log_scales);
}

}  // namespace pypgm
