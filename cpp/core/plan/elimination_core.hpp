#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

#include "core/base/numbers.hpp"
#include "core/plan/elimination_graph.hpp"
#include "core/plan/elimination_state.hpp"

namespace pypgm {

/// What remains when attributes whose neighbours are all adjacent have been eliminated: these add no edge and
/// come first under every good rule. It is searched many times, so it is small and has names 0, 1, ….
struct EliminationCore {
  Steps steps;  ///< of those gone
  Scope names;  ///< the attribute of each name
  std::vector<double> sizes;
  std::vector<Scope> edges;  ///< pairs of names
  std::vector<double> fill, weighted_fill;
  double work = 0;
};

template <class Graph>
EliminationCore core_of(std::span<const std::size_t> sizes, std::span<const Scope> cliques) {
  const std::size_t n = sizes.size();
  EliminationCore core;
  State<Graph> state = graph_of<Graph>(std::vector<double>(n, 1.0), cliques, true);
  MinTree queue(n);
  for (std::size_t v = 0; v < n; ++v) queue.set(static_cast<std::int32_t>(v), state.fill[v]);
  Scope near, touched;
  std::vector<std::int32_t> name(n, 0);
  while (queue.least() == 0) {
    const std::int32_t v = queue.argmin();
    queue.take_out(v);
    name[at(v)] = -1;
    state.take_out(v, true, near, touched);
    core.steps.add(v, near);
    for (const std::int32_t u : touched) queue.set(u, state.fill[at(u)]);
  }
  for (std::size_t v = 0; v < n; ++v) {
    if (name[v] < 0) continue;
    name[v] = static_cast<std::int32_t>(core.names.size());
    core.names.push_back(static_cast<std::int32_t>(v));
    core.sizes.push_back(static_cast<double>(sizes[v]));
    core.fill.push_back(state.fill[v]);
    state.graph.for_neighbours(static_cast<std::int32_t>(v), [&](std::int32_t u) {
      if (at(u) < v) core.edges.push_back({name[at(u)], name[v]});
    });
  }
  core.work = state.work;
  if (core.names.empty()) return core;
  const State<Graph> weighted = graph_of<Graph>(core.sizes, core.edges, true);
  core.weighted_fill = weighted.fill;
  core.work += weighted.work;
  return core;
}

/// The core's graph under other names, ready to be eliminated by a rule.
template <class Graph>
State<Graph> renamed(const EliminationCore& core, Rule rule, std::span<const std::int32_t> ranks) {
  const std::size_t n = core.names.size();
  std::vector<double> weights(n, 1.0);
  const auto place = [&](std::size_t i) { return static_cast<std::size_t>(ranks[i]); };
  if (rule == Rule::weighted_fill || rule == Rule::weight) {
    for (std::size_t i = 0; i < n; ++i) weights[place(i)] = core.sizes[i];
  }
  State<Graph> state(std::move(weights));
  for (const Scope& e : core.edges) state.join(ranks[at(e[0])], ranks[at(e[1])], false, kNobody);
  const std::vector<double>& fill = rule == Rule::weighted_fill ? core.weighted_fill : core.fill;
  for (std::size_t i = 0; i < n; ++i) state.fill[place(i)] = fill[i];
  state.work += 40 * static_cast<double>(n);  // renaming and the queue
  return state;
}

}  // namespace pypgm
