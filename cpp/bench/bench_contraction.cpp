// Whole runs of planned contractions: variable elimination on a band of 30 attributes of 2 to 11 values,
// tables over neighbours and their neighbours, by semiring. The sums of ones are checked first; items are
// multiplications.
#include <benchmark/benchmark.h>

#include <cmath>
#include <vector>

#include "core/queries/contraction_planner.hpp"
#include "core/queries/contraction_run.hpp"

namespace {

constexpr std::int32_t kAttributes = 30;

void bench_contraction(benchmark::State& state, pypgm::Semiring semiring, double spread) {
  std::vector<std::size_t> sizes;
  for (std::int32_t a = 0; a < kAttributes; ++a) sizes.push_back(2 + static_cast<std::size_t>(a * 7 % 10));
  std::vector<pypgm::Leaf> leaves;
  std::vector<std::vector<double>> tables;
  double states = 1;
  for (std::int32_t a = 0; a < kAttributes; ++a) {
    states *= static_cast<double>(sizes[static_cast<std::size_t>(a)]);
    for (std::int32_t b = a + 1; b < kAttributes && b <= a + 2; ++b) {
      leaves.push_back({{a, b}, true});
      tables.emplace_back(pypgm::cells_of(sizes, {a, b}), 0.0);
      // Constant in all cells but one, whose weight is lost beside the others.
      tables.back()[0] = -spread;
    }
  }
  const pypgm::Contraction plan = pypgm::plan_elimination(sizes, leaves, {0, kAttributes - 1}, {});
  const std::vector<std::span<const double>> given(tables.begin(), tables.end());
  std::vector<double> out(sizes.front() * sizes.back());
  const std::span<double> answer(out);
  double log_scale = 0;
  pypgm::Watch watch;
  const auto run = [&] {
    pypgm::run_contraction(plan, given, semiring, {&answer, 1}, {&log_scale, 1}, 1, watch);
  };
  run();
  for (const double x : out) {
    if (!std::isfinite(x) || (semiring == pypgm::Semiring::max && x > 0)) {
      return state.SkipWithError("an answer is impossible");
    }
  }
  for (auto _ : state) {
    run();
    benchmark::ClobberMemory();
  }
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(plan.cost.operations));
}

BENCHMARK_CAPTURE(bench_contraction, sum, pypgm::Semiring::sum, 1.0);
BENCHMARK_CAPTURE(bench_contraction, sum_of_far_apart, pypgm::Semiring::sum, 600.0);
BENCHMARK_CAPTURE(bench_contraction, log_sum, pypgm::Semiring::log_sum, 1.0);
BENCHMARK_CAPTURE(bench_contraction, max, pypgm::Semiring::max, 1.0);

}  // namespace
