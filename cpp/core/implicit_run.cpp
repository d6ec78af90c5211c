#include <algorithm>
#include <cmath>

#include "core/implicit_passes.hpp"
#include "core/implicit_tree.hpp"
#include "core/kernels.hpp"
#include "core/observation.hpp"

namespace pypgm {

using namespace passes;

namespace {

/// table = exp(table - its maximum), the range of the weights known; returns the maximum.
double scaled_weights(std::span<const double> logarithms, std::span<double> table, Range& range) {
  double top = kernels().max(logarithms.data(), logarithms.size());
  if (top == -kInfinity) top = 0;
  double least = top;
  for (const double x : logarithms) least = x < least && x != -kInfinity ? x : least;
  kernels().exp_shifted(logarithms.data(), logarithms.size(), top, table.data());
  constexpr double kLog2e = 1.4426950408889634074;
  // A rounding error more or less in an exponent does not matter: the range is wide enough.
  range = {(least - top) * kLog2e - 1, 1, -kInfinity};
  if (range.low < -kWidest) {
    const double smallest = std::ldexp(1.0, -static_cast<int>(kWidest));
    for (double& x : table) x = x < smallest ? 0.0 : x;
    range.low = -kWidest;
    range.loss = -kWidest;
  }
  return top;
}

void load_factor(const JunctionTree& tree, const ImplicitTree& contraction,
                 std::span<const double> potentials, const Observation& known, int factor,
                 ImplicitWork& work) {
  const auto table = cells_of(contraction, work, factor);
  const Placement& place = tree.factors[at(factor)];
  auto given = potentials.subspan(place.offset, place.layout.small);
  if (rearranged(tree, contraction, factor)) {
    for_observed_cells(tree, contraction, factor, known.codes,
                       [&](std::size_t cell, std::size_t from) { table[cell] = given[from]; });
    given = table;
  }
  work.log_scale[at(factor)] = scaled_weights(given, table, work.ranges[at(factor)]);
}

/// Multiplies likelihoods into the smallest leaf that holds their attribute.
void load_evidence(const ImplicitTree& contraction, const JunctionTree& tree, const Evidence& evidence,
                   ImplicitWork& work) {
  const int home = contraction.home[at(evidence.attribute)];
  const Value& value = contraction.values[at(home)];
  const auto table = cells_of(contraction, work, home);
  std::vector<double> weights(evidence.log_likelihood.size());
  Range range;
  work.log_scale[at(home)] += scaled_weights(evidence.log_likelihood, weights, range);
  const std::size_t inner = stride_of(tree, value, evidence.attribute);
  for (std::size_t cell = 0; cell < table.size(); cell += inner) {
    kernels().scale(table.data() + cell, inner, weights[cell / inner % weights.size()]);
  }
  Range& own = work.ranges[at(home)];
  own = {own.low + range.low, own.high + range.high, loss_of_product(own, range)};
  work.log_scale[at(home)] += settle(table, own) * std::log(2.0);
}

}  // namespace

ImplicitWork::ImplicitWork(const ImplicitTree& contraction)
    : cells(std::make_unique_for_overwrite<double[]>(contraction.cells)),
      room(std::make_unique_for_overwrite<double[]>(contraction.room)),
      ranges(contraction.values.size()),
      log_scale(contraction.values.size(), 0.0) {}

Outcome contract_forward(const JunctionTree& tree, const ImplicitTree& contraction,
                         std::span<const double> potentials, const Observation& known, ImplicitWork& work,
                         double& log_z, int n_threads) {
  for (std::size_t v = 0; v < contraction.n_leaves; ++v) {
    if (v < contraction.n_factors) {
      load_factor(tree, contraction, potentials, known, static_cast<int>(v), work);
    } else {
      const auto table = cells_of(contraction, work, static_cast<int>(v));
      std::fill(table.begin(), table.end(), 1.0);
    }
  }
  for (const Evidence& e : known.evidence) load_evidence(contraction, tree, e, work);
  for (const auto& level : contraction.levels) {
    for_level(contraction, level, n_threads, [&](const ImplicitStep& step, int threads) {
      const auto a = cells_of(contraction, work, step.a);
      const double* b = step.b < 0 ? &kOne : cells_of(contraction, work, step.b).data();
      const auto out = cells_of(contraction, work, step.out);
      contract(step.forward, a.data(), b, out.data(), threads);
      Range range =
          product(work.ranges[at(step.a)], step.b < 0 ? Range{} : work.ranges[at(step.b)], step.forward);
      const double exponent = settle(out, range);
      work.ranges[at(step.out)] = range;
      work.log_scale[at(step.out)] = work.log_scale[at(step.a)] +
                                     (step.b < 0 ? 0.0 : work.log_scale[at(step.b)]) +
                                     exponent * std::log(2.0);
    });
  }
  log_z = 0;
  if (contraction.root < 0) return Outcome::exact;
  const double z = cells_of(contraction, work, contraction.root)[0];
  const double loss = work.ranges[at(contraction.root)].loss;
  log_z = std::log(z) + work.log_scale[at(contraction.root)];
  if (z == 0) return loss == -kInfinity ? Outcome::impossible : Outcome::lost;
  return loss - std::log2(z) > kTolerated ? Outcome::lost : Outcome::exact;
}

void contract_largest(const JunctionTree& tree, const ImplicitTree& contraction,
                      std::span<const double> potentials, const Observation& known, double* cells,
                      int n_threads) {
  constexpr double kNothing = 0.0;
  const auto table = [&](int value) { return cells + contraction.values[at(value)].offset; };
  for (std::size_t v = 0; v < contraction.n_leaves; ++v) {
    double* const out = table(static_cast<int>(v));
    if (v >= contraction.n_factors) {
      std::fill_n(out, contraction.values[v].cells, 0.0);
      continue;
    }
    const Placement& place = tree.factors[v];
    const auto given = potentials.subspan(place.offset, place.layout.small);
    for_observed_cells(tree, contraction, static_cast<int>(v), known.codes,
                       [&](std::size_t cell, std::size_t from) { out[cell] = given[from]; });
  }
  for (const Evidence& e : known.evidence) {
    const int home = contraction.home[at(e.attribute)];
    const Value& value = contraction.values[at(home)];
    const std::size_t step = stride_of(tree, value, e.attribute);
    for (std::size_t cell = 0; cell < value.cells; ++cell) {
      table(home)[cell] += e.log_likelihood[cell / step % e.log_likelihood.size()];
    }
  }
  for (const auto& level : contraction.levels) {
    for_level(contraction, level, n_threads, [&](const ImplicitStep& step, int threads) {
      const double* b = step.b < 0 ? &kNothing : table(step.b);
      contract_maxima(step.forward, table(step.a), b, table(step.out), threads);
    });
  }
}

}  // namespace pypgm
