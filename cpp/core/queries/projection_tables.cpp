// Tables that several answers share are made once: leaves and steps found again by what they are.
#include "core/queries/projection_tables.hpp"

#include <algorithm>
#include <numeric>

#include "core/base/numbers.hpp"

namespace pypgm {

namespace {

bool among(const Axes& axes, std::int32_t a) { return std::find(axes.begin(), axes.end(), a) != axes.end(); }

}  // namespace

const Axes& ProjectionTables::axes_of(Ref ref) const {
  return ref < 0 ? leaves_[at(-1 - ref)].axes : steps_[at(ref)].axes;
}

ProjectionTables::Ref ProjectionTables::leaf(const Key& key, const Axes& axes) {
  const auto [place, fresh] = leaf_of_.try_emplace(key, -1 - static_cast<Ref>(leaves_.size()));
  if (fresh) {
    sources_.push_back(key);
    leaves_.push_back({axes, false});
  }
  return place->second;
}

ProjectionTables::Ref ProjectionTables::marginal(const Key& key, const Scope& whole, const Scope& scope) {
  const Ref all = leaf(key, whole);
  if (scope == whole) return all;
  const auto [place, fresh] = marginal_of_.try_emplace({all, scope}, static_cast<Ref>(steps_.size()));
  if (fresh) steps_.push_back({all, std::nullopt, scope, true});
  return place->second;
}

ProjectionTables::Ref ProjectionTables::step(Ref left, std::optional<Ref> right, Axes axes) {
  steps_.push_back({left, right, std::move(axes)});
  return static_cast<Ref>(steps_.size()) - 1;
}

/// The axes of table * factors[next] that `out` or another factor asks for.
Axes ProjectionTables::product(Ref table, const std::vector<Ref>& factors, std::size_t next,
                               const Axes& out) const {
  Axes axes;
  for (const Ref side : {table, factors[next]}) {
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

/// The steps in the order they are run in: marginals of leaves, larger ones first, and then all others.
std::vector<ProjectionTables::Ref> ProjectionTables::ordered_steps() {
  std::vector<Ref> order(steps_.size());
  std::iota(order.begin(), order.end(), 0);
  const auto others =
      std::stable_partition(order.begin(), order.end(), [&](Ref s) { return steps_[at(s)].marginal; });
  const auto size = [&](Ref s) { return std::pair(cells(axes_of(s)), axes_of(s).size()); };
  std::stable_sort(order.begin(), others, [&](Ref a, Ref b) { return size(a) > size(b); });
  std::map<Ref, std::vector<Ref>> larger;  // by leaf
  for (auto s = order.begin(); s != others; ++s) {
    Step& own = steps_[at(*s)];
    std::vector<Ref>& above = larger[own.left];
    const auto smallest = std::find_if(above.rbegin(), above.rend(), [&](Ref other) {
      return std::ranges::includes(axes_of(other), own.axes);
    });
    if (smallest != above.rend()) own.left = *smallest;
    above.push_back(*s);
  }
  return order;
}

ProjectionPlan ProjectionTables::finish(const std::vector<Ref>& outputs) {
  const std::vector<Ref> order = ordered_steps();
  std::vector<int> place(order.size());
  for (std::size_t i = 0; i < order.size(); ++i) place[at(order[i])] = static_cast<int>(i);
  const auto number = [&](Ref ref) {
    return ref < 0 ? -1 - ref : static_cast<int>(leaves_.size()) + place[at(ref)];
  };
  std::vector<ContractionStep> steps;
  steps.reserve(order.size());
  for (const Ref s : order) {
    Step& own = steps_[at(s)];
    steps.push_back({number(own.left), own.right ? number(*own.right) : -1, std::move(own.axes)});
  }
  std::vector<int> returned;
  returned.reserve(outputs.size());
  for (const Ref output : outputs) returned.push_back(number(output));
  Axes ids(sizes_.size());
  std::iota(ids.begin(), ids.end(), 0);
  return {make_contraction(std::move(sizes_), std::move(leaves_), std::move(steps), std::move(returned), ids),
          std::move(sources_)};
}

}  // namespace pypgm
