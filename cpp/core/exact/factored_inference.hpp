#pragma once
#include <cstdint>
#include <memory>
#include <span>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/base/threads.hpp"
#include "core/exact/observation.hpp"
#include "core/exact/weights.hpp"
#include "core/plan/factored_tree.hpp"

namespace pypgm {

/// The tables of one run. Cell exponents are only touched where a table is extended.
struct FactoredWork {
  explicit FactoredWork(const FactoredTree& factored);

  /// The cells of all values, spare ones, and the exponents of both, packed: of several
  /// buffers, freed together, the C library returns the memory to the system after each run, and touching it
  /// anew takes as long as a run on a megabyte.
  std::unique_ptr<double[]> buffer;
  std::vector<Weights> values;    ///< in the backward pass the derivatives computed so far
  double* spare;                  ///< see FactoredStep::spare
  double* spare_exponents;        ///< of its cells
  std::vector<double> log_scale;  ///< natural log of what each value has to be multiplied by
  /// Whether a table whose weights lie too far apart for products gets cell exponents, which costs two or
  /// three times as much and loses nothing; otherwise what is far below the largest weight is set to zero,
  /// and the loss is bounded.
  bool may_extend = false;
  Watch* watch = nullptr;  ///< once it is abandoned, a pass ends soon and means nothing
};

/// Calls body(step, threads inside it) for the steps of a level.
template <class Body>
void for_steps(const FactoredTree& factored, const std::vector<int>& level, int n_threads, const Body& body) {
  for_level(
      level, n_threads, [&](int s) { return kEffortWork * factored.steps[at(s)].forward.effort; },
      [&](int s, int threads) { body(factored.steps[at(s)], threads); });
}

/// log Z of the potentials given what is observed, but for the weight of the observed values.
Outcome factored_forward(const Observation& observation, FactoredWork& work, double& log_z, int n_threads);

/// Where the backward pass writes marginals, in counts that sum to `total`, cells against the observation 0.
struct Marginals {
  double total = 1;
  std::span<double> factors;     ///< of all given factors, packed; or empty
  std::span<double> attributes;  ///< of all attributes, packed; or empty

  bool empty() const { return factors.empty() && attributes.empty(); }
};

/// After an exact factored_forward with the same arguments.
Outcome factored_backward(const Observation& observation, FactoredWork& work, const Marginals& marginals,
                          int n_threads);

/// The logarithms of one leaf: a factor, as far as it agrees with what is observed, or the evidence of an
/// attribute that no factor holds.
void load_logarithms(const Observation& observation, int leaf, double* out);

/// The forward pass with maxima of sums in place of sums of products: values are logarithms. Returns the
/// largest log-weight. `cells` has room for all values; those of the steps are in it afterwards.
double factored_maximum(const Observation& observation, double* cells, int n_threads);

}  // namespace pypgm
