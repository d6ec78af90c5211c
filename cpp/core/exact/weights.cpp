// Tables of weights kept within a known range: scaled by powers of two, or with one in each cell where no
// single scale holds all of them.
#include "core/exact/weights.hpp"

#include <algorithm>
#include <cmath>

#include "core/base/numbers.hpp"
#include "core/exact/contract.hpp"
#include "core/simd/extended_kernels.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

namespace {

constexpr double kDigits = 53;  // what is left where a sum cancels is a multiple of its terms' last digit

/// Sets to zero what is below 2^-kWidest. Nothing is above 2.
void drop_small(Weights& table) {
  if (!(table.range.low < -kWidest)) return;
  const double least = std::ldexp(1.0, -static_cast<int>(kWidest));
  for (double& x : table.cells) x = x < least && x > -least ? 0.0 : x;
  table.range.low = -kWidest;
  table.range.loss = std::max(table.range.loss, -kWidest) + 1;
}

/// Gives weights, normal numbers, exponents of their own.
void extend(Weights& table) {
  std::fill_n(table.exponents, table.cells.size(), 0.0);
  extended_kernels().split(table.cells.data(), table.exponents, table.cells.size());
  table.range = {0, 1, -kInfinity, table.range.signs};
  table.extended = true;
}

/// table = exp(logarithms), with an exponent for each cell.
void extend_logarithms(std::span<const double> logarithms, Weights& table) {
  constexpr double kLn2High =
      6.93147180369123816490e-01;  // its products with whole numbers below 2^20 are exact
  constexpr double kLn2Low = 1.90821492927058770002e-10;
  const auto cells = table.cells;
  for (std::size_t i = 0; i < cells.size(); ++i) {
    const double x = logarithms[i];
    const double n = std::abs(x) < kInfinity ? std::nearbyint(x * kLog2e) : 0.0;
    // Where neighbouring doubles are more than ln 2 apart, what is left over is rounding alone.
    const double rest = (x - n * kLn2High) - n * kLn2Low;
    cells[i] = std::abs(x) < kInfinity ? std::clamp(rest, -0.5, 0.5) : x;
    table.exponents[i] = n;
  }
  kernels().exp_shifted(cells.data(), cells.size(), 0.0, cells.data());
  extended_kernels().split(cells.data(), table.exponents, cells.size());
  table.extended = true;
}

/// Turns an extended table into scaled weights if these lie close enough together; returns the power of two
/// taken out.
double narrow(Weights& table) {
  const std::span<double> exponents(table.exponents, table.cells.size());
  const Extent extent = kernels().extent(exponents.data(), exponents.size());
  table.range = {0, 1, -kInfinity, table.range.signs};
  table.extended = extent.largest - extent.least > kWidest;
  if (table.extended || extent.largest == -kInfinity) return 0;
  for (double& e : exponents) e -= extent.largest;
  extended_kernels().weigh(table.cells.data(), exponents.data(), exponents.size(), table.cells.data());
  table.range.low = extent.least - extent.largest;
  return extent.largest;
}

/// Scales weights back into the range where products cannot overflow or underflow, or extends the table;
/// returns the power of two taken out.
double rescale(Weights& table, bool may_extend) {
  WeightRange& range = table.range;
  if (range.high <= kWidest && range.low >= -kWidest) return 0;
  const Extent extent = kernels().magnitudes(table.cells.data(), table.cells.size());
  if (extent.largest == 0) {
    range.low = range.high = 0;
    return 0;
  }
  const int exponent = std::ilogb(extent.largest);
  range.low = std::log2(extent.least) - exponent - 1;
  if (may_extend && range.low < -kWidest) {
    extend(table);
    return 0;
  }
  kernels().scale(table.cells.data(), table.cells.size(), std::ldexp(1.0, -exponent));
  range.high = 1;
  range.loss -= exponent;
  drop_small(table);
  return exponent;
}

}  // namespace

double take_logarithms(std::span<const double> logarithms, Weights& table, bool may_extend) {
  const Extent extent = kernels().extent(logarithms.data(), logarithms.size());
  if (may_extend && extent.largest - extent.least > (kWidest - 2) * std::log(2.0)) {
    extend_logarithms(logarithms, table);
    return narrow(table) * std::log(2.0);
  }
  const bool empty = extent.largest == -kInfinity;
  const double top = empty ? 0.0 : extent.largest;
  kernels().exp_shifted(logarithms.data(), logarithms.size(), top, table.cells.data());
  // A rounding error more or less in an exponent does not matter: the range is wide enough.
  table.range = {(empty ? 0.0 : extent.least - top) * kLog2e - 1, 1, -kInfinity};
  table.extended = false;
  drop_small(table);
  return top;
}

double take_weights(Weights& table, bool may_extend) {
  const Extent extent = kernels().magnitudes(table.cells.data(), table.cells.size());
  table.extended = false;
  table.range = {0, 1, -kInfinity, true};
  if (extent.largest == 0) return 0;
  const int exponent = std::ilogb(extent.largest);
  table.range.low = std::ilogb(extent.least) - exponent;
  if (table.range.low < -kWidest && may_extend) {
    for (std::size_t i = 0; i < table.cells.size(); ++i) {
      int own = 0;
      table.cells[i] = 2 * std::frexp(table.cells[i], &own);  // subnormal numbers, too
      table.exponents[i] = table.cells[i] == 0 ? -kInfinity : own - 1;
    }
    table.range.low = 0;
    table.extended = true;
    return 0;
  }
  for (double& x : table.cells) x = std::ldexp(x, -exponent);
  drop_small(table);
  return exponent;
}

double multiply(const Loops& loops, const Operand& a, const Operand& b, Weights& out, bool may_extend,
                int n_threads, const Watch* watch) {
  const bool signs = a.range.signs || b.range.signs;
  out.extended = a.exponents != nullptr || b.exponents != nullptr;
  if (out.extended) {
    contract_extended(loops, a, b, out.cells.data(), out.exponents, n_threads, watch);
    out.range.signs = signs;
    return is_abandoned(watch) ? 0.0 : narrow(out);
  }
  contract(loops, a.weights, b.weights, out.cells.data(), n_threads, watch);
  if (is_abandoned(watch)) return 0;
  const double terms = std::log2(static_cast<double>(loops.work / std::max<std::size_t>(1, loops.cells)));
  out.range = {a.range.low + b.range.low - (signs ? kDigits : 0.0), a.range.high + b.range.high + terms,
               terms + loss_of_product(a.range, b.range), signs};
  return rescale(out, may_extend);
}

}  // namespace pypgm
