// The forward pass over factored cliques: products and sums of tables from the leaves to log Z; maxima too.
#include <algorithm>
#include <cmath>
#include <functional>

#include "core/base/threads.hpp"
#include "core/exact/contract.hpp"
#include "core/exact/factored_inference.hpp"
#include "core/exact/observation.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

namespace {

void load_leaf(const Observation& observation, int leaf, FactoredWork& work) {
  Weights& table = work.values[at(leaf)];
  std::span<const double> given = table.cells;
  if (lies_as_given(observation, leaf)) {
    given = slice(observation.tree, observation.potentials, leaf);
  } else {
    load_logarithms(observation, leaf, table.cells.data());
  }
  work.log_scale[at(leaf)] = take_logarithms(given, table, work.may_extend);
}

}  // namespace

FactoredWork::FactoredWork(const FactoredTree& factored)
    : buffer(std::make_unique_for_overwrite<double[]>(2 * (factored.cells + factored.spare))),
      spare(buffer.get() + factored.cells),
      spare_exponents(spare + factored.spare + factored.cells),
      log_scale(factored.values.size(), 0.0) {
  double* const exponents = spare + factored.spare;
  values.reserve(factored.values.size());
  for (const Value& v : factored.values) {
    values.push_back({{buffer.get() + v.offset, v.cells}, exponents + v.offset});
  }
}

Outcome factored_forward(const Observation& observation, FactoredWork& work, double& log_z, int n_threads) {
  const FactoredTree& factored = observation.factored();
  parallel_for(factored.n_leaves,
               threads_for(kEffortWork * kExpWork * observation.potentials.size(), n_threads),
               [&](std::size_t leaf) { load_leaf(observation, static_cast<int>(leaf), work); });
  for (const auto& level : factored.levels) {
    for_steps(factored, level, n_threads, [&](const FactoredStep& step, int threads) {
      double one = 1.0;
      const Weights& a = work.values[at(step.a)];
      const Weights b = step.b < 0 ? Weights{{&one, 1}, nullptr} : work.values[at(step.b)];
      const double exponent = multiply(step.forward, a.operand(), b.operand(), work.values[at(step.out)],
                                       work.may_extend, threads, work.watch);
      work.log_scale[at(step.out)] = work.log_scale[at(step.a)] +
                                     (step.b < 0 ? 0.0 : work.log_scale[at(step.b)]) +
                                     exponent * std::log(2.0);
    });
  }
  log_z = 0;
  if (factored.root < 0) return Outcome::exact;
  const double z = work.values[at(factored.root)].cells[0];
  const double loss = work.values[at(factored.root)].range.loss;
  log_z = std::log(z) + work.log_scale[at(factored.root)];
  if (z == 0) return loss == -kInfinity ? Outcome::impossible : Outcome::lost;
  return loss - std::log2(z) > kTolerated ? Outcome::lost : Outcome::exact;
}

void load_logarithms(const Observation& observation, int leaf, double* out) {
  const FactoredTree& factored = observation.factored();
  if (at(leaf) < factored.n_factors) {
    const auto given = slice(observation.tree, observation.potentials, leaf);
    return for_observed_cells(observation, leaf,
                              [&](std::size_t cell, std::size_t from) { out[cell] = given[from]; });
  }
  std::fill_n(out, factored.values[at(leaf)].cells, 0.0);
  for (const Evidence& e : observation.alone) {
    if (factored.leaf_of[at(e.attribute)] != leaf) continue;
    std::transform(e.log_likelihood.begin(), e.log_likelihood.end(), out, out, std::plus<>());
  }
}

double factored_maximum(const Observation& observation, double* cells, int n_threads) {
  constexpr double kNothing = 0.0;
  const FactoredTree& factored = observation.factored();
  // A factor that lies as it is given is read where it is.
  const auto table = [&](int value) -> const double* {
    if (lies_as_given(observation, value))
      return slice(observation.tree, observation.potentials, value).data();
    return cells + factored.values[at(value)].offset;
  };
  for (int v = 0; at(v) < factored.n_leaves; ++v) {
    if (!lies_as_given(observation, v))
      load_logarithms(observation, v, cells + factored.values[at(v)].offset);
  }
  for (const auto& level : factored.levels) {
    for_steps(factored, level, n_threads, [&](const FactoredStep& step, int threads) {
      const double* b = step.b < 0 ? &kNothing : table(step.b);
      contract_maxima(step.forward, table(step.a), b, cells + factored.values[at(step.out)].offset, threads);
    });
  }
  return factored.root < 0 ? 0.0 : *table(factored.root);
}

}  // namespace pypgm
