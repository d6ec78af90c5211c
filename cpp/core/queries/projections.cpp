// For each answer messages between the cliques of the subtree that joins its axes, from its ends to where
// they meet.
#include "core/queries/projections.hpp"

#include <algorithm>
#include <functional>
#include <map>
#include <optional>
#include <queue>
#include <tuple>
#include <utility>

#include "core/base/numbers.hpp"
#include "core/base/watch.hpp"
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

// An axis of an answer is the number of an attribute, or, for the rows of a block, the number of attributes
// plus that of the block.

/// A message to a neighbouring clique: the conditional probability of some axes, given what the two share.
struct Message {
  Ref table;
  Axes axes;
  int edge;  ///< the lower one of the two cliques, whose separator it is
};

/// A clique of the subtree that joins the axes of an answer: the axes taken from itself, the messages it has
/// received, and the neighbours it may still exchange one with.
struct Stop {
  Axes axes;
  std::vector<Message> messages;
  std::vector<int> neighbours;
};

std::vector<std::size_t> sizes_by_id(const JunctionTree& tree, const std::vector<QueryBlock>& blocks) {
  std::vector<std::size_t> sizes = tree.sizes;
  for (const QueryBlock& block : blocks) sizes.push_back(block.rows);
  return sizes;
}

class ProjectionPlanner {
 public:
  ProjectionPlanner(const JunctionTree& tree, const std::vector<Scope>& known,
                    const std::vector<QueryBlock>& blocks)
      : tree_(tree),
        known_(known),
        blocks_(blocks),
        sizes_(sizes_by_id(tree, blocks)),
        tables_(sizes_),
        top_(tree.sizes.size(), -1),
        holders_(tree.sizes.size()) {
    for (std::size_t v = 0; v < tree.nodes.size(); ++v) {
      for (const std::int32_t a : tree.nodes[v].attributes) {
        if (top_[at(a)] < 0) top_[at(a)] = static_cast<int>(v);
        holders_[at(a)].push_back({Source::clique, static_cast<int>(v)});
      }
    }
    for (std::size_t k = 0; k < known.size(); ++k) {
      for (const std::int32_t a : known[k]) holders_[at(a)].push_back({Source::known, static_cast<int>(k)});
    }
  }

  void answer(const Projection& projection);
  ProjectionPlan finish() { return tables_.finish(outputs_); }

 private:
  const JunctionTree& tree_;
  const std::vector<Scope>& known_;
  const std::vector<QueryBlock>& blocks_;
  std::vector<std::size_t> sizes_;  ///< by attribute, then by block
  ProjectionTables tables_;
  std::vector<int> top_;  ///< the clique nearest to the root that holds an attribute
  std::vector<std::vector<Key>> holders_;
  std::map<std::tuple<int, int, Scope>, Ref> conditionals_;
  std::map<std::tuple<int, int, Axes>, Ref> messages_;
  std::vector<Ref> outputs_;

  const Scope& scope_of(const Key& key) const {
    return key.first == Source::known ? known_[at(key.second)] : tree_.nodes[at(key.second)].attributes;
  }
  int block_of(std::int32_t axis) const { return axis - static_cast<int>(tree_.sizes.size()); }
  std::int32_t attribute_of(std::int32_t axis) const {
    return block_of(axis) < 0 ? axis : blocks_[at(block_of(axis))].attribute;
  }
  bool holds(int clique, std::int32_t axis) const {
    return contains(tree_.nodes[at(clique)].attributes, attribute_of(axis));
  }

  Ref conditional(int node, int edge, const Scope& needed);
  std::optional<Key> smallest_holder(const Scope& scope) const;
  Message message(int node, int to, const Stop& own);
  std::map<int, Stop> joining_subtree(const Axes& axes) const;
  double message_cost(const Stop& end) const;
  void collect(std::map<int, Stop> subtree, const Axes& out);
  std::vector<Ref> factors_of(const Stop& own, Scope& needed);
  void conclude(const Key& key, const Stop& own, const Axes& out);
};

