#include <algorithm>
#include <memory>
#include <string>
#include <utility>

#include "bindings.hpp"
#include "core/base/threads.hpp"
#include "core/queries/carried_pairs.hpp"
#include "core/queries/contraction_planner.hpp"
#include "core/queries/contraction_run.hpp"
#include "core/queries/pair_marginals.hpp"
#include "core/queries/projections.hpp"
#include "watched.hpp"

namespace pypgm::bind {

/// A junction tree whose clique tables are marginals, and the scopes of others that are known.
struct CalibratedTree {
  std::shared_ptr<JunctionTree> tree;
  std::vector<Scope> known;
};

namespace {

using Plan = std::shared_ptr<ProjectionPlan>;
using GivenLeaf = std::pair<Axes, bool>;
using GivenAnswer = std::pair<Axes, std::vector<int>>;

constexpr std::size_t kBriefElimination = 100;  // attributes and tables; planned in some milliseconds
constexpr std::size_t kBriefVisits = 20'000;    // of cliques while answers are planned, the same

void check_axes(const char* name, const Axes& axes, std::size_t n) {
  for (std::size_t i = 0; i < axes.size(); ++i) {
    bool fine = axes[i] >= 0 && static_cast<std::size_t>(axes[i]) < n;
    for (std::size_t j = 0; j < i; ++j) fine = fine && axes[i] != axes[j];
    if (!fine) {
      throw py::value_error(std::string(name) + " must be different attribute indices below " +
                            std::to_string(n));
    }
  }
}

Plan elimination(std::vector<std::size_t> sizes, const std::vector<GivenLeaf>& given, const Axes& keep,
                 const Axes& order) {
  check_sizes(sizes);
  if (given.empty()) throw py::value_error("an elimination needs at least one table");
  check_axes("keep", keep, sizes.size());
  check_axes("order", order, sizes.size());
  if (!order.empty()) check_size("order", sizes.size(), order.size());
  std::vector<Leaf> leaves;
  for (const GivenLeaf& leaf : given) {
    check_axes("the axes of a table", leaf.first, sizes.size());
    leaves.push_back({leaf.first, leaf.second});
  }
  return watched(sizes.size() + leaves.size() <= kBriefElimination, [&] {
    auto plan = std::make_shared<ProjectionPlan>();
    plan->contraction = plan_elimination(std::move(sizes), std::move(leaves), keep, order);
    return plan;
  });
}

CalibratedTree make_calibrated_tree(std::shared_ptr<JunctionTree> tree, std::vector<Scope> known) {
  for (const Scope& scope : known) {
    check_axes("known cliques", scope, tree->sizes.size());
    if (!std::is_sorted(scope.begin(), scope.end())) throw py::value_error("known cliques must be ascending");
  }
  return {std::move(tree), std::move(known)};
}

Plan projections(const CalibratedTree& own,
                 const std::vector<std::pair<std::int32_t, std::size_t>>& given_blocks,
                 const std::vector<GivenAnswer>& answers) {
  const std::size_t n = own.tree->sizes.size();
  std::vector<QueryBlock> blocks;
  for (const auto& [attribute, rows] : given_blocks) {
    check_axes("the attribute of a block", {attribute}, n);
    check_sizes({rows});
    blocks.push_back({attribute, rows});
  }
  std::vector<Projection> asked;
  for (const GivenAnswer& answer : answers) {
    check_axes("the attributes of an answer", answer.first, n);
    check_size("blocks", answer.first.size(), answer.second.size());
    for (std::size_t i = 0; i < answer.second.size(); ++i) {
      const int b = answer.second[i];
      if (b >= 0 && (static_cast<std::size_t>(b) >= blocks.size() ||
                     blocks[static_cast<std::size_t>(b)].attribute != answer.first[i])) {
        throw py::value_error("block " + std::to_string(b) + " is none of that attribute");
      }
    }
    asked.push_back({answer.first, answer.second});
  }
  return watched(own.tree->nodes.size() * (1 + asked.size()) <= kBriefVisits, [&] {
    return std::make_shared<ProjectionPlan>(plan_projections(*own.tree, own.known, blocks, asked));
  });
}

void check_pairs(const CalibratedTree& own, const std::vector<Pair>& pairs) {
  for (const auto& [a, b] : pairs) check_axes("a pair", {a, b}, own.tree->sizes.size());
}

std::vector<std::uint8_t> held(const CalibratedTree& own, const std::vector<Pair>& pairs) {
  check_pairs(own, pairs);
  return held_pairs(*own.tree, pairs);
}

/// Flat tables of pairs that no clique holds, which fill(tables of the cliques, cells of the pairs, watch)
/// writes.
template <class Fill>
py::list pair_tables(const CalibratedTree& own, const std::vector<Array<double>>& tables,
                     const std::vector<Pair>& pairs, const Tick& tick, bool brief, const Fill& fill) {
  const JunctionTree& tree = *own.tree;
  check_size("tables", tree.nodes.size(), tables.size());
  const std::vector<std::uint8_t> inside = held(own, pairs);
  if (std::ranges::find(inside, 1) != inside.end())
    throw py::value_error("these pairs need to be in no clique together");
  std::vector<std::span<const double>> cliques;
  for (std::size_t v = 0; v < tables.size(); ++v) {
    check_size("a table", tree.nodes[v].cells, static_cast<std::size_t>(tables[v].size()));
    cliques.push_back(view(tables[v]));
  }
  py::list arrays;
  std::vector<std::span<double>> out;
  for (const auto& [a, b] : pairs) {
    Array<double> array =
        allocate<double>(tree.sizes[static_cast<std::size_t>(a)] * tree.sizes[static_cast<std::size_t>(b)]);
    out.push_back(mutable_view(array));
    arrays.append(std::move(array));
  }
  run_watched(tick, brief, [&](Watch& watch) { fill(cliques, out, watch); });
  return arrays;
}

py::list pairs_at_once(const CalibratedTree& own, const std::vector<Array<double>>& tables,
                       const std::vector<Pair>& pairs, double negligible, const Tick& tick) {
  if (std::ranges::any_of(pairs, [](const Pair& pair) { return pair.first > pair.second; }))
    throw py::value_error("pairs must be ascending");
  return pair_tables(own, tables, pairs, tick, cost_of_pairs(*own.tree).operations <= kBriefOperations,
                     [&](const auto& cliques, const auto& out, Watch& watch) {
                       pair_marginals(*own.tree, cliques, negligible, pairs, out, watch);
                     });
}

py::list pairs_in_turn(const CalibratedTree& own, const std::vector<Array<double>>& tables,
                       const std::vector<Pair>& pairs, double negligible, const Tick& tick) {
  return pair_tables(own, tables, pairs, tick, own.tree->nodes.size() * pairs.size() <= kBriefVisits,
                     [&](const auto& cliques, const auto& out, Watch& watch) {
                       carried_pairs(*own.tree, cliques, negligible, pairs, out, watch);
                     });
}

double in_turn_operations(const CalibratedTree& own, const std::vector<Pair>& pairs) {
  check_pairs(own, pairs);
  return operations_in_turn(*own.tree, pairs);
}

Semiring semiring_of(const std::string& name) {
  if (name == "sum") return Semiring::sum;
  if (name == "log_sum") return Semiring::log_sum;
  if (name == "max") return Semiring::max;
  throw py::value_error("semiring needs to be 'sum', 'log_sum' or 'max', got '" + name + "'");
}

/// Answers as flat arrays, and the natural logs of the scales they have to be multiplied by.
py::tuple run(const ProjectionPlan& plan, const std::vector<Array<double>>& tables,
              const std::string& semiring, int n_threads, const Tick& tick) {
  const Semiring how = semiring_of(semiring);
  const Contraction& c = plan.contraction;
  check_size("tables", c.leaves.size(), tables.size());
  std::vector<std::span<const double>> leaves(tables.size());
  for (std::size_t i = 0; i < tables.size(); ++i) {
    check_size("a table", cells_of(c.sizes, c.leaves[i].axes), static_cast<std::size_t>(tables[i].size()));
    leaves[i] = view(tables[i]);
  }
  py::list arrays;
  std::vector<std::span<double>> out;
  for (const int output : c.outputs) {
    const Axes& axes = c.steps[static_cast<std::size_t>(output) - c.leaves.size()].axes;
    Array<double> array = allocate<double>(cells_of(c.sizes, axes));
    out.push_back(mutable_view(array));
    arrays.append(std::move(array));
  }
  std::vector<double> log_scales(out.size());
  const int threads = checked_threads(n_threads);
  run_watched(tick, c.cost.operations <= kBriefOperations,
              [&](Watch& watch) { run_contraction(c, leaves, how, out, log_scales, threads, watch); });
  return py::make_tuple(arrays, log_scales);
}

py::dict contraction_cost(const ProjectionPlan& plan) {
  const ContractionCost& own = plan.contraction.cost;
  py::dict d;
  d["operations"] = own.operations;
  d["bytes"] = own.bytes;
  d["largest_cells"] = own.largest_cells;
  d["largest"] = own.largest;
  d["steps"] = plan.contraction.steps.size();
  return d;
}

std::vector<std::pair<std::string, int>> sources(const ProjectionPlan& plan) {
  static const char* const kNames[] = {"clique", "inverse_separator", "known", "block"};
  std::vector<std::pair<std::string, int>> named;
  for (const auto& source : plan.sources) {
    named.emplace_back(kNames[static_cast<int>(source.first)], source.second);
  }
  return named;
}

}  // namespace

void bind_contraction(py::module_& m) {
  py::class_<ProjectionPlan, Plan>(m, "Contraction", "A compiled sum of products of tables.")
      .def_property_readonly("cost", &contraction_cost, "Operations, bytes and the largest table of one run.")
      .def_property_readonly("sources", &sources, "What each table of a plan of projections is.")
      .def("run", &run, py::arg("tables"), py::arg("semiring") = "sum", py::arg("n_threads") = 0,
           py::arg("tick") = py::none(),
           "Flat answers and the logs of their scales; with 'log_sum' and 'max' the answers are logs "
           "themselves. tick(steps done) is called now and then.");
  py::class_<CalibratedTree>(m, "CalibratedTree", "A junction tree of marginals, and others that are known.")
      .def(py::init(&make_calibrated_tree), py::arg("tree"), py::arg("known"))
      .def("plan", &projections, py::arg("blocks"), py::arg("answers"),
           "Plan answers: (attributes, block of each or -1); blocks are (attribute, rows).")
      .def("held", &held, py::arg("pairs"), "1 for each pair that a clique of the tree holds, else 0.")
      .def_property_readonly(
          "pair_operations", [](const CalibratedTree& own) { return cost_of_pairs(*own.tree).operations; },
          "Multiplications of `pairs`.")
      .def_property_readonly(
          "pair_bytes", [](const CalibratedTree& own) { return cost_of_pairs(*own.tree).bytes; },
          "What `pairs` takes beside its answers.")
      .def("pairs", &pairs_at_once, py::arg("tables"), py::arg("pairs"), py::arg("negligible") = 0.0,
           py::arg("tick") = py::none(),
           "Flat marginals of different pairs that no clique holds, many at once, from the marginals of all "
           "cliques; separators of at most `negligible` do not count. tick(cliques done) is called now and "
           "then.")
      .def("operations_in_turn", &in_turn_operations, py::arg("pairs"), "About those of `pairs_in_turn`.")
      .def("pairs_in_turn", &pairs_in_turn, py::arg("tables"), py::arg("pairs"), py::arg("negligible") = 0.0,
           py::arg("tick") = py::none(),
           "The same, in any order: those that follow each other and have the same first attribute together, "
           "its values in rows.");
  m.def("plan_elimination", &elimination, py::arg("sizes"), py::arg("tables"), py::arg("keep"),
        py::arg("order") = Axes{},
        "Plan the sum over all attributes but some; tables are (axes, logarithms).");
}

}  // namespace pypgm::bind
