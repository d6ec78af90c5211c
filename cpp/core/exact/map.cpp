// The most probable assignment by max-product: one upward pass, then values fixed from the root down, the
// smallest codes first where several are as probable.
#include "core/exact/map.hpp"

#include <algorithm>
#include <cassert>
#include <memory>

#include "core/base/numbers.hpp"
#include "core/exact/contract.hpp"
#include "core/exact/factored_inference.hpp"
#include "core/exact/observation.hpp"

namespace pypgm {

namespace {

constexpr double kZero = 0.0;

/// The upward pass, kept so that parts of it can be done again.
class MaxPass {
 public:
  MaxPass(const Observation& observation, const Watch* watch)
      : tree_(observation.tree),
        watch_(watch),
        factored_(observation.factored()),
        cells_(std::make_unique_for_overwrite<double[]>(factored_.cells)),
        taken_by_(factored_.values.size(), -1),
        codes_(observation.codes),
        settled_(observation.codes.size(), 1) {
    for (std::size_t s = 0; s < factored_.steps.size(); ++s) {
      const FactoredStep& step = factored_.steps[s];
      taken_by_[at(step.a)] = static_cast<int>(s);
      if (step.b >= 0) taken_by_[at(step.b)] = static_cast<int>(s);
    }
    for (int v = 0; at(v) < factored_.n_leaves; ++v) load_logarithms(observation, v, table(v));
    for (const FactoredStep& step : factored_.steps) maximise(step);
  }

  double largest() const { return factored_.root < 0 ? 0.0 : *table(factored_.root); }
  const std::vector<std::int32_t>& codes() const { return codes_; }

  /// Follows the maxima down to an assignment, the smaller codes first; whether it is the only one.
  bool trace() {
    std::ranges::fill(settled_, 1);
    for (std::size_t s = factored_.steps.size(); s-- > 0;) choose(factored_.steps[s]);
    return std::ranges::find(settled_, 0) == settled_.end();
  }

  /// Whether an attribute has the same code in all maximisers, as far as the last trace could see.
  bool settled(std::size_t attribute) const { return settled_[attribute] != 0; }

  /// Lets an attribute have the codes in [begin, end) alone; returns what its leaf was before.
  std::vector<double> limit(std::size_t attribute, std::size_t begin, std::size_t end) {
    const int leaf = factored_.leaf_of[attribute];
    const Value& value = factored_.values[at(leaf)];
    std::vector<double> before(table(leaf), table(leaf) + value.cells);
    const std::size_t size = tree_.sizes[attribute];
    const std::size_t step = stride_of(tree_.sizes, value.attributes, static_cast<std::int32_t>(attribute));
    for (std::size_t cell = 0; cell < value.cells; ++cell) {
      const std::size_t code = cell / step % size;
      if (code < begin || code >= end) table(leaf)[cell] = -kInfinity;
    }
    refresh(leaf);
    return before;
  }

  void restore(std::size_t attribute, const std::vector<double>& before) {
    const int leaf = factored_.leaf_of[attribute];
    std::copy(before.begin(), before.end(), table(leaf));
    refresh(leaf);
  }

 private:
  double* table(int value) { return cells_.get() + factored_.values[at(value)].offset; }
  const double* table(int value) const { return cells_.get() + factored_.values[at(value)].offset; }

  void maximise(const FactoredStep& step) {
    const double* b = step.b < 0 ? &kZero : table(step.b);
    contract_maxima(step.forward, table(step.a), b, table(step.out), 1, watch_);
  }

  void refresh(int value) {
    for (int s = taken_by_[at(value)]; s >= 0; s = taken_by_[at(factored_.steps[at(s)].out)]) {
      maximise(factored_.steps[at(s)]);
    }
  }

  /// Gives the attributes a step maximises over the first codes that reach the maximum of its answer, whose
  /// own attributes have their codes. They are settled if these are, and there is only one such choice.
  void choose(const FactoredStep& step) {
    Scope free;
    const Scope& kept = factored_.values[at(step.out)].attributes;
    const auto gather = [&](int value) {
      for (const std::int32_t x : factored_.values[at(value)].attributes) {
        if (std::find(kept.begin(), kept.end(), x) == kept.end()) free.push_back(x);
      }
    };
    gather(step.a);
    if (step.b >= 0) gather(step.b);
    if (free.empty()) return;
    std::sort(free.begin(), free.end());
    free.erase(std::unique(free.begin(), free.end()), free.end());
    for (const std::int32_t x : free) codes_[at(x)] = 0;
    const double wanted = table(step.out)[cell_of(step.out)];
    std::vector<std::int32_t> first;
    bool only = std::ranges::all_of(kept, [&](std::int32_t x) { return settled(at(x)); });
    for (bool more = true; more && !is_abandoned(watch_); more = advance(free)) {
      const double right = step.b < 0 ? 0.0 : table(step.b)[cell_of(step.b)];
      if (table(step.a)[cell_of(step.a)] + right != wanted) continue;
      if (!first.empty()) {
        only = false;
        break;
      }
      for (const std::int32_t x : free) first.push_back(codes_[at(x)]);
    }
    assert(!first.empty() || is_abandoned(watch_));
    if (!first.empty()) put(free, first);
    for (const std::int32_t x : free) settled_[at(x)] = only ? 1 : 0;
  }

  std::size_t cell_of(int value) const {
    std::size_t cell = 0;
    for (const std::int32_t x : factored_.values[at(value)].attributes) {
      cell = cell * tree_.sizes[at(x)] + at(codes_[at(x)]);
    }
    return cell;
  }

  bool advance(const Scope& free) {
    for (std::size_t i = free.size(); i-- > 0;) {
      if (at(++codes_[at(free[i])]) < tree_.sizes[at(free[i])]) return true;
      codes_[at(free[i])] = 0;
    }
    return false;
  }

  void put(const Scope& free, const std::vector<std::int32_t>& codes) {
    for (std::size_t i = 0; i < free.size(); ++i) codes_[at(free[i])] = codes[i];
  }

  const JunctionTree& tree_;
  const Watch* watch_;
  const FactoredTree& factored_;
  std::unique_ptr<double[]> cells_;
  std::vector<int> taken_by_;  ///< by value: the step that takes it; -1 for Z
  std::vector<std::int32_t> codes_;
  std::vector<std::uint8_t> settled_;  ///< by attribute
};

}  // namespace

MostProbable most_probable(const JunctionTree& tree, std::span<const double> potentials,
                           std::span<const Evidence> evidence, const Watch* watch) {
  assert(tree.factored != nullptr);
  const Observation observation(tree, potentials, evidence);
  MaxPass pass(observation, watch);
  const double largest = pass.largest();
  if (largest + observation.log_weight == -kInfinity) return {{}, -kInfinity};
  bool only = pass.trace();
  std::vector<std::int32_t> codes = pass.codes();
  for (std::size_t a = 0; !only && a < tree.sizes.size() && !is_abandoned(watch); ++a) {
    if (pass.settled(a)) continue;
    // A smaller code is in a maximiser exactly if the maximum stays when only smaller codes are left.
    while (codes[a] > 0 && !is_abandoned(watch)) {
      const std::vector<double> before = pass.limit(a, 0, at(codes[a]));
      if (pass.largest() != largest) {
        pass.restore(a, before);
        break;
      }
      only = pass.trace();
      codes = pass.codes();
    }
    if (only) break;
    pass.limit(a, at(codes[a]), at(codes[a]) + 1);
    only = pass.trace();
    codes = pass.codes();
  }
  return {codes, largest + observation.log_weight};
}

}  // namespace pypgm
