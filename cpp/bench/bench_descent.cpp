// One iteration of mirror descent on a chain of overlapping triples, 10 values an attribute: a propagation
// with loss, gradient and update. Read its items per second (cells) beside those of bench_kernels_exp.
#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>
#include <vector>

#include "core/descent.hpp"

namespace {

constexpr std::size_t kValues = 10;
constexpr double kTotal = 1e5;

pypgm::SteadyDescent chain(std::size_t attributes) {
  const std::vector<std::size_t> sizes(attributes, kValues);
  std::vector<pypgm::Scope> cliques;
  std::vector<pypgm::Measured> measurements;
  const std::size_t cells = kValues * kValues * kValues;
  for (std::size_t i = 0; i + 2 < attributes; ++i) {
    const auto first = static_cast<std::int32_t>(i);
    cliques.push_back({first, first + 1, first + 2});
    std::vector<double> values(cells);
    for (std::size_t c = 0; c < cells; ++c) values[c] = 50.0 + static_cast<double>((c * 7919 + i) % 101);
    measurements.push_back({static_cast<int>(i), {}, values, std::vector<double>(cells, 4e-4), {}});
  }
  auto tree = std::make_shared<pypgm::JunctionTree>(
      build_junction_tree(sizes, cliques, pypgm::eliminate(sizes, cliques, false)));
  const std::size_t all = cells * cliques.size();
  return {tree, std::move(measurements), kTotal, std::vector<double>(all, 0.0), 1e-4, 1};
}

void bench_descent(benchmark::State& state) {
  const auto attributes = static_cast<std::size_t>(state.range(0));
  pypgm::SteadyDescent descent = chain(attributes);
  const double before = descent.loss();
  for (auto _ : state) {
    descent.advance(1e-4);
  }
  if (!(descent.loss() < before)) state.SkipWithError("the loss does not fall");
  double sum = 0;
  std::vector<double> marginals(descent.potentials().size());
  descent.marginals(marginals);
  for (const double x : marginals) sum += x;
  const double wanted = kTotal * static_cast<double>(attributes - 2);
  if (std::abs(sum - wanted) > 1e-6 * wanted) state.SkipWithError("the marginals do not sum to the total");
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(marginals.size()));
}

BENCHMARK(bench_descent)->Arg(4)->Arg(10)->Arg(100)->Arg(1000);

}  // namespace
