#include "core/exact/factored_passes.hpp"

#include <cmath>

namespace pypgm::passes {

double narrow(Weights& table) {
  const std::span<double> exponents(table.exponents, table.cells.size());
  const Extent extent = kernels().extent(exponents.data(), exponents.size());
  table.range = {0, 1, -kInfinity};
  table.extended = extent.largest - extent.least > kWidest;
  if (table.extended || extent.largest == -kInfinity) return 0;
  for (double& e : exponents) e -= extent.largest;
  extended_kernels().weigh(table.cells.data(), exponents.data(), exponents.size(), table.cells.data());
  table.range.low = extent.least - extent.largest;
  return extent.largest;
}

double rescale(Weights& table, bool may_extend) {
  Range& range = table.range;
  const std::span<double> cells = table.cells;
  if (range.high <= kWidest && range.low >= -kWidest) return 0;
  double largest = 0;
  double smallest = kInfinity;
  for (const double x : cells) {
    largest = std::max(largest, x);
    smallest = x > 0 && x < smallest ? x : smallest;
  }
  if (largest == 0) {
    range.low = range.high = 0;
    return 0;
  }
  const int exponent = std::ilogb(largest);
  const double factor = std::ldexp(1.0, -exponent);
  range.low = std::log2(smallest) - exponent - 1;
  if (may_extend && range.low < -kWidest) {
    std::fill_n(table.exponents, cells.size(), 0.0);
    extended_kernels().split(cells.data(), table.exponents, cells.size());
    range = {0, 1, -kInfinity};
    table.extended = true;
    return 0;
  }
  kernels().scale(cells.data(), cells.size(), factor);
  range.high = 1;
  range.loss -= exponent;
  if (range.low < -kWidest) {
    const double least = std::ldexp(1.0, -static_cast<int>(kWidest));
    for (double& x : cells) x = x < least ? 0.0 : x;
    range.low = -kWidest;
    range.loss = std::max(range.loss, -kWidest) + 1;
  }
  return exponent;
}

double multiply(const PairProduct& by, const Weights& a, const Weights& b, Weights& out,
                const FactoredStep& step, FactoredWork& work, int n_threads) {
  if (!a.extended && !b.extended) {
    contract(by.loops, a.cells.data(), b.cells.data(), out.cells.data(), n_threads);
    out.range = product(a.range, b.range, by.loops);
    out.extended = false;
    return rescale(out, work.may_extend);
  }
  contract_extended(by.loops, by.a, by.b, a.operand(), b.operand(), out.cells.data(), out.exponents,
                    work.scratch.get() + step.scratch, n_threads);
  return narrow(out);
}

}  // namespace pypgm::passes
