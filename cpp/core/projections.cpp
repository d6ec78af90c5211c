#include "core/projections.hpp"

#include <algorithm>
#include <limits>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/projection_way.hpp"

namespace pypgm {

namespace {

template <class T>
std::size_t at(T i) {
  return static_cast<std::size_t>(i);
}

void merge(Scope& into, const Scope& more) {
  Scope both;
  std::set_union(into.begin(), into.end(), more.begin(), more.end(), std::back_inserter(both));
  into = std::move(both);
}

/// Tables in the making, numbered in three series that are put one behind the other in the end: leaves,
/// marginals of single leaves, and all other steps.
struct Ref {
  enum Kind { leaf, marginal, step } kind;
  int index;
};

/// What one clique tells a neighbour: the conditional probability of some axes, given what the two share.
struct Message {
  Ref table;
  std::vector<Axis> axes;
  int edge;  ///< the lower one of the two cliques, whose separator it is
};

class Planner {
 public:
  Planner(const CalibratedTree& tree, const std::vector<Block>& blocks)
      : tree_(tree), blocks_(blocks), sizes_(tree.sizes), top_(sizes_.size(), -1), holders_(sizes_.size()) {
    for (const Block& block : blocks) sizes_.push_back(block.rows);
    for (std::size_t v = 0; v < tree.cliques.size(); ++v) {
      for (const std::int32_t a : tree.cliques[v]) {
        if (top_[at(a)] < 0) top_[at(a)] = static_cast<int>(v);
        holders_[at(a)].push_back({Source::clique, static_cast<int>(v)});
      }
    }
    for (std::size_t k = 0; k < tree.known.size(); ++k) {
      for (const std::int32_t a : tree.known[k])
        holders_[at(a)].push_back({Source::known, static_cast<int>(k)});
    }
  }

  void answer(const Projection& projection);
  ProjectionPlan finish();

 private:
  struct Pending {
    std::vector<Axis> axes;
    std::vector<Message> messages;
  };
  struct Made {
    Ref left;
    std::optional<Ref> right;
    Axes axes;
  };
  using Key = std::pair<Source, int>;

  const CalibratedTree& tree_;
  const std::vector<Block>& blocks_;
  std::vector<std::size_t> sizes_;
  std::vector<int> top_;  ///< the clique nearest to the root that holds an attribute
  std::vector<std::vector<Key>> holders_;
  std::vector<Key> sources_;
  std::vector<Axes> leaf_axes_;
  std::map<Key, int> leaves_;
  std::vector<Made> marginals_;
  std::map<std::pair<Key, Scope>, int> marginal_of_;
  std::vector<Made> steps_;
  std::map<std::tuple<int, int, Scope>, Ref> conditionals_;
  std::map<std::tuple<int, int, std::vector<Axis>>, Ref> messages_;
  std::vector<Ref> outputs_;

  double cells(const Axes& axes) const {
    double product = 1;
    for (const std::int32_t a : axes) product *= static_cast<double>(sizes_[at(a)]);
    return product;
  }
  const Scope& scope_of(const Key& key) const {
    return key.first == Source::known ? tree_.known[at(key.second)] : tree_.cliques[at(key.second)];
  }
  const Axes& axes_of(const Ref& ref) const {
    if (ref.kind == Ref::leaf) return leaf_axes_[at(ref.index)];
    return ref.kind == Ref::marginal ? marginals_[at(ref.index)].axes : steps_[at(ref.index)].axes;
  }
  Ref leaf(const Key& key, const Axes& axes) {
    const auto [place, fresh] = leaves_.try_emplace(key, static_cast<int>(sources_.size()));
    if (fresh) {
      sources_.push_back(key);
      leaf_axes_.push_back(axes);
    }
    return {Ref::leaf, place->second};
  }
  Ref step(const Ref& left, const std::optional<Ref>& right, Axes axes) {
    steps_.push_back({left, right, std::move(axes)});
    return {Ref::step, static_cast<int>(steps_.size()) - 1};
  }
  Ref block(const Axis& axis) {
    const int number = axis.id - static_cast<int>(tree_.sizes.size());
    return leaf({Source::block, number}, {axis.id, axis.attribute});
  }

