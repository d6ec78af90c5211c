#include <algorithm>
#include <cmath>

#include "core/base/threads.hpp"
#include "core/exact/contract.hpp"
#include "core/exact/factored_inference.hpp"
#include "core/exact/factored_passes.hpp"
#include "core/exact/observation.hpp"
#include "core/simd/extended_kernels.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

using namespace passes;

namespace {

void load_factor(const JunctionTree& tree, const FactoredTree& factored, std::span<const double> potentials,
                 const Observation& known, int factor, FactoredWork& work) {
  Weights table = weights_of(factored, work, factor);
  const Placement& place = tree.factors[at(factor)];
  auto given = potentials.subspan(place.offset, place.layout.small);
  if (rearranged(tree, factored, factor)) {
    for_observed_cells(tree, factored, factor, known.codes,
                       [&](std::size_t cell, std::size_t from) { table.cells[cell] = given[from]; });
    given = table.cells;
  }
  work.log_scale[at(factor)] = take_logarithms(given, table, work.may_extend);
  keep_known(work, factor, table);
}

/// Calls body(first of the cells, how many, index of the likelihood that is theirs).
template <class Body>
void for_likelihoods(const JunctionTree& tree, const Value& value, const Evidence& evidence,
                     const Body& body) {
  const std::size_t inner = stride_of(tree, value, evidence.attribute);
  for (std::size_t cell = 0; cell < value.cells; cell += inner) {
    body(cell, inner, cell / inner % evidence.log_likelihood.size());
  }
}

/// Multiplies likelihoods into the smallest leaf that holds their attribute.
void load_evidence(const FactoredTree& factored, const JunctionTree& tree, const Evidence& evidence,
                   FactoredWork& work) {
  const int home = factored.home[at(evidence.attribute)];
  Weights table = weights_of(factored, work, home);
  std::vector<double> weights(evidence.log_likelihood.size());
  std::vector<double> exponents(weights.size());
  Weights likelihood{weights, exponents.data()};
  double& scale = work.log_scale[at(home)];
  const Value& value = factored.values[at(home)];
  if (work.may_extend) {
    if (!table.extended) std::fill_n(table.exponents, value.cells, 0.0);
    extend_logarithms(evidence.log_likelihood, likelihood);
    for_likelihoods(tree, value, evidence, [&](std::size_t begin, std::size_t n, std::size_t code) {
      kernels().scale(table.cells.data() + begin, n, weights[code]);
      for (std::size_t i = begin; i < begin + n; ++i) table.exponents[i] += exponents[code];
    });
    extended_kernels().split(table.cells.data(), table.exponents, value.cells);
    scale += narrow(table) * std::log(2.0);
  } else {
    scale += take_logarithms(evidence.log_likelihood, likelihood, false);
    for_likelihoods(tree, value, evidence, [&](std::size_t begin, std::size_t n, std::size_t code) {
      kernels().scale(table.cells.data() + begin, n, weights[code]);
    });
    const WeightRange& range = likelihood.range;
    table.range = {table.range.low + range.low, table.range.high + range.high,
                   loss_of_product(table.range, range)};
    scale += rescale(table, false) * std::log(2.0);
  }
  keep_known(work, home, table);
}

}  // namespace

FactoredWork::FactoredWork(const FactoredTree& factored)
    : cells(std::make_unique_for_overwrite<double[]>(factored.cells)),
      room(std::make_unique_for_overwrite<double[]>(factored.room)),
      exponents(std::make_unique_for_overwrite<double[]>(factored.cells)),
      room_exponents(std::make_unique_for_overwrite<double[]>(factored.room)),
      scratch(std::make_unique_for_overwrite<double[]>(factored.scratch)),
      ranges(factored.values.size()),
      extended(factored.values.size(), 0),
      log_scale(factored.values.size(), 0.0) {}

