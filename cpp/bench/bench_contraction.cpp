// Two tables multiplied and summed at once, each case checked against plain sums first; items are
// multiplications. Read beside the copy of bench_copy_exp: a table of 10^6 cells is walked once.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <vector>

#include "core/contraction.hpp"
#include "limits.hpp"

namespace {

using pypgm::Axes;

struct Shape {
  std::vector<std::size_t> sizes;
  Axes left;
  Axes right;
  Axes out;
};

/// psi(a, b, c) with a message on some axes, onto others; a matrix product; short and alternating runs.
const Shape kShapes[] = {
    {{100, 100, 100}, {0, 1, 2}, {1, 2}, {0}},
    {{100, 100, 100}, {0, 1, 2}, {0, 1}, {1, 2}},
    {{100, 100, 100}, {0, 1, 2}, {1}, {0, 2}},
    {{100, 100, 100}, {0, 1, 2}, {0, 2}, {1}},
    {{128, 128, 128}, {0, 1}, {1, 2}, {0, 2}},
    {{10, 10, 10, 10, 10, 10}, {0, 1, 2, 3, 4, 5}, {1, 3, 5}, {0, 2, 4}},
    {{1000, 200, 5}, {0, 1, 2}, {0, 1}, {0, 2}},
    {{500, 500}, {0, 1}, {1}, {1, 0}},
};

void bench_contraction(benchmark::State& state) {
  const Shape& shape = kShapes[state.range(0)];
  const pypgm::Contraction plan = pypgm::make_contraction(
      shape.sizes, {{shape.left, false}, {shape.right, false}}, {{0, 1, shape.out}}, {2});
  const std::vector<double> left(pypgm::cells_over(shape.sizes, shape.left), 0.5);
  const std::vector<double> right(pypgm::cells_over(shape.sizes, shape.right), 0.25);
  const bool turned = plan.steps[0].left == 1;
  const double* first = turned ? right.data() : left.data();
  const double* second = turned ? left.data() : right.data();
  std::vector<double> out(pypgm::cells_over(shape.sizes, shape.out));
  std::int64_t times = 0;
  const limits::Stopwatch watch;
  for (auto _ : state) {
    pypgm::contraction_kernels().contract(first, second, out.data(), plan.loops[0].data(),
                                          plan.loops[0].size());
    benchmark::ClobberMemory();
    ++times;
  }
  const double wanted =
      0.125 * plan.cost.operations / static_cast<double>(out.size()) * static_cast<double>(times);
  for (const double x : out) {
    if (std::abs(x - wanted) > 1e-9 * wanted) state.SkipWithError("a sum differs");
  }
  limits::compare(state, watch, std::max(left.size(), right.size()));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(plan.cost.operations));
}

BENCHMARK(bench_contraction)->DenseRange(0, 7);

}  // namespace
