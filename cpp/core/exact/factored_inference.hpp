#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/exact/evidence.hpp"
#include "core/exact/outcome.hpp"
#include "core/exact/weight_range.hpp"
#include "core/plan/factored_tree.hpp"

namespace pypgm {

/// The evidence of a run.
struct Observation {
  std::vector<std::int32_t> codes;     ///< by attribute: the observed value, where there is one
  std::span<const Evidence> evidence;  ///< log-likelihoods of attributes that no given clique holds
};

/// The buffers of one run. Cell exponents are only touched where a table is extended.
struct FactoredWork {
  explicit FactoredWork(const FactoredTree& factored);

  /// All of the buffers, one behind the other: of several, freed together, the C library returns the memory
  /// to the system after each run, and touching it anew takes as long as a run on a megabyte.
  std::unique_ptr<double[]> buffer;
  double* cells;
  double* spare;
  double* exponents;        ///< of the cells, where their table is extended
  double* spare_exponents;  ///< of its cells
  std::vector<WeightRange>
      ranges;  ///< of the values; in the backward pass, of the derivatives computed so far
  std::vector<std::uint8_t> extended;  ///< likewise: whether each cell has an exponent of its own
  std::vector<double> log_scale;       ///< natural log of what each value has to be multiplied by
  /// Whether a table whose weights lie too far apart for products gets cell exponents, which costs two or
  /// three times as much and loses nothing; otherwise what is far below the largest weight is set to zero,
  /// and the loss is bounded.
  bool may_extend = false;
};

/// log Z of the factors (natural logs, one behind the other) given an observation.
Outcome factored_forward(const JunctionTree& tree, const FactoredTree& factored,
                         std::span<const double> potentials, const Observation& known, FactoredWork& work,
                         double& log_z, int n_threads);

/// Where the backward pass writes marginals, in counts that sum to `total`, cells against the observation 0.
struct Marginals {
  double total = 1;
  std::span<double> factors;     ///< of all given factors, one behind the other; or empty
  std::span<double> attributes;  ///< of all attributes, one behind the other; or empty
};

/// After an exact factored_forward with the same arguments.
Outcome factored_backward(const JunctionTree& tree, const FactoredTree& factored, const Observation& known,
                          FactoredWork& work, const Marginals& marginals, int n_threads);

/// The logarithms of one leaf: a factor, as far as it agrees with what is observed, or the evidence of an
/// attribute that no factor holds.
void load_logarithms(const JunctionTree& tree, const FactoredTree& factored,
                     std::span<const double> potentials, const Observation& known, int leaf, double* out);

/// The forward pass with maxima of sums in place of sums of products: values are logarithms. Returns the
/// largest log-weight. `cells` has room for all values; those of the steps are in it afterwards.
double factored_maximum(const JunctionTree& tree, const FactoredTree& factored,
                        std::span<const double> potentials, const Observation& known, double* cells,
                        int n_threads);

}  // namespace pypgm
