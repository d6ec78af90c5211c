// The machine's own limits: what one pass over a table costs when it only copies, and when it only takes
// std::exp. Every other benchmark of a pass over cells is read beside these.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <vector>

namespace {

std::vector<double> log_table(std::int64_t cells) {
  std::vector<double> table(static_cast<std::size_t>(cells));
  for (std::size_t i = 0; i < table.size(); ++i) table[i] = -1e-3 * static_cast<double>(i % 4096);
  return table;
}

void set_cells(benchmark::State& state) { state.SetItemsProcessed(state.iterations() * state.range(0)); }

void bench_copy(benchmark::State& state) {
  const auto in = log_table(state.range(0));
  std::vector<double> out(in.size());
  for (auto _ : state) {
    std::copy(in.begin(), in.end(), out.begin());
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  if (out != in) state.SkipWithError("the copy differs");
  set_cells(state);
}

void bench_exp(benchmark::State& state) {
  const auto in = log_table(state.range(0));
  std::vector<double> out(in.size());
  for (auto _ : state) {
    std::transform(in.begin(), in.end(), out.begin(), [](double x) { return std::exp(x); });
    benchmark::DoNotOptimize(out.data());
    benchmark::ClobberMemory();
  }
  if (out[1] != std::exp(in[1])) state.SkipWithError("the exponential differs");
  set_cells(state);
}

// One small table, one that fits the cache, one that does not.
BENCHMARK(bench_copy)->ArgName("cells")->Arg(100)->Arg(100'000)->Arg(10'000'000);
BENCHMARK(bench_exp)->ArgName("cells")->Arg(100)->Arg(100'000)->Arg(10'000'000);

}  // namespace
