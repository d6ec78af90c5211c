#include <algorithm>
#include <atomic>
#include <cmath>
#include <numeric>

#include "core/implicit_tree.hpp"
#include "core/kernels.hpp"
#include "core/observation.hpp"
#include "core/threads.hpp"

// Tables are weights, not logarithms. Of each is known that its positive entries lie in [2^low, 2^high]:
// bounds follow from those of the factors, and only where they leave 2^±kWidest is the table looked at,
// scaled by a power of two (which rounds nothing) and what is still below 2^-kWidest of its largest entry set
// to zero. So no product ever underflows unnoticed, and what is set to zero is accounted for: `loss` bounds
// what any entry of a table may lack.
//   a sum of k products loses at most k (loss_a 2^high_b + loss_b 2^high_a + loss_a loss_b);
// Where the bound exceeds kTolerated of a marginal's sum, or of Z, the run says that it is lost.

namespace pypgm {

namespace {

constexpr double kInfinity = std::numeric_limits<double>::infinity();
constexpr double kWidest = 400;
constexpr double kTolerated = -57;  // as a power of two: 7e-18, far below what rounding does
constexpr double kOne = 1.0;

using Range = ImplicitWork::Range;

std::size_t at(std::int32_t i) { return static_cast<std::size_t>(i); }

std::span<double> cells_of(const ImplicitTree& contraction, ImplicitWork& work, int value) {
  const Value& v = contraction.values[at(value)];
  return {work.cells.get() + v.offset, v.cells};
}

double loss_of_product(const Range& a, const Range& b) {
  const double larger = std::max(a.loss + b.high, b.loss + a.high);
  return larger == -kInfinity ? larger : larger + 2;
}

Range product(const Range& a, const Range& b, const Loops& loops) {
  const double terms = std::log2(static_cast<double>(loops.work / std::max<std::size_t>(1, loops.cells)));
  return {a.low + b.low, a.high + b.high + terms, terms + loss_of_product(a, b)};
}

/// Brings a table back into the range where its products can be made; returns the power of two taken out.
double settle(std::span<double> table, Range& range) {
  if (range.high <= kWidest && range.low >= -kWidest) return 0;
  double largest = 0;
  double smallest = kInfinity;
  for (const double x : table) {
    largest = std::max(largest, x);
    smallest = x > 0 && x < smallest ? x : smallest;
  }
  if (largest == 0) {
    range.low = range.high = 0;
    return 0;
  }
  const int exponent = std::ilogb(largest);
  const double factor = std::ldexp(1.0, -exponent);
  kernels().scale(table.data(), table.size(), factor);
  range.high = 1;
  range.loss -= exponent;
  range.low = std::log2(smallest) - exponent - 1;
  if (range.low < -kWidest) {
    const double least = std::ldexp(1.0, -static_cast<int>(kWidest));
    for (double& x : table) x = x < least ? 0.0 : x;
    range.low = -kWidest;
    range.loss = std::max(range.loss, -kWidest) + 1;
  }
  return exponent;
}

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
  if (restricted(tree, contraction, factor)) {
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
  std::size_t inner = 1;
  for (std::size_t i = value.attributes.size(); i-- > 0 && value.attributes[i] != evidence.attribute;) {
    inner *= tree.sizes[at(value.attributes[i])];
  }
  for (std::size_t cell = 0; cell < table.size(); cell += inner) {
    kernels().scale(table.data() + cell, inner, weights[cell / inner % weights.size()]);
  }
  Range& own = work.ranges[at(home)];
  own = {own.low + range.low, own.high + range.high, loss_of_product(own, range)};
  work.log_scale[at(home)] += settle(table, own) * std::log(2.0);
}

/// Calls body(step, threads inside it) for a level: steps beside each other, or, where one outweighs the
/// rest, one after the other with all threads inside.
template <class Body>
void for_level(const ImplicitTree& contraction, const std::vector<int>& level, int n_threads,
               const Body& body) {
  std::size_t total = 0;
  std::size_t largest = 0;
  for (const int s : level) {
    total += contraction.steps[at(s)].forward.work;
    largest = std::max(largest, contraction.steps[at(s)].forward.work);
  }
  const int threads = threads_for(total, n_threads);
  if (threads > 1 && 2 * largest <= total) {
    parallel_for(level.size(), threads, [&](std::size_t k) { body(contraction.steps[at(level[k])], 1); });
  } else {
    for (const int s : level) body(contraction.steps[at(s)], threads);
  }
}

/// One way back: the derivatives of everything, and the marginals of the leaves.
class Backward {
 public:
  Backward(const JunctionTree& tree, const ImplicitTree& contraction, const Observation& known,
           ImplicitWork& work, const Marginals& marginals)
      : tree_(tree), contraction_(contraction), known_(known), work_(work), marginals_(marginals) {
    for (const std::size_t size : tree.sizes) {
      attribute_offsets_.push_back(attribute_offsets_.empty() ? 0 : attribute_offsets_.back() + last_);
      last_ = size;
    }
    housed_.resize(contraction.n_leaves);
    for (std::size_t a = 0; a < tree.sizes.size(); ++a) housed_[at(contraction.home[a])].push_back(a);
  }

