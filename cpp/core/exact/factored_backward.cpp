// Reverse mode over factored cliques. The forward pass made Z in steps, each a sum of products of two values;
// this one goes back from the root, where the derivative of Z is 1: the derivative in one value of a step is
// that in its result times the other value, summed. At a leaf, weights times derivative are, scaled, its
// marginal: the derivative of log Z in its logarithms. A derivative takes the place of its value, except at
// leaves, whose weights are read for that.
#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "core/exact/factored_inference.hpp"
#include "core/exact/observation.hpp"
#include "core/simd/extended_kernels.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm {

namespace {

/// One backward pass: the derivatives of all values, and the marginals of the leaves.
class Backward {
 public:
  Backward(const Observation& observation, FactoredWork& work, const Marginals& marginals)
      : tree_(observation.tree),
        factored_(observation.factored()),
        observation_(observation),
        work_(work),
        marginals_(marginals) {
    if (marginals.attributes.empty()) return;
    attribute_offsets_.resize(tree_.sizes.size());
    std::exclusive_scan(tree_.sizes.begin(), tree_.sizes.end(), attribute_offsets_.begin(), std::size_t{0});
    housed_.resize(factored_.n_leaves);
    for (std::size_t a = 0; a < tree_.sizes.size(); ++a) housed_[at(factored_.leaf_of[a])].push_back(a);
  }

  void step(const FactoredStep& s, int threads) {
    double one = 1.0;
    const Weights derivative = work_.values[at(s.out)];
    const Weights a = work_.values[at(s.a)];
    const Weights b = s.b < 0 ? Weights{{&one, 1}, nullptr} : work_.values[at(s.b)];
    const bool leaf_a = factored_.is_leaf(s.a);
    const bool leaf_b = s.b >= 0 && factored_.is_leaf(s.b);
    // Factors first: they keep their weights, which the other derivative needs. Of two values, one waits in
    // the spare buffer while the other's derivative takes its place.
    if (leaf_a) leaf(s, s.a, s.to_a, derivative, b, threads);
    if (leaf_b) leaf(s, s.b, s.to_b, derivative, a, threads);
    const bool inner_a = !leaf_a && wanted(s.a);
    const bool inner_b = s.b >= 0 && !leaf_b && wanted(s.b);
    const bool both = inner_a && inner_b;
    Weights of_b = both ? in_spare(s, b.cells.size()) : b;
    if (inner_b) derive(s.b, s.to_b, derivative, a, of_b, threads);
    if (inner_a) {
      Weights of_a = a;
      derive(s.a, s.to_a, derivative, b, of_a, threads);
    }
    if (!both) return;
    std::copy(of_b.cells.begin(), of_b.cells.end(), b.cells.begin());
    if (of_b.extended) std::copy_n(of_b.exponents, of_b.cells.size(), b.exponents);
  }

  /// The leaf that is all there is, if there are no steps.
  void only_leaf(int value) {
    double derivative = 1.0;
    const bool factor = at(value) < factored_.n_factors && !marginals_.factors.empty();
    if (factor) marginals_.factors[tree_.factors[at(value)].offset] = marginals_.total;
    finish(value, {{&derivative, 1}, nullptr});
  }

  void observed_attributes() {
    if (marginals_.attributes.empty()) return;
    for (std::size_t a = 0; a < tree_.sizes.size(); ++a) {
      if (observation_.observed[a] == 0 && tree_.sizes[a] > 1) continue;
      const auto out = marginals_.attributes.subspan(attribute_offsets_[a], tree_.sizes[a]);
      std::fill(out.begin(), out.end(), 0.0);
      out[observation_.observed[a] != 0 ? at(observation_.codes[a]) : 0] = marginals_.total;
    }
  }

  bool lost() const { return lost_; }

 private:
  bool wanted(int value) const {
    return !marginals_.factors.empty() || factored_.leads_to_leaf[at(value)] != 0;
  }

  Weights in_spare(const FactoredStep& s, std::size_t cells) {
    return {{work_.spare + s.spare, cells}, work_.spare_exponents + s.spare};
  }

  void derive(int value, const Loops& by, const Weights& derivative, const Weights& other, Weights& place,
              int threads) {
    multiply(by, derivative.operand(), other.operand(), place, work_.may_extend, threads, work_.watch);
    work_.values[at(value)].range = place.range;
    work_.values[at(value)].extended = place.extended;
  }

