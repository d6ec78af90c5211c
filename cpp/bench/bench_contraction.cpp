// Two tables of signed numbers multiplied and summed at once, each case checked against plain sums first;
// items are multiplications. Read beside the copy of bench_copy_exp: a table of 10^6 cells is walked once.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/queries/contraction.hpp"
#include "limits.hpp"
#include "shapes.hpp"

namespace {

using shapes::Shape;

void bench_contraction(benchmark::State& state, const Shape& shape) {
  const pypgm::Contraction plan = pypgm::make_contraction(
      shape.sizes, {{shape.left, false}, {shape.right, false}}, {{0, 1, shape.out}}, {2});
  const std::vector<double> left(pypgm::cells_over(shape.sizes, shape.left), 0.5);
  const std::vector<double> right(pypgm::cells_over(shape.sizes, shape.right), 0.25);
  const bool turned = plan.steps[0].left == 1;
  const double* first = turned ? right.data() : left.data();
  const double* second = turned ? left.data() : right.data();
  std::vector<double> out(pypgm::cells_over(shape.sizes, shape.out));
  const auto contract = [&] {
    pypgm::contraction_kernels().contract(first, second, out.data(), plan.loops[0].data(),
                                          plan.loops[0].size());
  };
  contract();
  const double wanted = 0.125 * plan.cost.operations / static_cast<double>(out.size());
  for (const double x : out) {
    if (std::abs(x - wanted) > 1e-9 * wanted) return state.SkipWithError("a sum differs");
  }
  const limits::Stopwatch watch;
  for (auto _ : state) {
    contract();
    benchmark::ClobberMemory();
  }
  limits::compare(state, watch, std::max(left.size(), right.size()));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(plan.cost.operations));
}

const bool kRegistered = [] {
  std::vector<Shape> cases = shapes::all();
  cases.push_back({"turned_ab_b_onto_ba", {500, 500}, {0, 1}, {1}, {1, 0}});
  for (const Shape& shape : cases) {
    benchmark::RegisterBenchmark((std::string("bench_contraction/") + shape.name).c_str(), bench_contraction,
                                 shape);
  }
  return true;
}();

}  // namespace