  void step(const ImplicitStep& s, int threads) {
    const auto out = cells_of(contraction_, work_, s.out);
    const Range derivative = work_.ranges[at(s.out)];
    const double* a = work_.cells.get() + contraction_.values[at(s.a)].offset;
    const double* b = s.b < 0 ? &kOne : work_.cells.get() + contraction_.values[at(s.b)].offset;
    const Range of_a = work_.ranges[at(s.a)];
    const Range of_b = s.b < 0 ? Range{} : work_.ranges[at(s.b)];
    const bool leaf_a = contraction_.is_leaf(s.a);
    const bool leaf_b = s.b >= 0 && contraction_.is_leaf(s.b);
    // Factors first: they keep their weights, which the other derivative needs. Of two values, one waits in
    // the room while the other's derivative takes its place.
    if (leaf_a) leaf(s.a, s.to_a, s.room, out.data(), b, product(derivative, of_b, s.to_a), threads);
    if (leaf_b) leaf(s.b, s.to_b, s.room, out.data(), a, product(derivative, of_a, s.to_b), threads);
    const bool inner_a = !leaf_a && wanted(s.a);
    const bool inner_b = s.b >= 0 && !leaf_b && wanted(s.b);
    const bool both = inner_a && inner_b;
    double* const room = work_.room.get() + s.room;
    if (inner_b)
      derive(s.b, s.to_b, out.data(), a, product(derivative, of_a, s.to_b), both ? room : nullptr, threads);
    if (inner_a) derive(s.a, s.to_a, out.data(), b, product(derivative, of_b, s.to_a), nullptr, threads);
    if (both)
      std::copy_n(room, contraction_.values[at(s.b)].cells, cells_of(contraction_, work_, s.b).data());
  }

  /// The leaf that is all there is, if there are no steps.
  void only_leaf(int value) {
    double derivative = 1.0;
    const bool factor = at(value) < contraction_.n_factors && !marginals_.factors.empty();
    if (factor) marginals_.factors[tree_.factors[at(value)].offset] = marginals_.total;
    finish(value, {&derivative, 1}, Range{});
  }

  void observed_attributes() {
    if (marginals_.attributes.empty()) return;
    for (std::size_t a = 0; a < tree_.sizes.size(); ++a) {
      if (contraction_.observed[a] == 0 && tree_.sizes[a] > 1) continue;
      const auto out = marginals_.attributes.subspan(attribute_offsets_[a], tree_.sizes[a]);
      std::fill(out.begin(), out.end(), 0.0);
      out[contraction_.observed[a] != 0 ? at(known_.codes[a]) : 0] = marginals_.total;
    }
  }

  bool lost() const { return lost_; }

 private:
  bool wanted(int value) const {
    return !marginals_.factors.empty() || contraction_.leads_home[at(value)] != 0;
  }

  void derive(int value, const Loops& loops, const double* derivative, const double* other, Range range,
              double* elsewhere, int threads) {
    const auto own = cells_of(contraction_, work_, value);
    const std::span<double> place(elsewhere == nullptr ? own.data() : elsewhere, own.size());
    contract(loops, derivative, other, place.data(), threads);
    settle(place, range);
    work_.ranges[at(value)] = range;
  }

