// Sweeps over region graphs on one thread: convex belief propagation alone, and with the step of an estimate.
// Triples in a ring, 10 values each, closed under intersection. `of_copy` and `of_exp` are those of one pass
// over the tables of all regions, of which a sweep takes at least one exponential a cell.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <memory>
#include <utility>
#include <vector>

#include "core/regions/convex_gbp.hpp"
#include "core/regions/region_acceleration.hpp"
#include "limits.hpp"

namespace {

constexpr std::size_t kValues = 10;
constexpr double kTotal = 1e5;

std::shared_ptr<const pypgm::RegionGraph> ring(std::int32_t attributes) {
  // The triples, the pairs two of them share, and the attributes two pairs share.
  std::vector<pypgm::Scope> regions;
  std::vector<std::pair<int, int>> edges;
  for (std::int32_t width = 3; width > 0; --width) {
    for (std::int32_t i = 0; i < attributes; ++i) {
      pypgm::Scope region;
      for (std::int32_t k = 0; k < width; ++k) region.push_back((i + k) % attributes);
      std::sort(region.begin(), region.end());
      const int parent = static_cast<int>(regions.size());
      regions.push_back(std::move(region));
      if (width == 1) continue;
      edges.emplace_back(parent, parent + attributes);
      edges.emplace_back(parent, (4 - width) * attributes + (i + 1) % attributes);
    }
  }
  const std::vector<std::size_t> sizes(static_cast<std::size_t>(attributes), kValues);
  return std::make_shared<pypgm::RegionGraph>(pypgm::build_region_graph(sizes, regions, edges));
}

/// Field of a region on each of its attributes, times the code: regions disagree, the beliefs settle at
/// independent attributes under the mean of their regions' fields.
double field(std::size_t region) { return 0.05 * static_cast<double>(1 + region % 3); }

std::vector<double> fields(const pypgm::RegionGraph& graph) {
  std::vector<double> theta(graph.cells);
  for (std::size_t r = 0; r < graph.regions.size(); ++r) {
    for (std::size_t c = 0; c < graph.regions[r].cells; ++c) {
      std::size_t codes = 0;
      for (std::size_t rest = c; rest > 0; rest /= kValues) codes += rest % kValues;
      theta[graph.regions[r].offset + c] = -field(r) * static_cast<double>(codes);
    }
  }
  return theta;
}

/// Whether the first cell of every belief is that of independent attributes under the mean fields.
bool settled(const pypgm::RegionGraph& graph, std::span<const double> beliefs) {
  std::vector<double> sums(graph.sizes.size(), 0);
  std::vector<double> counts(graph.sizes.size(), 0);
  for (std::size_t r = 0; r < graph.regions.size(); ++r) {
    for (const std::int32_t i : graph.regions[r].attributes) {
      sums[static_cast<std::size_t>(i)] += field(r);
      ++counts[static_cast<std::size_t>(i)];
    }
  }
  return std::all_of(graph.regions.begin(), graph.regions.end(), [&](const pypgm::Region& region) {
    double first = 1;
    for (const std::int32_t i : region.attributes) {
      const auto a = static_cast<std::size_t>(i);
      double z = 0;
      for (std::size_t code = 0; code < kValues; ++code) {
        z += std::exp(-sums[a] / counts[a] * static_cast<double>(code));
      }
      first /= z;
    }
    return std::abs(beliefs[region.offset] - first) <= 1e-6 * first;
  });
}

void bench_region_sweep(benchmark::State& state) {
  const auto graph = ring(static_cast<std::int32_t>(state.range(0)));
  const std::vector<double> theta = fields(*graph);
  pypgm::ConvexGbp gbp(graph, std::vector<double>(graph->regions.size(), 1.0), 1);
  gbp.refresh(theta);
  for (int i = 0; i < 200; ++i) gbp.sweep();
  if (!settled(*graph, gbp.beliefs())) return state.SkipWithError("a belief differs");
  const limits::Stopwatch watch;
  for (auto _ : state) {
    benchmark::DoNotOptimize(gbp.sweep());
  }
  limits::compare(state, watch, graph->cells);
}

/// Beliefs of all regions from potentials and messages.
void bench_region_sweep_refresh(benchmark::State& state) {
  const auto graph = ring(static_cast<std::int32_t>(state.range(0)));
  const std::vector<double> theta = fields(*graph);
  pypgm::ConvexGbp gbp(graph, std::vector<double>(graph->regions.size(), 1.0), 1);
  gbp.refresh(theta);
  for (int i = 0; i < 200; ++i) gbp.sweep();
  gbp.refresh(theta);
  if (!settled(*graph, gbp.beliefs())) return state.SkipWithError("a belief differs");
  const limits::Stopwatch watch;
  for (auto _ : state) {
    gbp.refresh(theta);
    benchmark::ClobberMemory();
  }
  limits::compare(state, watch, graph->cells);
}

/// One iteration of an estimate: gradient, step, sweep, average and loss.
void bench_region_sweep_estimate(benchmark::State& state) {
  const auto graph = ring(static_cast<std::int32_t>(state.range(0)));
  pypgm::RegionAcceleration descent(graph, std::vector<double>(graph->regions.size(), 1.0), kTotal, 1);
  for (std::size_t r = 0; r < graph->regions.size(); ++r) {
    if (graph->regions[r].n_up > 0) continue;
    std::vector<double> values(graph->regions[r].cells);
    for (std::size_t c = 0; c < values.size(); ++c)
      values[c] = 50 + static_cast<double>((c * 7919 + r) % 101);
    descent.measure({static_cast<int>(r), {}, std::move(values), {4e-4}, {}});
  }
  if (descent.begin(1e-6, 100) < 0) return state.SkipWithError("no weight is left");
  const double before = descent.loss();
  const auto advance = [&] { return descent.advance(1e-4, 0.5, 1.0, 1.0); };
  for (int i = 0; i < 20; ++i) advance();
  if (!(descent.loss() < before)) return state.SkipWithError("the loss does not fall");
  const limits::Stopwatch watch;
  for (auto _ : state) {
    benchmark::DoNotOptimize(advance());
  }
  limits::compare(state, watch, graph->cells);
}

BENCHMARK(bench_region_sweep)->ArgName("triples")->Arg(10)->Arg(100);
BENCHMARK(bench_region_sweep_refresh)->ArgName("triples")->Arg(10)->Arg(100);
BENCHMARK(bench_region_sweep_estimate)->ArgName("triples")->Arg(10)->Arg(100);

}  // namespace
