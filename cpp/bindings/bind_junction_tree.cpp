#include <algorithm>
#include <functional>
#include <memory>
#include <numeric>
#include <optional>
#include <utility>

#include "bind_measurements.hpp"
#include "core/exact/draw.hpp"
#include "core/exact/inference.hpp"
#include "core/exact/map.hpp"
#include "core/plan/junction_tree.hpp"
#include "watched.hpp"

namespace pypgm::bind {

namespace {

constexpr std::size_t kBriefPlan = 100;  // attributes and cliques; planned in some milliseconds

using Tree = std::shared_ptr<JunctionTree>;
using EvidenceArrays = std::vector<std::pair<std::int32_t, Array<double>>>;

void check_order(std::size_t n, const std::vector<std::int32_t>& order) {
  std::vector<std::uint8_t> seen(n, 0);
  check_size("order", n, order.size());
  for (const std::int32_t v : order) {
    if (v < 0 || static_cast<std::size_t>(v) >= n || seen[static_cast<std::size_t>(v)]++ != 0) {
      throw py::value_error("order must be a permutation of the attribute indices");
    }
  }
}

Tree make_tree(const std::vector<std::size_t>& sizes, const std::vector<Scope>& cliques,
               const std::optional<std::vector<std::int32_t>>& order, bool exhaustive) {
  check_sizes(sizes);
  check_scopes("cliques", sizes.size(), cliques);
  if (order) check_order(sizes.size(), *order);
  return watched(sizes.size() + cliques.size() <= kBriefPlan, [&] {
    const Elimination elimination =
        order ? eliminate_in_order(sizes, cliques, *order) : eliminate(sizes, cliques, exhaustive);
    return std::make_shared<JunctionTree>(build_junction_tree(sizes, cliques, elimination));
  });
}

/// Checks the arrays of one propagation and borrows them for its length.
struct Inputs {
  std::span<const double> potentials;
  std::vector<Evidence> evidence;
  int threads;
  bool brief;

