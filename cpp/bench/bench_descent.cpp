// One iteration of mirror descent on a chain of overlapping triples, 10 values an attribute: a propagation
// with loss, gradient and update. The counter says how many plain passes of
// exponentials over the same cells take as long.
#include <benchmark/benchmark.h>

#include <cmath>
#include <memory>
#include <vector>

#include "core/fit/descent.hpp"
#include "limits.hpp"

namespace {

constexpr std::size_t kValues = 10;
constexpr double kTotal = 1e5;

struct Chain {
  std::shared_ptr<const pypgm::JunctionTree> tree;
  std::vector<pypgm::Measured> measurements;
  std::size_t cells;
};

Chain make_chain(std::size_t attributes) {
  const std::vector<std::size_t> sizes(attributes, kValues);
  std::vector<pypgm::Scope> cliques;
  std::vector<pypgm::Measured> measurements;
  const std::size_t cells = kValues * kValues * kValues;
  for (std::size_t i = 0; i + 2 < attributes; ++i) {
    const auto first = static_cast<std::int32_t>(i);
    cliques.push_back({first, first + 1, first + 2});
    std::vector<double> values(cells);
    for (std::size_t c = 0; c < cells; ++c) values[c] = 50.0 + static_cast<double>((c * 7919 + i) % 101);
    measurements.push_back({static_cast<int>(i), {}, values, {4e-4}, {}});
  }
  return {std::make_shared<pypgm::JunctionTree>(
              build_junction_tree(sizes, cliques, pypgm::eliminate(sizes, cliques, false))),
          std::move(measurements), cells * cliques.size()};
}

void bench_descent(benchmark::State& state) {
  const auto attributes = static_cast<std::size_t>(state.range(0));
  const Chain chain = make_chain(attributes);
  pypgm::Descent descent(chain.tree, chain.measurements, kTotal, std::vector<double>(chain.cells), 1);
  const double before = descent.loss();
  limits::Stopwatch watch;
  for (auto _ : state) {
    descent.try_step(1e-4);
    descent.accept();
  }
  const double seconds = watch.seconds(state);
  if (!(descent.loss() < before)) state.SkipWithError("the loss does not fall");
  double sum = 0;
  for (const double x : descent.marginals()) sum += x;
  const double wanted = kTotal * static_cast<double>(attributes - 2);
  if (std::abs(sum - wanted) > 1e-6 * wanted) state.SkipWithError("the marginals do not sum to the total");
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(chain.cells));
  // Plain passes over the same cells that take as long as one iteration.
  state.counters["exp_passes"] = seconds / limits::exp_pass(chain.cells);
}

BENCHMARK(bench_descent)->ArgName("attributes")->Arg(4)->Arg(10)->Arg(100)->Arg(1000);

}  // namespace
