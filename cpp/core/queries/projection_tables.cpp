#include "core/queries/projection_tables.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/numbers.hpp"

namespace pypgm {

namespace {

bool among(const Axes& axes, std::int32_t a) { return std::find(axes.begin(), axes.end(), a) != axes.end(); }

}  // namespace

const Axes& ProjectionTables::axes_of(const Ref& ref) const {
  if (ref.kind == Ref::leaf) return leaf_axes_[at(ref.index)];
  return ref.kind == Ref::marginal ? marginals_[at(ref.index)].axes : steps_[at(ref.index)].axes;
}

ProjectionTables::Ref ProjectionTables::leaf(const Key& key, const Axes& axes) {
  const auto [place, fresh] = leaves_.try_emplace(key, static_cast<int>(sources_.size()));
  if (fresh) {
    sources_.push_back(key);
    leaf_axes_.push_back(axes);
  }
  return {Ref::leaf, place->second};
}

ProjectionTables::Ref ProjectionTables::marginal(const Key& key, const Scope& whole, const Scope& scope) {
  const Ref all = leaf(key, whole);
  if (scope == whole) return all;
  const auto [place, fresh] = marginal_of_.try_emplace({key, scope}, static_cast<int>(marginals_.size()));
  if (fresh) marginals_.push_back({all, std::nullopt, scope});
  return {Ref::marginal, place->second};
}

ProjectionTables::Ref ProjectionTables::step(const Ref& left, const std::optional<Ref>& right, Axes axes) {
  steps_.push_back({left, right, std::move(axes)});
  return {Ref::step, static_cast<int>(steps_.size()) - 1};
}

/// The axes of table * factors[next] that `out` or another factor asks for.
Axes ProjectionTables::product(const Ref& table, const std::vector<Ref>& factors, std::size_t next,
                               const Axes& out) const {
  Axes axes;
  for (const Ref& side : {table, factors[next]}) {
    for (const std::int32_t a : axes_of(side)) {
      bool stays = among(out, a);
      for (std::size_t f = 0; f < factors.size(); ++f)
        stays = stays || (f != next && among(axes_of(factors[f]), a));
      if (stays && !among(axes, a)) axes.push_back(a);
    }
  }
  return axes;
}

ProjectionTables::Ref ProjectionTables::combine(Ref table, std::vector<Ref> factors, const Axes& out) {
  while (!factors.empty()) {
    std::size_t best = 0;
    Axes axes = product(table, factors, 0, out);
    for (std::size_t f = 1; f < factors.size(); ++f) {
      Axes other = product(table, factors, f, out);
      if (cells(other) < cells(axes)) {
        best = f;
        axes = std::move(other);
      }
    }
    const Ref factor = factors[best];
    factors.erase(factors.begin() + static_cast<std::ptrdiff_t>(best));
    table = step(table, factor, factors.empty() ? out : axes);
  }
  return table;
}

void ProjectionTables::reuse_marginals() {
  std::map<int, std::vector<int>> of_leaf;
  for (std::size_t m = 0; m < marginals_.size(); ++m)
    of_leaf[marginals_[m].left.index].push_back(static_cast<int>(m));
  for (auto& [leaf_index, own] : of_leaf) {
    std::stable_sort(own.begin(), own.end(), [&](int a, int b) {
      return cells(marginals_[at(a)].axes) < cells(marginals_[at(b)].axes);
    });
    for (std::size_t i = 0; i < own.size(); ++i) {
      Made& made = marginals_[at(own[i])];
      for (std::size_t j = i + 1; j < own.size(); ++j) {
        const Axes& larger = marginals_[at(own[j])].axes;
        if (!std::includes(larger.begin(), larger.end(), made.axes.begin(), made.axes.end())) continue;
        made.left = {Ref::marginal, own[j]};
        break;
      }
    }
  }
}

ProjectionPlan ProjectionTables::finish(const std::vector<Ref>& outputs) {
  reuse_marginals();
  std::vector<int> order(marginals_.size());  // larger ones first
  for (std::size_t m = 0; m < order.size(); ++m) order[m] = static_cast<int>(m);
  std::stable_sort(order.begin(), order.end(), [&](int a, int b) {
    return std::pair(marginals_[at(a)].axes.size(), cells(marginals_[at(a)].axes)) >
           std::pair(marginals_[at(b)].axes.size(), cells(marginals_[at(b)].axes));
  });
  std::vector<int> place(marginals_.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[at(order[i])] = static_cast<int>(i);
  const int n_leaves = static_cast<int>(sources_.size());
  const auto number = [&](const Ref& ref) {
    if (ref.kind == Ref::leaf) return ref.index;
    return ref.kind == Ref::marginal ? n_leaves + place[at(ref.index)]
                                     : n_leaves + static_cast<int>(marginals_.size()) + ref.index;
  };
  std::vector<ContractionStep> steps;
  const auto add = [&](Made& made) {
    steps.push_back({number(made.left), made.right ? number(*made.right) : -1, std::move(made.axes)});
  };
  for (const int m : order) add(marginals_[at(m)]);
  for (Made& made : steps_) add(made);
  std::vector<int> returned;
  returned.reserve(outputs.size());
  for (const Ref& output : outputs) returned.push_back(number(output));
  std::vector<Leaf> leaves;
  leaves.reserve(leaf_axes_.size());
  for (Axes& axes : leaf_axes_) leaves.push_back({std::move(axes), false});
  Axes ids(sizes_.size());
  std::iota(ids.begin(), ids.end(), 0);
  return {make_contraction(std::move(sizes_), std::move(leaves), std::move(steps), std::move(returned), ids),
          std::move(sources_)};
}

}  // namespace pypgm