Outcome factored_forward(const JunctionTree& tree, const FactoredTree& factored,
                         std::span<const double> potentials, const Observation& known, FactoredWork& work,
                         double& log_z, int n_threads) {
  parallel_for(factored.n_leaves, threads_for(kEffortWork * kExpWork * potentials.size(), n_threads),
               [&](std::size_t v) {
                 const int value = static_cast<int>(v);
                 if (v < factored.n_factors)
                   return load_factor(tree, factored, potentials, known, value, work);
                 const auto cells = cells_of(factored, work, value);
                 std::fill(cells.begin(), cells.end(), 1.0);
                 keep_known(work, value, {cells, nullptr});
                 work.log_scale[v] = 0;
               });
  for (const Evidence& e : known.evidence) load_evidence(factored, tree, e, work);
  for (const auto& level : factored.levels) {
    for_steps(factored, level, n_threads, [&](const FactoredStep& step, int threads) {
      double one = 1.0;
      const Weights a = weights_of(factored, work, step.a);
      const Weights b = step.b < 0 ? Weights{{&one, 1}, nullptr} : weights_of(factored, work, step.b);
      Weights out = weights_of(factored, work, step.out);
      const double exponent = multiply(step.forward, a, b, out, step, work, threads);
      keep_known(work, step.out, out);
      work.log_scale[at(step.out)] = work.log_scale[at(step.a)] +
                                     (step.b < 0 ? 0.0 : work.log_scale[at(step.b)]) +
                                     exponent * std::log(2.0);
    });
  }
  log_z = 0;
  if (factored.root < 0) return Outcome::exact;
  const double z = cells_of(factored, work, factored.root)[0];
  const double loss = work.ranges[at(factored.root)].loss;
  log_z = std::log(z) + work.log_scale[at(factored.root)];
  if (z == 0) return loss == -kInfinity ? Outcome::impossible : Outcome::lost;
  return loss - std::log2(z) > kTolerated ? Outcome::lost : Outcome::exact;
}

void load_logarithms(const JunctionTree& tree, const FactoredTree& factored,
                     std::span<const double> potentials, const Observation& known, int leaf, double* out) {
  const Value& value = factored.values[at(leaf)];
  if (at(leaf) >= factored.n_factors) {
    std::fill_n(out, value.cells, 0.0);
  } else {
    const double* const given = potentials.data() + tree.factors[at(leaf)].offset;
    for_observed_cells(tree, factored, leaf, known.codes,
                       [&](std::size_t cell, std::size_t from) { out[cell] = given[from]; });
  }
  for (const Evidence& e : known.evidence) {
    if (factored.home[at(e.attribute)] != leaf) continue;
    const std::size_t step = stride_of(tree, value, e.attribute);
    for (std::size_t cell = 0; cell < value.cells; ++cell) {
      out[cell] += e.log_likelihood[cell / step % e.log_likelihood.size()];
    }
  }
}

double factored_maximum(const JunctionTree& tree, const FactoredTree& factored,
                        std::span<const double> potentials, const Observation& known, double* cells,
                        int n_threads) {
  constexpr double kNothing = 0.0;
  // A factor that lies as it is given is read where it is.
  const auto given = [&](int value) {
    return at(value) < factored.n_factors && known.evidence.empty() && !rearranged(tree, factored, value);
  };
  const auto table = [&](int value) -> const double* {
    if (given(value)) return potentials.data() + tree.factors[at(value)].offset;
    return cells + factored.values[at(value)].offset;
  };
  for (int v = 0; at(v) < factored.n_leaves; ++v) {
    if (given(v)) continue;
    load_logarithms(tree, factored, potentials, known, v, cells + factored.values[at(v)].offset);
  }
  for (const auto& level : factored.levels) {
    for_steps(factored, level, n_threads, [&](const FactoredStep& step, int threads) {
      const double* b = step.b < 0 ? &kNothing : table(step.b);
      contract_maxima(step.forward.loops, table(step.a), b, cells + factored.values[at(step.out)].offset,
                      threads);
    });
  }
  return factored.root < 0 ? 0.0 : *table(factored.root);
}

}  // namespace pypgm
