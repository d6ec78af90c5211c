#include <algorithm>
#include <cmath>
#include <functional>

#include "core/base/threads.hpp"
#include "core/exact/contract.hpp"
#include "core/exact/factored_inference.hpp"
#include "core/exact/factored_passes.hpp"
#include "core/exact/observation.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

using namespace passes;

namespace {

void load_leaf(const JunctionTree& tree, const FactoredTree& factored, std::span<const double> potentials,
               const Observation& known, int leaf, FactoredWork& work) {
  Weights table = weights_of(factored, work, leaf);
  std::span<const double> given = table.cells;
  if (lies_as_given(tree, factored, leaf)) {
    given = potentials.subspan(tree.factors[at(leaf)].offset, given.size());
  } else {
    load_logarithms(tree, factored, potentials, known, leaf, table.cells.data());
  }
  work.log_scale[at(leaf)] = take_logarithms(given, table, work.may_extend);
  keep_known(work, leaf, table);
}

}  // namespace

FactoredWork::FactoredWork(const FactoredTree& factored)
    : buffer(std::make_unique_for_overwrite<double[]>(2 * (factored.cells + factored.spare))),
      cells(buffer.get()),
      spare(cells + factored.cells),
      exponents(spare + factored.spare),
      spare_exponents(exponents + factored.cells),
      ranges(factored.values.size()),
      extended(factored.values.size(), 0),
      log_scale(factored.values.size(), 0.0) {}

Outcome factored_forward(const JunctionTree& tree, const FactoredTree& factored,
                         std::span<const double> potentials, const Observation& known, FactoredWork& work,
                         double& log_z, int n_threads) {
  parallel_for(
      factored.n_leaves, threads_for(kEffortWork * kExpWork * potentials.size(), n_threads),
      [&](std::size_t leaf) { load_leaf(tree, factored, potentials, known, static_cast<int>(leaf), work); });
  for (const auto& level : factored.levels) {
    for_steps(factored, level, n_threads, [&](const FactoredStep& step, int threads) {
      double one = 1.0;
      const Weights a = weights_of(factored, work, step.a);
      const Weights b = step.b < 0 ? Weights{{&one, 1}, nullptr} : weights_of(factored, work, step.b);
      Weights out = weights_of(factored, work, step.out);
      const double exponent = multiply(step.forward, a.operand(), b.operand(), out, work.may_extend, threads);
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
  if (at(leaf) < factored.n_factors) {
    const double* const given = potentials.data() + tree.factors[at(leaf)].offset;
    return for_observed_cells(tree, factored, leaf, known.codes,
                              [&](std::size_t cell, std::size_t from) { out[cell] = given[from]; });
  }
  std::fill_n(out, factored.values[at(leaf)].cells, 0.0);
  for (const Evidence& e : known.evidence) {
    if (factored.home[at(e.attribute)] != leaf) continue;
    std::transform(e.log_likelihood.begin(), e.log_likelihood.end(), out, out, std::plus<>());
  }
}

double factored_maximum(const JunctionTree& tree, const FactoredTree& factored,
                        std::span<const double> potentials, const Observation& known, double* cells,
                        int n_threads) {
  constexpr double kNothing = 0.0;
  // A factor that lies as it is given is read where it is.
  const auto table = [&](int value) -> const double* {
    if (lies_as_given(tree, factored, value)) return potentials.data() + tree.factors[at(value)].offset;
    return cells + factored.values[at(value)].offset;
  };
  for (int v = 0; at(v) < factored.n_leaves; ++v) {
    if (lies_as_given(tree, factored, v)) continue;
    load_logarithms(tree, factored, potentials, known, v, cells + factored.values[at(v)].offset);
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