  void leaf(int value, const Loops& loops, std::size_t room, const double* derivative, const double* other,
            Range range, int threads) {
    const bool factor = at(value) < contraction_.n_factors && !marginals_.factors.empty();
    if (!factor && (marginals_.attributes.empty() || housed_[at(value)].empty())) return;
    const std::size_t cells = contraction_.values[at(value)].cells;
    const bool direct = factor && !restricted(tree_, contraction_, value);
    double* const place =
        direct ? marginals_.factors.data() + tree_.factors[at(value)].offset : work_.room.get() + room;
    contract(loops, derivative, other, place, threads);
    finish(value, {place, cells}, range);
  }

  /// The marginal of a leaf: its weights times their derivative, scaled to the total.
  void finish(int value, std::span<double> derivative, Range range) {
    const auto weights = cells_of(contraction_, work_, value);
    settle(derivative, range);
    double sum = 0;
    for (std::size_t i = 0; i < weights.size(); ++i) derivative[i] *= weights[i];
    sum = kernels().sum(derivative.data(), derivative.size());
    const double cells = static_cast<double>(derivative.size());
    const double loss = loss_of_product(range, work_.ranges[at(value)]) + std::log2(cells);
    if (!(sum > 0) || loss - std::log2(sum) > kTolerated) {
      lost_ = true;
      return;
    }
    kernels().scale(derivative.data(), derivative.size(), marginals_.total / sum);
    if (!marginals_.factors.empty()) put_factor(value, derivative);
    if (!marginals_.attributes.empty()) put_attributes(value, derivative);
  }

  void put_factor(int value, std::span<const double> marginal) {
    if (at(value) >= contraction_.n_factors || !restricted(tree_, contraction_, value)) return;
    const Placement& place = tree_.factors[at(value)];
    const auto out = marginals_.factors.subspan(place.offset, place.layout.small);
    std::fill(out.begin(), out.end(), 0.0);
    for_observed_cells(tree_, contraction_, value, known_.codes,
                       [&](std::size_t cell, std::size_t to) { out[to] = marginal[cell]; });
  }

  void put_attributes(int value, std::span<const double> marginal) {
    const Value& own = contraction_.values[at(value)];
    for (const std::size_t a : housed_[at(value)]) {
      if (contraction_.observed[a] != 0 || tree_.sizes[a] == 1) continue;
      const auto out = marginals_.attributes.subspan(attribute_offsets_[a], tree_.sizes[a]);
      std::fill(out.begin(), out.end(), 0.0);
      std::size_t inner = 1;
      for (std::size_t i = own.attributes.size(); i-- > 0 && at(own.attributes[i]) != a;) {
        inner *= tree_.sizes[at(own.attributes[i])];
      }
      for (std::size_t cell = 0; cell < marginal.size(); cell += inner) {
        out[cell / inner % out.size()] += kernels().sum(marginal.data() + cell, inner);
      }
    }
  }

  const JunctionTree& tree_;
  const ImplicitTree& contraction_;
  const Observation& known_;
  ImplicitWork& work_;
  const Marginals& marginals_;
  std::size_t last_ = 0;
  std::vector<std::size_t> attribute_offsets_;
  std::vector<std::vector<std::size_t>> housed_;
  std::atomic<bool> lost_ = false;
};

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

Outcome contract_backward(const JunctionTree& tree, const ImplicitTree& contraction, const Observation& known,
                          ImplicitWork& work, const Marginals& marginals, int n_threads) {
  Backward backward(tree, contraction, known, work, marginals);
  backward.observed_attributes();
  if (contraction.root < 0) return Outcome::exact;
  if (contraction.steps.empty()) {
    backward.only_leaf(contraction.root);
  } else {
    cells_of(contraction, work, contraction.root)[0] = 1.0;
    work.ranges[at(contraction.root)] = Range{};
  }
  for (std::size_t depth = contraction.levels.size(); depth-- > 0;) {
    for_level(contraction, contraction.levels[depth], n_threads,
              [&](const ImplicitStep& step, int threads) { backward.step(step, threads); });
  }
  return backward.lost() ? Outcome::lost : Outcome::exact;
}

}  // namespace pypgm