  void leaf(const FactoredStep& s, int value, const Loops& by, const Weights& derivative,
            const Weights& other, int threads) {
    const bool factor = at(value) < factored_.n_factors && !marginals_.factors.empty();
    if (!factor && (marginals_.attributes.empty() || housed_[at(value)].empty())) return;
    Weights place = in_spare(s, factored_.values[at(value)].cells);
    if (factor && lies_as_given(observation_, value)) place.cells = slice(tree_, marginals_.factors, value);
    multiply(by, derivative.operand(), other.operand(), place, work_.may_extend, threads, work_.watch);
    finish(value, place);
  }

  /// The marginal of a leaf: its weights times their derivative, scaled to the total.
  void finish(int value, Weights derivative) {
    const Weights& weights = work_.values[at(value)];
    const auto cells = derivative.cells;
    for (std::size_t i = 0; i < cells.size(); ++i) cells[i] *= weights.cells[i];
    if (derivative.extended || weights.extended) add_exponents(derivative, weights);
    const double sum = kernels().sum(cells.data(), cells.size());
    const double loss =
        loss_of_product(derivative.range, weights.range) + std::log2(static_cast<double>(cells.size()));
    if (!work_.may_extend && (!(sum > 0) || loss - std::log2(sum) > kTolerated)) {
      lost_ = true;
      return;
    }
    kernels().scale(cells.data(), cells.size(), marginals_.total / sum);
    if (!marginals_.factors.empty()) put_factor(value, cells);
    if (!marginals_.attributes.empty()) put_attributes(value, cells);
  }

  /// Makes products plain weights, the largest about 1.
  static void add_exponents(const Weights& products, const Weights& weights) {
    const std::span<double> exponents(products.exponents, products.cells.size());
    if (!products.extended) std::fill(exponents.begin(), exponents.end(), 0.0);
    for (std::size_t i = 0; weights.extended && i < exponents.size(); ++i)
      exponents[i] += weights.exponents[i];
    extended_kernels().split(products.cells.data(), exponents.data(), exponents.size());
    const double largest = kernels().max(exponents.data(), exponents.size());
    if (largest == -kInfinity) return;
    for (double& e : exponents) e -= largest;
    extended_kernels().weigh(products.cells.data(), exponents.data(), exponents.size(),
                             products.cells.data());
  }

  void put_factor(int value, std::span<const double> marginal) {
    if (at(value) >= factored_.n_factors || lies_as_given(observation_, value)) return;
    const auto out = slice(tree_, marginals_.factors, value);
    std::fill(out.begin(), out.end(), 0.0);
    for_observed_cells(observation_, value,
                       [&](std::size_t cell, std::size_t to) { out[to] = marginal[cell]; });
  }

  void put_attributes(int value, std::span<const double> marginal) {
    const Value& own = factored_.values[at(value)];
    for (const std::size_t a : housed_[at(value)]) {
      if (observation_.observed[a] != 0 || tree_.sizes[a] == 1) continue;
      const auto out = marginals_.attributes.subspan(attribute_offsets_[a], tree_.sizes[a]);
      std::fill(out.begin(), out.end(), 0.0);
      const std::size_t inner = stride_of(tree_.sizes, own.attributes, static_cast<std::int32_t>(a));
      for (std::size_t cell = 0; cell < marginal.size(); cell += inner) {
        out[cell / inner % out.size()] += kernels().sum(marginal.data() + cell, inner);
      }
    }
  }

  const JunctionTree& tree_;
  const FactoredTree& factored_;
  const Observation& observation_;
  FactoredWork& work_;
  const Marginals& marginals_;
  std::vector<std::size_t> attribute_offsets_;
  std::vector<std::vector<std::size_t>> housed_;
  std::atomic<bool> lost_ = false;
};

}  // namespace

Outcome factored_backward(const Observation& observation, FactoredWork& work, const Marginals& marginals,
                          int n_threads) {
  const FactoredTree& factored = observation.factored();
  Backward backward(observation, work, marginals);
  backward.observed_attributes();
  if (factored.root < 0) return Outcome::exact;
  if (factored.steps.empty()) {
    backward.only_leaf(factored.root);
  } else {
    Weights& root = work.values[at(factored.root)];
    root.cells[0] = 1.0;
    root.range = {};
    root.extended = false;
  }
  for (std::size_t depth = factored.levels.size(); depth-- > 0;) {
    for_steps(factored, factored.levels[depth], n_threads,
              [&](const FactoredStep& step, int threads) { backward.step(step, threads); });
  }
  return backward.lost() ? Outcome::lost : Outcome::exact;
}

}  // namespace pypgm
