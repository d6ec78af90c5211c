#pragma once
#include <cstdint>
#include <limits>
#include <memory>
#include <span>
#include <vector>

#include "core/contract.hpp"
#include "core/junction_tree.hpp"
#include "core/propagation.hpp"
#include "core/spread_contract.hpp"

namespace pypgm {

/// A table of a contraction: a given factor with its observed attributes fixed, or what a step makes.
struct Value {
  Scope attributes;  ///< in the order of its axes; observed and single-valued ones are left out
  std::size_t cells = 1;
  std::size_t offset = 0;  ///< in the buffer of all values
};

/// The loops of a product of two tables, and the rows either of them has.
struct Product {
  Loops loops;
  Rows a;
  Rows b;
};

/// values[out] = sum of values[a] * values[b] over what nobody needs any more; and the way back: what out's
/// derivative gives a and b.
struct ImplicitStep {
  int a;
  int b;
  int out;
  Product forward;
  Product to_a;             ///< derivative of out times b
  Product to_b;             ///< derivative of out times a
  std::size_t room = 0;     ///< in the buffer of derivatives that would overwrite what is still needed
  std::size_t scratch = 0;  ///< in the buffer of scaled tables
};

/// Message passing with implicit cliques: the tables of a junction tree are never made. In each clique its
/// factors and the messages of its children are multiplied pair by pair, the cheapest pair first, and an
/// attribute is summed out as soon as nothing else holds it; what is left is the message to the parent. The
/// marginal of a factor is the factor times the derivative of Z by it, which the steps taken backwards give.
/// Observed attributes are fixed beforehand: every table is smaller by them. Immutable after it is built.
struct ImplicitTree {
  std::vector<std::uint8_t> observed;    ///< by attribute
  std::vector<Value> values;             ///< factors, attributes no factor holds, then what the steps make
  std::size_t n_factors = 0;             ///< given ones
  std::size_t n_leaves = 0;              ///< values no step makes
  std::vector<int> home;                 ///< by attribute: the smallest leaf that holds it
  std::vector<std::uint8_t> leads_home;  ///< by value: whether it comes from anybody's home
  std::vector<ImplicitStep> steps;       ///< a step comes after those whose values it takes
  std::vector<std::vector<int>> levels;  ///< steps that depend on earlier levels alone
  int root = -1;                         ///< the value that is Z; -1 if there is none
  std::size_t cells = 0;                 ///< of all values
  std::size_t room = 0;                  ///< cells of the buffer the way back needs
  std::size_t scratch = 0;               ///< cells of the buffer spread tables are scaled in
  double operations = 0;                 ///< products of one pass forward and back

  bool is_leaf(int value) const { return static_cast<std::size_t>(value) < n_leaves; }
};

/// Plans the contraction of a tree's factors, with some attributes observed (one flag each; none if empty).
/// Requires that no clique of the tree has more than 64 attributes with a choice.
ImplicitTree make_implicit_tree(const JunctionTree& tree, std::span<const std::uint8_t> observed);

/// What is known when a contraction runs.
struct Observation {
  std::vector<std::int32_t> codes;     ///< by attribute: the observed value, where there is one
  std::span<const Evidence> evidence;  ///< log-likelihoods of attributes that are not observed
};

/// The buffers of one run. Those of spread tables are only touched where there are any.
struct ImplicitWork {
  explicit ImplicitWork(const ImplicitTree& contraction);

  /// What is known of a table's numbers, in powers of two.
  struct Range {
    double low = 0;                                          ///< positive entries are at least 2^low
    double high = 0;                                         ///< and at most 2^high
    double loss = -std::numeric_limits<double>::infinity();  ///< underflow took at most 2^loss from any entry
  };
  std::unique_ptr<double[]> cells;
  std::unique_ptr<double[]> room;
  std::unique_ptr<double[]> exponents;       ///< of the cells, where their table is spread
  std::unique_ptr<double[]> room_exponents;  ///< of the cells in the room
  std::unique_ptr<double[]> scratch;
  std::vector<Range> ranges;  ///< of the values; on the way back, of the derivatives of those steps made
  std::vector<std::uint8_t> spread;  ///< likewise: whether each weight has a power of two of its own
  std::vector<double> log_scale;     ///< natural log of what each value has to be multiplied by
  /// Whether a table whose weights lie too far apart for products is spread, which costs two or three times
  /// as much and loses nothing; otherwise what is far below the largest weight is set to zero and accounted
  /// for.
  bool spreads = false;
};

/// How a run ended: with numbers that can be trusted, without any weight, or with losses that matter, which
/// only a run that spreads its tables does not have.
enum class Outcome { exact, impossible, lost };

/// log Z of the factors (natural logs, one behind the other) given an observation.
Outcome contract_forward(const JunctionTree& tree, const ImplicitTree& contraction,
                         std::span<const double> potentials, const Observation& known, ImplicitWork& work,
                         double& log_z, int n_threads);

/// Where the way back puts what it finds, in counts that sum to `total`, cells against the observation 0.
struct Marginals {
  double total = 1;
  std::span<double> factors;     ///< of all given factors, one behind the other; or empty
  std::span<double> attributes;  ///< of all attributes, one behind the other; or empty
};

/// After an exact contract_forward with the same arguments.
Outcome contract_backward(const JunctionTree& tree, const ImplicitTree& contraction, const Observation& known,
                          ImplicitWork& work, const Marginals& marginals, int n_threads);

/// The same upwards with maxima of sums in place of sums of products: values are logarithms, and the root's
/// one cell is the largest log-weight. `cells` has room for all values.
void contract_largest(const JunctionTree& tree, const ImplicitTree& contraction,
                      std::span<const double> potentials, const Observation& known, double* cells,
                      int n_threads);

/// Step from a code of the attribute to the next one in a table; the whole table if it lacks the attribute.
std::size_t stride_of(const JunctionTree& tree, const Value& value, std::int32_t attribute);

}  // namespace pypgm
