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

/// What is known when a contraction runs.
struct Observation {
  std::vector<std::int32_t> codes;     ///< by attribute: the observed value, where there is one
  std::span<const Evidence> evidence;  ///< log-likelihoods of attributes that are not observed
};

/// The buffers of one run. Those of spread tables are only touched where there are any.
struct FactoredWork {
  explicit FactoredWork(const FactoredTree& contraction);

  std::unique_ptr<double[]> cells;
  std::unique_ptr<double[]> room;
  std::unique_ptr<double[]> exponents;       ///< of the cells, where their table is spread
  std::unique_ptr<double[]> room_exponents;  ///< of the cells in the room
  std::unique_ptr<double[]> scratch;
  std::vector<WeightRange>
      ranges;  ///< of the values; on the way back, of the derivatives of those steps made
  std::vector<std::uint8_t> spread;  ///< likewise: whether each weight has a power of two of its own
  std::vector<double> log_scale;     ///< natural log of what each value has to be multiplied by
  /// Whether a table whose weights lie too far apart for products is spread, which costs two or three times
  /// as much and loses nothing; otherwise what is far below the largest weight is set to zero and accounted
  /// for.
  bool spreads = false;
};

/// log Z of the factors (natural logs, one behind the other) given an observation.
Outcome contract_forward(const JunctionTree& tree, const FactoredTree& contraction,
                         std::span<const double> potentials, const Observation& known, FactoredWork& work,
                         double& log_z, int n_threads);

/// Where the way back puts what it finds, in counts that sum to `total`, cells against the observation 0.
struct Marginals {
  double total = 1;
  std::span<double> factors;     ///< of all given factors, one behind the other; or empty
  std::span<double> attributes;  ///< of all attributes, one behind the other; or empty
};

/// After an exact contract_forward with the same arguments.
Outcome contract_backward(const JunctionTree& tree, const FactoredTree& contraction, const Observation& known,
                          FactoredWork& work, const Marginals& marginals, int n_threads);

/// The logarithms of one leaf: its factor, as far as it agrees with what is observed, and its evidence.
void load_logarithms(const JunctionTree& tree, const FactoredTree& contraction,
                     std::span<const double> potentials, const Observation& known, int leaf, double* out);

/// The same upwards with maxima of sums in place of sums of products: values are logarithms. Returns the
/// largest log-weight. `cells` has room for all values; those of the steps are in it afterwards.
double contract_largest(const JunctionTree& tree, const FactoredTree& contraction,
                        std::span<const double> potentials, const Observation& known, double* cells,
                        int n_threads);

}  // namespace pypgm
