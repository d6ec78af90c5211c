// Products of two tables of weights, summed: the kernel of factored cliques, and its max-product. Each case
// is checked against plain sums first; items are multiplications. `of_copy` and `of_exp` are those of a
// pass over the larger table: a product that meets each of its cells more than once cannot reach them.
#include <benchmark/benchmark.h>

#include <algorithm>
#include <cmath>
#include <string>
#include <vector>

#include "core/exact/contract.hpp"
#include "limits.hpp"
#include "shapes.hpp"

namespace {

std::uint64_t bits_of(const shapes::Axes& axes) {
  std::uint64_t bits = 0;
  for (const std::int32_t axis : axes) bits |= std::uint64_t{1} << axis;
  return bits;
}

std::size_t cells_of(const shapes::Shape& shape, const shapes::Axes& axes) {
  std::size_t cells = 1;
  for (const std::int32_t axis : axes) cells *= shape.sizes[static_cast<std::size_t>(axis)];
  return cells;
}

using Contract = decltype(&pypgm::contract);

/// Tables of 0.5 and 0.25, so that `wanted(r)` is what r products a cell make.
void bench_contract(benchmark::State& state, const shapes::Shape& shape, Contract contract,
                    double (*wanted)(double)) {
  const pypgm::Loops loops =
      pypgm::make_loops(shape.sizes, bits_of(shape.left), bits_of(shape.right), bits_of(shape.out));
  const std::vector<double> left(cells_of(shape, shape.left), 0.5);
  const std::vector<double> right(cells_of(shape, shape.right), 0.25);
  std::vector<double> out(cells_of(shape, shape.out));
  contract(loops, left.data(), right.data(), out.data(), 1, nullptr);
  const double cell = wanted(static_cast<double>(loops.work) / static_cast<double>(out.size()));
  for (const double x : out) {
    if (std::abs(x - cell) > 1e-9 * cell) return state.SkipWithError("a sum differs");
  }
  const limits::Stopwatch watch;
  for (auto _ : state) {
    contract(loops, left.data(), right.data(), out.data(), 1, nullptr);
    benchmark::ClobberMemory();
  }
  limits::compare(state, watch, std::max(left.size(), right.size()));
  state.SetItemsProcessed(state.iterations() * static_cast<std::int64_t>(loops.work));
}

const bool kRegistered = [] {
  for (const shapes::Shape& shape : shapes::all()) {
    const std::string name = shape.name;
    benchmark::RegisterBenchmark(("bench_contract/sums/" + name).c_str(), bench_contract, shape,
                                 pypgm::contract, [](double products) { return 0.125 * products; });
    benchmark::RegisterBenchmark(("bench_contract/maxima/" + name).c_str(), bench_contract, shape,
                                 pypgm::contract_maxima, [](double) { return 0.75; });
  }
  return true;
}();

}  // namespace