  Ref marginal(const Key& key, const Scope& scope);
  Ref conditional(int node, int edge, const Scope& needed);
  Ref combine(Ref table, std::vector<Ref> factors, const Axes& out);
  std::optional<Key> smallest_holder(const Scope& scope) const;
  Message message(int node, int to, const Pending& pending);
  void collect(const Way& way, const std::vector<Axis>& axes, const Axes& out);
  std::vector<Ref> factors_of(const Pending& pending, Scope& needed);
  void conclude(const Key& key, const Pending& pending, const Axes& out);
  void reuse_marginals();
};

Ref Planner::marginal(const Key& key, const Scope& scope) {
  const Ref whole = leaf(key, scope_of(key));
  if (scope == scope_of(key)) return whole;
  const auto [place, fresh] = marginal_of_.try_emplace({key, scope}, static_cast<int>(marginals_.size()));
  if (fresh) marginals_.push_back({whole, std::nullopt, scope});
  return {Ref::marginal, place->second};
}

/// P(needed | separator) in a clique; needed holds the separator, that of the lower end of an edge of the
/// clique.
Ref Planner::conditional(int node, int edge, const Scope& needed) {
  const Scope& separator = tree_.separators[at(edge)];
  const std::tuple key(node, edge, needed);
  const auto found = conditionals_.find(key);
  if (found != conditionals_.end()) return found->second;
  const Ref joint = marginal({Source::clique, node}, needed);
  Axes axes = separator;
  std::copy_if(needed.begin(), needed.end(), std::back_inserter(axes),
               [&](std::int32_t a) { return !std::binary_search(separator.begin(), separator.end(), a); });
  const Ref result = step(joint, leaf({Source::inverse_separator, edge}, separator), axes);
  conditionals_.emplace(key, result);
  return result;
}

/// Multiplies factors into a table, always the one that leaves the smallest product, and sums out what is
/// neither in `out` nor in a factor still to come. The last product has the axes of `out`, in its order.
Ref Planner::combine(Ref table, std::vector<Ref> factors, const Axes& out) {
  const auto product = [&](std::size_t next) {
    Axes axes;
    const auto stays = [&](std::int32_t a) {
      if (std::find(axes.begin(), axes.end(), a) != axes.end()) return false;
      if (std::find(out.begin(), out.end(), a) != out.end()) return true;
      for (std::size_t f = 0; f < factors.size(); ++f) {
        const Axes& own = axes_of(factors[f]);
        if (f != next && std::find(own.begin(), own.end(), a) != own.end()) return true;
      }
      return false;
    };
    for (const std::int32_t a : axes_of(table)) {
      if (stays(a)) axes.push_back(a);
    }
    for (const std::int32_t a : axes_of(factors[next])) {
      if (stays(a)) axes.push_back(a);
    }
    return axes;
  };
  while (!factors.empty()) {
    std::size_t best = 0;
    Axes axes = product(0);
    for (std::size_t f = 1; f < factors.size(); ++f) {
      Axes other = product(f);
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

std::optional<Planner::Key> Planner::smallest_holder(const Scope& scope) const {
  std::optional<Key> best;
  double least = std::numeric_limits<double>::infinity();
  const auto look = [&](const Key& key) {
    const Scope& own = scope_of(key);
    if (!std::includes(own.begin(), own.end(), scope.begin(), scope.end())) return;
    // Of equals the marginal at hand: it costs no propagation.
    const double size = cells(own) - (key.first == Source::known ? 0.5 : 0.0);
    if (size < least) {
      least = size;
      best = key;
    }
  };
  if (scope.empty()) {
    for (std::size_t v = 0; v < tree_.cliques.size(); ++v) look({Source::clique, static_cast<int>(v)});
    for (std::size_t k = 0; k < tree_.known.size(); ++k) look({Source::known, static_cast<int>(k)});
    return best;
  }
  const auto rarest = std::min_element(scope.begin(), scope.end(), [&](std::int32_t a, std::int32_t b) {
    return holders_[at(a)].size() < holders_[at(b)].size();
  });
  for (const Key& key : holders_[at(*rarest)]) look(key);
  return best;
}

/// The tables to multiply into a clique; `needed` receives the attributes of the clique they ask for.
std::vector<Ref> Planner::factors_of(const Pending& pending, Scope& needed) {
  std::vector<Ref> factors;
  for (const Message& m : pending.messages) {
    merge(needed, tree_.separators[at(m.edge)]);
    factors.push_back(m.table);
  }
  for (const Axis& axis : pending.axes) {
    merge(needed, {axis.attribute});
    if (axis.id != axis.attribute) factors.push_back(block(axis));
  }
  return factors;
}

/// What a clique tells the next one on the way, from all it was told and what is asked of itself.
Message Planner::message(int node, int to, const Pending& pending) {
  const int edge = std::max(node, to);  // children come after parents
  Message result{{Ref::leaf, 0}, pending.axes, edge};
  for (const Message& m : pending.messages) {
    result.axes.insert(result.axes.end(), m.axes.begin(), m.axes.end());
  }
  std::sort(result.axes.begin(), result.axes.end());
  const std::tuple key(node, to, result.axes);
  const auto found = messages_.find(key);
  if (found != messages_.end()) {
    result.table = found->second;
    return result;
  }
  Scope needed = tree_.separators[at(edge)];
  Axes out = needed;
  for (const Axis& axis : result.axes) out.push_back(axis.id);
  const std::vector<Ref> factors = factors_of(pending, needed);
  result.table = combine(conditional(node, edge, needed), factors, out);
  messages_.emplace(key, result.table);
  return result;
}

/// The answer itself, at the table where all of it has come together.
void Planner::conclude(const Key& key, const Pending& pending, const Axes& out) {
  Scope needed;
  const std::vector<Ref> factors = factors_of(pending, needed);
  const Ref base = marginal(key, needed);
  outputs_.push_back(factors.empty() ? step(base, std::nullopt, out) : combine(base, factors, out));
}

/// Sends messages along the way to the meeting place, and concludes there.
void Planner::collect(const Way& way, const std::vector<Axis>& axes, const Axes& out) {
  std::vector<Pending> pending(way.stops.size());
  for (std::size_t i = 0; i < axes.size(); ++i) pending[at(way.homes[i])].axes.push_back(axes[i]);
  for (std::size_t k = way.stops.size(); k-- > 1;) {
    const Pending& own = pending[k];
    if (own.axes.empty() && own.messages.empty()) continue;
    const std::size_t next = at(way.stops[k].next);
    pending[next].messages.push_back(message(way.stops[k].clique, way.stops[next].clique, own));
  }
  conclude({Source::clique, way.stops[0].clique}, pending[0], out);
}

void Planner::answer(const Projection& projection) {
  std::vector<Axis> all;
  Axes out;
  Scope scope = projection.attributes;
  std::sort(scope.begin(), scope.end());
  for (std::size_t i = 0; i < projection.attributes.size(); ++i) {
    const std::int32_t a = projection.attributes[i];
    const int b = projection.blocks[i];
    all.push_back({a, b < 0 ? a : static_cast<std::int32_t>(tree_.sizes.size()) + b});
    out.push_back(all.back().id);
  }
  std::sort(all.begin(), all.end());
  if (const auto holder = smallest_holder(scope)) return conclude(*holder, {all, {}}, out);
  collect(find_way(tree_, sizes_, top_, all), all, out);
}

/// Lets each marginal of a leaf come from the smallest larger marginal of it instead.
void Planner::reuse_marginals() {
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

ProjectionPlan Planner::finish() {
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
  std::vector<int> outputs;
  for (const Ref& output : outputs_) outputs.push_back(number(output));
  std::vector<Leaf> leaves;
  for (Axes& axes : leaf_axes_) leaves.push_back({std::move(axes), false});
  return {make_contraction(std::move(sizes_), std::move(leaves), std::move(steps), std::move(outputs)),
          std::move(sources_)};
}

}  // namespace

ProjectionPlan plan_projections(const CalibratedTree& tree, const std::vector<Block>& blocks,
                                const std::vector<Projection>& projections) {
  Planner planner(tree, blocks);
  for (const Projection& projection : projections) planner.answer(projection);
  return planner.finish();
}

}  // namespace pypgm
