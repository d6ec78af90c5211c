// The inner loops, each checked against a plain loop first; read beside the copy of bench_copy_exp.
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "core/kernels.hpp"
#include "core/reduce.hpp"

namespace {

std::vector<double> weights(std::size_t cells) {
  std::vector<double> table(cells);
  for (std::size_t i = 0; i < cells; ++i) table[i] = -1e-3 * static_cast<double>(i % 4096);
  return table;
}

void bench_kernels_exp(benchmark::State& state) {
  const std::vector<double> in = weights(static_cast<std::size_t>(state.range(0)));
  std::vector<double> out(in.size());
  for (auto _ : state) {
    pypgm::kernels().exp_shifted(in.data(), in.size(), 0.0, out.data());
    benchmark::ClobberMemory();
  }
  for (std::size_t i = 0; i < in.size(); ++i) {
    if (std::abs(out[i] - std::exp(in[i])) > 1e-15) state.SkipWithError("an exponential differs");
  }
  state.SetItemsProcessed(state.iterations() * state.range(0));
}

/// A table of three axes of n values, and one of its axes gone.
pypgm::Layout without(std::size_t axis, std::size_t n) {
  std::vector<std::uint8_t> kept(3, 1);
  kept[axis] = 0;
  return pypgm::make_layout(std::vector<std::size_t>(3, n), kept);
}

void bench_kernels_reduce(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const pypgm::Layout layout = without(static_cast<std::size_t>(state.range(1)), n);
  const std::vector<double> large(n * n * n, 0.5);
  std::vector<double> small(layout.small);
  for (auto _ : state) {
    pypgm::reduce_sum(large, layout, small, 1);
    benchmark::ClobberMemory();
  }
  for (const double x : small) {
    if (x != 0.5 * static_cast<double>(n)) state.SkipWithError("a sum differs");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(layout.large));
}

void bench_kernels_multiply(benchmark::State& state) {
  const auto n = static_cast<std::size_t>(state.range(0));
  const pypgm::Layout layout = without(static_cast<std::size_t>(state.range(1)), n);
  std::vector<double> large(n * n * n, 0.5);
  const std::vector<double> small(layout.small, -1.0);
  std::int64_t times = 0;
  for (auto _ : state) {
    pypgm::expand(pypgm::Expand::multiply, large, layout, small, 1);
    benchmark::ClobberMemory();
    ++times;
  }
  for (const double x : large) {
    if (x != (times % 2 == 0 ? 0.5 : -0.5)) state.SkipWithError("a product differs");
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(layout.large));
}

BENCHMARK(bench_kernels_exp)->Arg(100)->Arg(100'000)->Arg(10'000'000);
BENCHMARK(bench_kernels_reduce)->ArgsProduct({{4, 10, 100}, {0, 1, 2}});
BENCHMARK(bench_kernels_multiply)->ArgsProduct({{4, 10, 100}, {0, 1, 2}});

}  // namespace
