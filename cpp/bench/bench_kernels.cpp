// The inner loops, each checked against a plain loop, with the part of the speed of a plain copy and of a
// plain exp pass over as many cells that they reach.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <span>
#include <vector>

#include "core/simd/kernels.hpp"
#include "core/simd/reduce.hpp"
#include "limits.hpp"

namespace {

std::vector<double> weights(std::size_t cells) {
  std::vector<double> table(cells);
  for (std::size_t i = 0; i < cells; ++i) table[i] = -1e-3 * static_cast<double>(i % 4096);
  return table;
}

void bench_kernels_exp(benchmark::State& state) {
  const std::vector<double> in = weights(static_cast<std::size_t>(state.range(0)));
  std::vector<double> out(in.size());
  const limits::Stopwatch watch;
  for (auto _ : state) {
    pypgm::kernels().exp_shifted(in.data(), in.size(), 0.0, out.data());
    benchmark::ClobberMemory();
  }
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (std::abs(out[i] - std::exp(in[i])) > 1e-15) state.SkipWithError("an exponential differs");
  }
  limits::compare(state, watch, in.size());
}

/// A table of three axes of n values, and one of its axes gone.
pypgm::Layout without(std::size_t axis, std::size_t n) {
  std::vector<std::uint8_t> kept(3, 1);
  kept[axis] = 0;
  return pypgm::make_layout(std::vector<std::size_t>(3, n), kept);
}

using Reduction = void (*)(std::span<const double>, const pypgm::Layout&, std::span<double>, int);

/// A reduction of n equal cells of 0.5 to `wanted(n)`.
void bench_kernels_reduce(benchmark::State& state, Reduction reduction, double (*wanted)(double)) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const pypgm::Layout layout = without(static_cast<std::size_t>(state.range(1)), n);
  const std::vector<double> large(n * n * n, 0.5);
  std::vector<double> small(layout.small);
  const limits::Stopwatch watch;
  for (auto _ : state) {
    reduction(large, layout, small, 1);
    benchmark::ClobberMemory();
  }
  for (const double x : small) {
    if (std::abs(x - wanted(static_cast<double>(n))) > 1e-12) state.SkipWithError("a reduction differs");
  }
  limits::compare(state, watch, layout.large);
}

void logsumexp(std::span<const double> large, const pypgm::Layout& layout, std::span<double> small,
               int n_threads) {
  std::vector<double> scratch(small.size());
  pypgm::reduce_logsumexp(large, layout, small, scratch, n_threads);
}

/// Expands a table of 2 into one of 0.5, each cell to `wanted` the first time.
void bench_kernels_expand(benchmark::State& state, pypgm::Expand op, double wanted) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const pypgm::Layout layout = without(static_cast<std::size_t>(state.range(1)), n);
  std::vector<double> large(n * n * n, 0.5);
  std::vector<double> small(layout.small, 2.0);
  pypgm::expand(op, large, layout, small, 1);
  for (const double x : large) {
    if (x != wanted) return state.SkipWithError("a cell differs");
  }
  // What is timed runs many times over the same cells and must leave their range alone.
  std::fill(small.begin(), small.end(), op == pypgm::Expand::multiply ? 1.0 : 0.0);
  const limits::Stopwatch watch;
  for (auto _ : state) {
    pypgm::expand(op, large, layout, small, 1);
    benchmark::ClobberMemory();
  }
  limits::compare(state, watch, layout.large);
}

void every_shape(benchmark::internal::Benchmark* bench) {
  bench->ArgNames({"values", "absent_axis"})->ArgsProduct({{4, 10, 100}, {0, 1, 2}});
}

BENCHMARK(bench_kernels_exp)->ArgName("cells")->Arg(100)->Arg(100'000)->Arg(10'000'000);
BENCHMARK_CAPTURE(bench_kernels_reduce, sum, pypgm::reduce_sum, [](double n) {
  return 0.5 * n;
})->Apply(every_shape);
BENCHMARK_CAPTURE(bench_kernels_reduce, max, pypgm::reduce_max, [](double) {
  return 0.5;
})->Apply(every_shape);
BENCHMARK_CAPTURE(bench_kernels_reduce, logsumexp, logsumexp, [](double n) {
  return 0.5 + std::log(n);
})->Apply(every_shape);
BENCHMARK_CAPTURE(bench_kernels_expand, assign, pypgm::Expand::assign, 2.0)->Apply(every_shape);
BENCHMARK_CAPTURE(bench_kernels_expand, add, pypgm::Expand::add, 2.5)->Apply(every_shape);
BENCHMARK_CAPTURE(bench_kernels_expand, multiply, pypgm::Expand::multiply, 1.0)->Apply(every_shape);

}  // namespace