  Inputs(const JunctionTree& tree, const Array<double>& values, const EvidenceArrays& likelihoods,
         int n_threads)
      : threads(checked_threads(n_threads)), brief(tree.cost.operations <= kBriefOperations) {
    check_over_cliques(tree, "potentials", values);
    potentials = view(values);
    for (const auto& item : likelihoods) {
      if (item.first < 0 || static_cast<std::size_t>(item.first) >= tree.sizes.size()) {
        throw py::value_error("evidence names attribute " + std::to_string(item.first) + ", the tree has " +
                              std::to_string(tree.sizes.size()));
      }
      check_size("log_likelihood", tree.sizes[static_cast<std::size_t>(item.first)],
                 static_cast<std::size_t>(item.second.size()));
      evidence.push_back({item.first, view(item.second)});
    }
  }
};

constexpr double kSafeTotal = 1e15;  // quotients of tables of counts that sum to so much stay doubles

/// Fills cells of a total and returns log Z.
using Run = std::function<double(std::span<double>, double, Watch*)>;

/// A fresh array of counts that run(its cells, their total, watch) fills, and the log Z it returns.
py::tuple filled(std::size_t cells, double total, bool brief, const Run& run, const Tick& tick = py::none()) {
  Array<double> result = allocate<double>(cells);
  const auto out = mutable_view(result);
  double log_z = 0;
  const double safe = std::min(total, kSafeTotal);
  run_watched(tick, brief, [&](Watch& watch) {
    log_z = run(out, safe, &watch);
    if (safe < total) std::ranges::transform(out, out.begin(), [&](double x) { return x * (total / safe); });
  });
  return py::make_tuple(result, log_z);
}

py::tuple marginals(const JunctionTree& tree, const Array<double>& potentials, const EvidenceArrays& evidence,
                    double total, int n_threads) {
  const Inputs inputs(tree, potentials, evidence, n_threads);
  return filled(
      inputs.potentials.size(), total, inputs.brief, [&](std::span<double> out, double safe, Watch* watch) {
        return exact_marginals(tree, inputs.potentials, inputs.evidence, safe, out, inputs.threads, watch);
      });
}

/// A list of arrays, one for each attribute: views of one buffer, made here because there may be many.
py::tuple attribute_marginals(const JunctionTree& tree, const Array<double>& potentials,
                              const EvidenceArrays& evidence, double total, int n_threads) {
  const Inputs inputs(tree, potentials, evidence, n_threads);
  const std::size_t cells = std::accumulate(tree.sizes.begin(), tree.sizes.end(), std::size_t{0}, add_cells);
  const py::tuple answer =
      filled(cells, total, inputs.brief, [&](std::span<double> out, double safe, Watch* watch) {
        return exact_attribute_marginals(tree, inputs.potentials, inputs.evidence, safe, out, inputs.threads,
                                         watch);
      });
  const auto result = answer[0].cast<Array<double>>();
  py::list tables;
  std::size_t offset = 0;
  for (const std::size_t size : tree.sizes) {
    tables.append(Array<double>(static_cast<py::ssize_t>(size), result.data() + offset, result));
    offset += size;
  }
  return py::make_tuple(tables, answer[1]);
}

/// The tables of the tree cliques themselves.
py::tuple tables(const JunctionTree& tree, const Array<double>& potentials, const EvidenceArrays& evidence,
                 double total, int n_threads, const Tick& tick) {
  const Inputs inputs(tree, potentials, evidence, n_threads);
  const std::size_t cells = add_cells(tree.nodes.back().offset, tree.nodes.back().cells);
  return filled(
      cells, total, inputs.brief,
      [&](std::span<double> out, double safe, Watch* watch) {
        return exact_tables(tree, inputs.potentials, inputs.evidence, safe, out, inputs.threads, watch);
      },
      tick);
}

double log_partition_of(const JunctionTree& tree, const Array<double>& potentials,
                        const EvidenceArrays& evidence, int n_threads) {
  const Inputs inputs(tree, potentials, evidence, n_threads);
  double log_z = 0;
  run_watched(py::none(), inputs.brief, [&](Watch& watch) {
    log_z = exact_log_partition(tree, inputs.potentials, inputs.evidence, inputs.threads, &watch);
  });
  return log_z;
}

double max_log_weight_of(const JunctionTree& tree, const Array<double>& potentials,
                         const EvidenceArrays& evidence, int n_threads) {
  const Inputs inputs(tree, potentials, evidence, n_threads);
  return watched(inputs.brief, [&] {
    return exact_max_log_weight(tree, inputs.potentials, inputs.evidence, inputs.threads);
  });
}

py::tuple most_probable_of(const JunctionTree& tree, const Array<double>& potentials,
                           const EvidenceArrays& evidence) {
  const Inputs inputs(tree, potentials, evidence, 0);
  MostProbable found;
  run_watched(py::none(), inputs.brief,
              [&](Watch& watch) { found = most_probable(tree, inputs.potentials, inputs.evidence, &watch); });
  return py::make_tuple(found.codes, found.log_weight);
}

/// Codes of independent draws, shape (attributes, rows), and log Z.
py::tuple drawn_assignments(const JunctionTree& tree, const Array<double>& potentials,
                            const EvidenceArrays& evidence, const Array<double>& uniforms, int n_threads) {
  const Inputs inputs(tree, potentials, evidence, n_threads);
  const auto n = static_cast<py::ssize_t>(tree.sizes.size());
  if (uniforms.ndim() != 2 || uniforms.shape(1) != n) {
    throw py::value_error("draws need a row of uniforms for each record, one for each attribute");
  }
  const py::ssize_t rows = uniforms.shape(0);
  Array<std::int32_t> codes({n, rows});
  const std::span<std::int32_t> out(codes.mutable_data(), static_cast<std::size_t>(codes.size()));
  const std::span<const double> given(uniforms.data(), static_cast<std::size_t>(uniforms.size()));
  double log_z = 0;
  run_watched(py::none(), inputs.brief, [&](Watch& watch) {
    log_z = draw_assignments(tree, inputs.potentials, inputs.evidence, given, out, inputs.threads, &watch);
  });
  return py::make_tuple(codes, log_z);
}

py::dict tree_cost(const JunctionTree& tree) {
  py::dict d;
  d["width"] = tree.cost.width;
  d["largest"] = tree.nodes[static_cast<std::size_t>(tree.cost.largest)].attributes;
  d["largest_cells"] = tree.cost.largest_cells;
  d["cells"] = tree.cost.cells;
  d["operations"] = tree.cost.operations;
  d["bytes"] = tree.cost.bytes;
  d["table_bytes"] = tree.cost.table_bytes;
  return d;
}

std::vector<std::tuple<Scope, Scope, int, std::size_t>> nodes(const JunctionTree& tree) {
  std::vector<std::tuple<Scope, Scope, int, std::size_t>> result;
  for (const TreeNode& node : tree.nodes) {
    result.emplace_back(node.attributes, node.edge.separator, node.parent, node.offset);
  }
  return result;
}

}  // namespace

void bind_junction_tree(py::module_& m) {
  static py::handle hopeless =
      py::exception<HopelessElimination>(m, "HopelessElimination", PyExc_MemoryError).release();
  py::register_exception_translator([](std::exception_ptr error) {
    try {
      if (error) std::rethrow_exception(error);
    } catch (const HopelessElimination& e) {
      py::set_error(hopeless, py::make_tuple(py::cast(e.clique())));
    }
  });
  py::class_<JunctionTree, Tree>(m, "JunctionTree", "A compiled junction tree over attribute indices.")
      .def(py::init(&make_tree), py::arg("sizes"), py::arg("cliques"), py::arg("order") = py::none(),
           py::arg("exhaustive") = false)
      .def_readonly("order", &JunctionTree::order, "The elimination order.")
      .def_property_readonly("nodes", &nodes,
                             "(attributes, separator, parent, offset of the table) of each clique.")
      .def_property_readonly(
          "given_cells", [](const JunctionTree& tree) { return tree.cost.factor_cells; },
          "Cells of the tables of the given cliques.")
      .def_property_readonly("cost", &tree_cost, "Width, cells, bytes and operations of one propagation.")
      .def("marginals", &marginals, py::arg("potentials").noconvert(), py::arg("evidence"), py::arg("total"),
           py::arg("n_threads") = 0, "Marginals of the given cliques, and log Z.")
      .def("attribute_marginals", &attribute_marginals, py::arg("potentials").noconvert(),
           py::arg("evidence"), py::arg("total"), py::arg("n_threads") = 0,
           "Marginals of the single attributes, and log Z.")
      .def("most_probable", &most_probable_of, py::arg("potentials").noconvert(), py::arg("evidence"),
           "Codes of the assignment of largest weight, and its log-weight.")
      .def("draw", &drawn_assignments, py::arg("potentials").noconvert(), py::arg("evidence"),
           py::arg("uniforms").noconvert(), py::arg("n_threads") = 0,
           "Codes of independent draws, shape (attributes, rows), and log Z.")
      .def("tables", &tables, py::arg("potentials").noconvert(), py::arg("evidence"), py::arg("total"),
           py::arg("n_threads") = 0, py::arg("tick") = py::none(),
           "Marginals of the tree cliques, and log Z.")
      .def("log_partition", &log_partition_of, py::arg("potentials").noconvert(), py::arg("evidence"),
           py::arg("n_threads") = 0, "log Z alone.")
      .def("max_log_weight", &max_log_weight_of, py::arg("potentials").noconvert(), py::arg("evidence"),
           py::arg("n_threads") = 0, "Largest log-weight of a joint assignment.");
}

}  // namespace pypgm::bind