/// P(needed | separator) in a clique; needed holds the separator, that of the lower end of an edge of the
/// clique.
Ref ProjectionPlanner::conditional(int node, int edge, const Scope& needed) {
  const Scope& separator = tree_.nodes[at(edge)].edge.separator;
  const std::tuple key(node, edge, needed);
  const auto found = conditionals_.find(key);
  if (found != conditionals_.end()) return found->second;
  const Ref joint = tables_.marginal({Source::clique, node}, tree_.nodes[at(node)].attributes, needed);
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
    for (std::size_t v = 0; v < tree_.nodes.size(); ++v) look({Source::clique, static_cast<int>(v)});
    for (std::size_t k = 0; k < known_.size(); ++k) look({Source::known, static_cast<int>(k)});
    return best;
  }
  const auto rarest = std::min_element(scope.begin(), scope.end(), [&](std::int32_t a, std::int32_t b) {
    return holders_[at(a)].size() < holders_[at(b)].size();
  });
  for (const Key& key : holders_[at(*rarest)]) look(key);
  return best;
}

/// The tables to multiply into a clique; `needed` receives the attributes of the clique they ask for.
std::vector<Ref> ProjectionPlanner::factors_of(const Stop& own, Scope& needed) {
  std::vector<Ref> factors;
  for (const Message& m : own.messages) {
    merge(needed, tree_.nodes[at(m.edge)].edge.separator);
    factors.push_back(m.table);
  }
  for (const std::int32_t axis : own.axes) {
    const std::int32_t attribute = attribute_of(axis);
    merge(needed, {attribute});
    if (axis != attribute)
      factors.push_back(tables_.leaf({Source::block, block_of(axis)}, {axis, attribute}));
  }
  return factors;
}

/// The message of a clique to the next one, from those it received and the axes taken from itself.
Message ProjectionPlanner::message(int node, int to, const Stop& own) {
  const int edge = std::max(node, to);  // children come after parents
  Message result{0, own.axes, edge};
  for (const Message& m : own.messages) {
    result.axes.insert(result.axes.end(), m.axes.begin(), m.axes.end());
  }
  std::sort(result.axes.begin(), result.axes.end());
  const std::tuple key(node, to, result.axes);
  const auto found = messages_.find(key);
  if (found != messages_.end()) {
    result.table = found->second;
    return result;
  }
  Scope needed = tree_.nodes[at(edge)].edge.separator;
  Axes out = needed;
  out.insert(out.end(), result.axes.begin(), result.axes.end());
  const std::vector<Ref> factors = factors_of(own, needed);
  result.table = tables_.combine(conditional(node, edge, needed), factors, out);
  messages_.emplace(key, result.table);
  return result;
}

/// The answer, from the table where its messages meet.
void ProjectionPlanner::conclude(const Key& key, const Stop& own, const Axes& out) {
  Scope needed;
  const std::vector<Ref> factors = factors_of(own, needed);
  const Ref base = tables_.marginal(key, scope_of(key), needed);
  outputs_.push_back(factors.empty() ? tables_.step(base, std::nullopt, out)
                                     : tables_.combine(base, factors, out));
}

/// The cliques from the highest ones of the axes up to the first that all of them have reached, or that holds
/// those that are still missing; axes are taken from where they are nearest to the root.
std::map<int, Stop> ProjectionPlanner::joining_subtree(const Axes& axes) const {
  const auto top = [&](std::int32_t axis) { return top_[at(attribute_of(axis))]; };
  std::map<int, Stop> subtree;
  std::map<int, bool, std::greater<>> open;  // children before parents; whether something comes from below
  for (const std::int32_t axis : axes) open.emplace(top(axis), false);
  for (;;) {
    const int clique = open.begin()->first;
    open.erase(open.begin());
    subtree[clique];
    bool joined = std::ranges::none_of(open, [](const auto& other) { return other.second; });
    for (const std::int32_t axis : axes) joined = joined && (top(axis) >= clique || holds(clique, axis));
    if (joined) {
      for (const std::int32_t axis : axes) subtree[std::max(top(axis), clique)].axes.push_back(axis);
      return subtree;
    }
    const int parent = tree_.nodes[at(clique)].parent;
    open[parent] = true;
    subtree[clique].neighbours.push_back(parent);
    subtree[parent].neighbours.push_back(clique);
  }
}

