#include <algorithm>
#include <atomic>
#include <cmath>

#include "core/implicit_passes.hpp"
#include "core/implicit_tree.hpp"
#include "core/kernels.hpp"
#include "core/observation.hpp"

namespace pypgm {

using namespace passes;

namespace {

/// One way back: the derivatives of everything, and the marginals of the leaves.
class Backward {
 public:
  Backward(const JunctionTree& tree, const ImplicitTree& contraction, const Observation& known,
           ImplicitWork& work, const Marginals& marginals)
      : tree_(tree), contraction_(contraction), known_(known), work_(work), marginals_(marginals) {
    if (marginals.attributes.empty()) return;
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
    const bool direct = factor && !rearranged(tree_, contraction_, value);
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
    if (at(value) >= contraction_.n_factors || !rearranged(tree_, contraction_, value)) return;
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
      const std::size_t inner = stride_of(tree_, own, static_cast<std::int32_t>(a));
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
