#include "core/queries/projections.hpp"

#include <algorithm>
#include <map>
#include <optional>
#include <tuple>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/queries/joining_subtree.hpp"
#include "core/queries/projection_tables.hpp"

namespace pypgm {

namespace {

using Key = ProjectionTables::Key;
using Ref = ProjectionTables::Ref;

void merge(Scope& into, const Scope& more) {
  Scope both;
  std::set_union(into.begin(), into.end(), more.begin(), more.end(), std::back_inserter(both));
  into = std::move(both);
}

/// A message to a neighbouring clique: the conditional probability of some axes, given what the two share.
struct Message {
  Ref table;
  std::vector<AnswerAxis> axes;
  int edge;  ///< the lower one of the two cliques, whose separator it is
};

std::vector<std::size_t> sizes_by_id(const CalibratedTree& tree, const std::vector<QueryBlock>& blocks) {
  std::vector<std::size_t> sizes = tree.sizes;
  for (const QueryBlock& block : blocks) sizes.push_back(block.rows);
  return sizes;
}

class ProjectionPlanner {
 public:
  ProjectionPlanner(const CalibratedTree& tree, const std::vector<QueryBlock>& blocks)
      : tree_(tree),
        sizes_(sizes_by_id(tree, blocks)),
        tables_(sizes_),
        top_(tree.sizes.size(), -1),
        holders_(tree.sizes.size()) {
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
  ProjectionPlan finish() { return tables_.finish(outputs_); }

 private:
  struct Pending {
    std::vector<AnswerAxis> axes;
    std::vector<Message> messages;
  };
  const CalibratedTree& tree_;
  std::vector<std::size_t> sizes_;  ///< by attribute, then by block
  ProjectionTables tables_;
  std::vector<int> top_;  ///< the clique nearest to the root that holds an attribute
  std::vector<std::vector<Key>> holders_;
  std::map<std::tuple<int, int, Scope>, Ref> conditionals_;
  std::map<std::tuple<int, int, std::vector<AnswerAxis>>, Ref> messages_;
  std::vector<Ref> outputs_;

  const Scope& scope_of(const Key& key) const {
    return key.first == Source::known ? tree_.known[at(key.second)] : tree_.cliques[at(key.second)];
  }
  Ref block(const AnswerAxis& axis) {
    const int number = axis.id - static_cast<int>(tree_.sizes.size());
    return tables_.leaf({Source::block, number}, {axis.id, axis.attribute});
  }

  Ref conditional(int node, int edge, const Scope& needed);
  std::optional<Key> smallest_holder(const Scope& scope) const;
  Message message(int node, int to, const Pending& pending);
  void collect(const JoiningSubtree& subtree, const std::vector<AnswerAxis>& axes, const Axes& out);
  std::vector<Ref> factors_of(const Pending& pending, Scope& needed);
  void conclude(const Key& key, const Pending& pending, const Axes& out);
};

/// P(needed | separator) in a clique; needed holds the separator, that of the lower end of an edge of the
/// clique.
Ref ProjectionPlanner::conditional(int node, int edge, const Scope& needed) {
  const Scope& separator = tree_.separators[at(edge)];
  const std::tuple key(node, edge, needed);
  const auto found = conditionals_.find(key);
  if (found != conditionals_.end()) return found->second;
  const Ref joint = tables_.marginal({Source::clique, node}, tree_.cliques[at(node)], needed);
  Axes axes = separator;
  std::copy_if(needed.begin(), needed.end(), std::back_inserter(axes),
               [&](std::int32_t a) { return !std::binary_search(separator.begin(), separator.end(), a); });
  const Ref result = tables_.step(joint, tables_.leaf({Source::inverse_separator, edge}, separator), axes);
  conditionals_.emplace(key, result);
  return result;
}

std::optional<Key> ProjectionPlanner::smallest_holder(const Scope& scope) const {
  std::optional<Key> best;
  double least = kInfinity;
  const auto look = [&](const Key& key) {
    const Scope& own = scope_of(key);
    if (!std::includes(own.begin(), own.end(), scope.begin(), scope.end())) return;
    // Of equals a known marginal: it costs no propagation.
    const double size = tables_.cells(own) - (key.first == Source::known ? 0.5 : 0.0);
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
std::vector<Ref> ProjectionPlanner::factors_of(const Pending& pending, Scope& needed) {
  std::vector<Ref> factors;
  for (const Message& m : pending.messages) {
    merge(needed, tree_.separators[at(m.edge)]);
    factors.push_back(m.table);
  }
  for (const AnswerAxis& axis : pending.axes) {
    merge(needed, {axis.attribute});
    if (axis.id != axis.attribute) factors.push_back(block(axis));
  }
  return factors;
}

/// The message of a clique to the next one, from those it received and the axes taken from itself.
Message ProjectionPlanner::message(int node, int to, const Pending& pending) {
  const int edge = std::max(node, to);  // children come after parents
  Message result{0, pending.axes, edge};
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
  for (const AnswerAxis& axis : result.axes) out.push_back(axis.id);
  const std::vector<Ref> factors = factors_of(pending, needed);
  result.table = tables_.combine(conditional(node, edge, needed), factors, out);
  messages_.emplace(key, result.table);
  return result;
}

/// The answer, from the table where its messages meet.
void ProjectionPlanner::conclude(const Key& key, const Pending& pending, const Axes& out) {
  Scope needed;
  const std::vector<Ref> factors = factors_of(pending, needed);
  const Ref base = tables_.marginal(key, scope_of(key), needed);
  outputs_.push_back(factors.empty() ? tables_.step(base, std::nullopt, out)
                                     : tables_.combine(base, factors, out));
}

/// Sends messages to the meeting place, and makes the answer there.
void ProjectionPlanner::collect(const JoiningSubtree& subtree, const std::vector<AnswerAxis>& axes,
                                const Axes& out) {
  std::vector<Pending> pending(subtree.stops.size());
  for (std::size_t i = 0; i < axes.size(); ++i) pending[at(subtree.homes[i])].axes.push_back(axes[i]);
  for (std::size_t k = subtree.stops.size(); k-- > 1;) {
    const Pending& own = pending[k];
    if (own.axes.empty() && own.messages.empty()) continue;
    const std::size_t next = at(subtree.stops[k].next);
    pending[next].messages.push_back(message(subtree.stops[k].clique, subtree.stops[next].clique, own));
  }
  conclude({Source::clique, subtree.stops[0].clique}, pending[0], out);
}

void ProjectionPlanner::answer(const Projection& projection) {
  std::vector<AnswerAxis> all;
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
  collect(find_joining_subtree(tree_, sizes_, top_, all), all, out);
}

}  // namespace

ProjectionPlan plan_projections(const CalibratedTree& tree, const std::vector<QueryBlock>& blocks,
                                const std::vector<Projection>& projections) {
  ProjectionPlanner planner(tree, blocks);
  for (const Projection& projection : projections) planner.answer(projection);
  return planner.finish();
}

}  // namespace pypgm