/// How many times the cells of its clique the message of an end of the subtree takes: those of the axes it
/// carries, 1 where all of them are the clique's own, 0 where it has nothing to say.
double ProjectionPlanner::message_cost(const Stop& end) const {
  const auto shared = [&](std::int32_t axis) { return holds(end.neighbours[0], axis); };
  if (end.messages.empty()) return std::ranges::all_of(end.axes, shared) ? 0.0 : 1.0;
  double carried = 1;
  for (const std::int32_t axis : end.axes)
    carried *= shared(axis) ? 1.0 : static_cast<double>(sizes_[at(axis)]);
  for (const Message& m : end.messages) carried *= tables_.cells(m.axes);
  return carried;
}

/// Sends the cheapest message from an end of the subtree to its neighbour until one clique is left, and makes
/// the answer there. An axis multiplies the work in every clique it passes: those of few values move.
void ProjectionPlanner::collect(std::map<int, Stop> subtree, const Axes& out) {
  std::priority_queue<std::pair<double, int>> ends;  // of equals first the one farthest from the root
  const auto offer = [&](int clique) {
    const Stop& stop = subtree.at(clique);
    if (stop.neighbours.size() == 1) ends.emplace(-message_cost(stop), clique);
  };
  for (const auto& stop : subtree) offer(stop.first);
  while (subtree.size() > 1) {
    leave_if_abandoned();
    const int clique = ends.top().second;
    ends.pop();
    Stop own = std::move(subtree.extract(clique).mapped());
    const int to = own.neighbours[0];
    Stop& next = subtree.at(to);
    std::erase(next.neighbours, clique);
    // What the next clique holds as well is taken from there.
    const auto shared = std::stable_partition(own.axes.begin(), own.axes.end(),
                                              [&](std::int32_t axis) { return !holds(to, axis); });
    next.axes.insert(next.axes.end(), shared, own.axes.end());
    own.axes.erase(shared, own.axes.end());
    if (!own.axes.empty() || !own.messages.empty()) {
      next.messages.push_back(message(clique, to, own));
    }
    offer(to);
  }
  const auto& [last, stop] = *subtree.begin();
  conclude({Source::clique, last}, stop, out);
}

void ProjectionPlanner::answer(const Projection& projection) {
  Axes out;
  for (std::size_t i = 0; i < projection.attributes.size(); ++i) {
    const int b = projection.blocks[i];
    out.push_back(b < 0 ? projection.attributes[i] : static_cast<std::int32_t>(tree_.sizes.size()) + b);
  }
  Scope scope = projection.attributes;
  std::sort(scope.begin(), scope.end());
  Axes axes = out;
  std::sort(axes.begin(), axes.end());
  if (const auto holder = smallest_holder(scope)) return conclude(*holder, {axes, {}, {}}, out);
  collect(joining_subtree(axes), out);
}

}  // namespace

ProjectionPlan plan_projections(const JunctionTree& tree, const std::vector<Scope>& known,
                                const std::vector<QueryBlock>& blocks,
                                const std::vector<Projection>& projections) {
  ProjectionPlanner planner(tree, known, blocks);
  for (const Projection& projection : projections) {
    leave_if_abandoned();
    planner.answer(projection);
  }
  return planner.finish();
}

}  // namespace pypgm
