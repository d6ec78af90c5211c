// The most probable assignment by max-product: one upward pass, then values fixed from the root down, the
// smallest codes first where several reach the maximum.
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

/// The upward pass and the choices along its maxima.
class MaxPass {
 public:
  MaxPass(const Observation& observation, const Watch* watch)
      : tree_(observation.tree),
        watch_(watch),
        factored_(observation.factored()),
        cells_(std::make_unique_for_overwrite<double[]>(factored_.cells)),
        codes_(observation.codes) {
    for (int v = 0; at(v) < factored_.n_leaves; ++v) load_logarithms(observation, v, table(v));
    for (const FactoredStep& step : factored_.steps) maximise(step);
  }

  double largest() const { return factored_.root < 0 ? 0.0 : *table(factored_.root); }

  /// Follows the maxima down to an assignment, the smaller codes first.
  std::vector<std::int32_t> trace() {
    for (std::size_t s = factored_.steps.size(); s-- > 0;) choose(factored_.steps[s]);
    return codes_;
  }

 private:
  double* table(int value) { return cells_.get() + factored_.values[at(value)].offset; }
  const double* table(int value) const { return cells_.get() + factored_.values[at(value)].offset; }

  void maximise(const FactoredStep& step) {
    const double* b = step.b < 0 ? &kZero : table(step.b);
    contract_maxima(step.forward, table(step.a), b, table(step.out), 1, watch_);
  }

  /// Gives the attributes a step maximises over the first codes that reach the maximum of its answer, whose
  /// own attributes have their codes.
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
    do {
      const double right = step.b < 0 ? 0.0 : table(step.b)[cell_of(step.b)];
      if (table(step.a)[cell_of(step.a)] + right == wanted) return;
    } while (!is_abandoned(watch_) && advance(free));
    assert(is_abandoned(watch_));
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

  const JunctionTree& tree_;
  const Watch* watch_;
  const FactoredTree& factored_;
  std::unique_ptr<double[]> cells_;
  std::vector<std::int32_t> codes_;
};

}  // namespace

MostProbable most_probable(const JunctionTree& tree, std::span<const double> potentials,
                           std::span<const Evidence> evidence, const Watch* watch) {
  assert(tree.factored != nullptr);
  const Observation observation(tree, potentials, evidence);
  MaxPass pass(observation, watch);
  const double largest = pass.largest();
  if (largest + observation.log_weight == -kInfinity) return {{}, -kInfinity};
  return {pass.trace(), largest + observation.log_weight};
}

}  // namespace pypgm
