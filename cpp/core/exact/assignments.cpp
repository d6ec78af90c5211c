#include "core/exact/assignments.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <limits>

#include "core/base/xoshiro.hpp"
#include "core/exact/contract.hpp"
#include "core/exact/factored_passes.hpp"
#include "core/exact/observation.hpp"

namespace pypgm {

using namespace passes;

namespace {

constexpr double kNothing = 0.0;

bool has(const Scope& scope, std::int32_t attribute) {
  return std::find(scope.begin(), scope.end(), attribute) != scope.end();
}

}  // namespace

std::size_t Assignments::Address::operator()(std::span<const std::int32_t> codes) const {
  std::size_t cell = 0;
  for (const Term& term : terms) cell += term.step * at(codes[at(term.attribute)]);
  return cell;
}

template <class Body>
void Assignments::Choice::each(std::size_t a_cell, std::size_t b_cell, const Body& body) const {
  std::size_t count = 1;
  for (const Axis& axis : free) count *= axis.size;
  for (std::size_t number = 0; number < count; ++number) {
    std::size_t a_here = a_cell;
    std::size_t b_here = b_cell;
    std::size_t rest = number;
    for (std::size_t i = free.size(); i-- > 0;) {
      const std::size_t code = rest % free[i].size;
      rest /= free[i].size;
      a_here += code * free[i].a;
      b_here += code * free[i].b;
    }
    body(number, a_here, b_here);
  }
}

void Assignments::Choice::put(std::size_t number, std::span<std::int32_t> codes) const {
  for (std::size_t i = free.size(); i-- > 0;) {
    codes[at(free[i].attribute)] = static_cast<std::int32_t>(number % free[i].size);
    number /= free[i].size;
  }
}

Assignments::Assignments(const JunctionTree& tree)
    : tree_(tree),
      contraction_(*tree.factored),
      made_by_(contraction_.values.size(), -1),
      taken_by_(contraction_.values.size(), -1) {
  for (std::size_t s = 0; s < contraction_.steps.size(); ++s) {
    const FactoredStep& step = contraction_.steps[s];
    made_by_[at(step.out)] = static_cast<int>(s);
    taken_by_[at(step.a)] = static_cast<int>(s);
    if (step.b >= 0) taken_by_[at(step.b)] = static_cast<int>(s);
  }
  for (std::size_t v = 0; v < contraction_.values.size(); ++v) {
    const Value& value = contraction_.values[v];
    Address address;
    for (const std::int32_t x : value.attributes) address.terms.push_back({x, stride_of(tree, value, x)});
    address_.push_back(std::move(address));
    Choice down;
    Choice up;
    if (made_by_[v] >= 0) {
      const FactoredStep& made = contraction_.steps[at(made_by_[v])];
      down = choice(static_cast<int>(v), made.a, made.b);
    }
    if (taken_by_[v] >= 0) {
      const FactoredStep& taken = contraction_.steps[at(taken_by_[v])];
      up = choice(static_cast<int>(v), at(taken.a) == v ? taken.b : taken.a, taken.out);
    }
    down_.push_back(std::move(down));
    up_.push_back(std::move(up));
  }
}

Assignments::Choice Assignments::choice(int given, int a, int b) const {
  Choice c;
  c.a = a;
  c.b = b;
  const auto step_in = [&](int v, std::int32_t x) {
    if (v < 0) return std::size_t{0};
    const Value& value = contraction_.values[at(v)];
    return has(value.attributes, x) ? stride_of(tree_, value, x) : std::size_t{0};
  };
  for (const int v : {a, b}) {
    if (v < 0) continue;
    for (const std::int32_t x : contraction_.values[at(v)].attributes) {
      const bool known = has(contraction_.values[at(given)].attributes, x);
      const bool listed =
          std::any_of(c.free.begin(), c.free.end(), [&](const auto& axis) { return axis.attribute == x; });
      if (!known && !listed) c.free.push_back({x, tree_.sizes[at(x)], step_in(a, x), step_in(b, x)});
    }
  }
  return c;
}

double Assignments::maximise(std::span<const double> potentials, int n_threads) {
  const std::size_t cells = contraction_.cells;
  if (cells_ == nullptr) {
    cells_ = std::make_unique_for_overwrite<double[]>(cells);
    above_ = std::make_unique_for_overwrite<double[]>(cells);
  }
  const Observation nothing{std::vector<std::int32_t>(tree_.sizes.size(), 0), {}};
  for (int v = 0; at(v) < contraction_.n_leaves; ++v) {
    load_logarithms(tree_, contraction_, potentials, nothing, v,
                    cells_.get() + contraction_.values[at(v)].offset);
  }
  factored_maximum(tree_, contraction_, potentials, nothing, cells_.get(), n_threads);
  chosen_below_.assign(cells, -1);
  chosen_above_.assign(cells, -1);
  through_.assign(potentials.size(), 0.0);
  if (contraction_.root < 0) return 0.0;
  const auto offset = [&](int v) { return contraction_.values[at(v)].offset; };
  above_[offset(contraction_.root)] = 0.0;
  for (std::size_t depth = contraction_.levels.size(); depth-- > 0;) {
    for_level(contraction_, contraction_.levels[depth], n_threads, [&](const FactoredStep& s, int threads) {
      const double* above = above_.get() + offset(s.out);
      const double* b = s.b < 0 ? &kNothing : cells_.get() + offset(s.b);
      contract_maxima(s.to_a.loops, above, b, above_.get() + offset(s.a), threads);
      if (s.b < 0) return;
      contract_maxima(s.to_b.loops, above, cells_.get() + offset(s.a), above_.get() + offset(s.b), threads);
    });
  }
  for (std::size_t f = 0; f < contraction_.n_factors; ++f) {
    const std::size_t from = contraction_.values[f].offset;
    const std::size_t to = tree_.factors[f].offset;
    for_observed_cells(tree_, contraction_, static_cast<int>(f), nothing.codes,
                       [&](std::size_t cell, std::size_t place) {
                         through_[to + place] = cells_[from + cell] + above_[from + cell];
                       });
  }
  return cells_[offset(contraction_.root)];
}

std::int32_t Assignments::best(const Choice& c, const double* a, const double* b,
                               std::span<const std::int32_t> codes) const {
  const auto table = [&](const double* tables, int v) {
    return v < 0 ? &kNothing : tables + contraction_.values[at(v)].offset;
  };
  const double* const in_a = table(a, c.a);
  const double* const in_b = table(b, c.b);
  // What is still to be chosen has code 0.
  const auto base = [&](int v) { return v < 0 ? std::size_t{0} : address_[at(v)](codes); };
  double largest = -kInfinity;
  std::size_t first = 0;
  c.each(base(c.a), base(c.b), [&](std::size_t number, std::size_t a_cell, std::size_t b_cell) {
    const double weight = in_a[a_cell] + in_b[b_cell];
    if (weight <= largest) return;
    largest = weight;
    first = number;
  });
  return static_cast<std::int32_t>(first);
}

void Assignments::follow_down(int value, std::span<std::int32_t> codes) {
  if (value < 0 || contraction_.is_leaf(value)) return;
  const Choice& c = down_[at(value)];
  std::int32_t& number = chosen_below_[contraction_.values[at(value)].offset + address_[at(value)](codes)];
  if (number < 0) number = best(c, cells_.get(), cells_.get(), codes);
  c.put(at(number), codes);
  follow_down(c.a, codes);
  follow_down(c.b, codes);
}

void Assignments::heaviest(int factor, std::size_t cell, std::span<std::int32_t> codes) {
  std::fill(codes.begin(), codes.end(), 0);
  const Scope& scope = tree_.scopes[at(factor)];
  for (std::size_t i = scope.size(); i-- > 0;) {
    const std::size_t size = tree_.sizes[at(scope[i])];
    codes[at(scope[i])] = static_cast<std::int32_t>(cell % size);
    cell /= size;
  }
  for (int value = factor; taken_by_[at(value)] >= 0;) {
    const Choice& c = up_[at(value)];
    std::int32_t& number = chosen_above_[contraction_.values[at(value)].offset + address_[at(value)](codes)];
    if (number < 0) number = best(c, cells_.get(), above_.get(), codes);
    c.put(at(number), codes);
    follow_down(c.a, codes);
    value = c.b;
  }
}

std::vector<std::int32_t> Assignments::draw(std::span<const double> potentials, std::size_t n,
                                            std::uint64_t seed, int n_threads) const {
  FactoredWork work(contraction_);
  work.may_extend = true;
  double log_z = 0;
  const Observation nothing{std::vector<std::int32_t>(tree_.sizes.size(), 0), {}};
  factored_forward(tree_, contraction_, potentials, nothing, work, log_z, n_threads);
  Xoshiro draws(seed);
  std::vector<std::int32_t> records(n * tree_.sizes.size(), 0);
  std::vector<double> weights;
  const auto log_weight = [&](int v, std::size_t cell) {
    if (v < 0) return 0.0;
    const Weights table = weights_of(contraction_, work, v);
    return std::log(table.cells[cell]) + (table.extended ? table.exponents[cell] * std::log(2.0) : 0.0);
  };
  for (std::size_t record = 0; record < n; ++record) {
    const std::span<std::int32_t> codes(records.data() + record * tree_.sizes.size(), tree_.sizes.size());
    // Steps from the root down: each comes after those whose values it takes.
    for (std::size_t s = contraction_.steps.size(); s-- > 0;) {
      const Choice& c = down_[at(contraction_.steps[s].out)];
      if (c.free.empty()) continue;
      weights.clear();
      double largest = -kInfinity;
      const auto base = [&](int v) { return v < 0 ? std::size_t{0} : address_[at(v)](codes); };
      c.each(base(c.a), base(c.b), [&](std::size_t, std::size_t a_cell, std::size_t b_cell) {
        weights.push_back(log_weight(c.a, a_cell) + log_weight(c.b, b_cell));
        largest = std::max(largest, weights.back());
      });
      double sum = 0;
      for (double& w : weights) sum += w = std::exp(w - largest);
      double left = draws.uniform() * sum;
      std::size_t number = 0;
      while (number + 1 < weights.size() && left >= weights[number]) left -= weights[number++];
      while (weights[number] == 0) --number;
      c.put(number, codes);
    }
  }
  return records;
}

}  // namespace pypgm
