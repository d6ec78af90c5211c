#include "bindings.hpp"
#include "core/base/scope.hpp"
#include "core/simd/reduce.hpp"
#include "core/tables/strides.hpp"
#include "watched.hpp"

namespace pypgm::bind {

namespace {

using Reduce = void (*)(std::span<const double>, const Layout&, std::span<double>, int);

bool is_brief(std::size_t cells) { return static_cast<double>(cells) <= kBriefOperations; }

void logsumexp(std::span<const double> large, const Layout& layout, std::span<double> small, int n_threads) {
  std::vector<double> scratch(layout.small);
  reduce_logsumexp(large, layout, small, scratch, n_threads);
}

Layout checked_layout(const std::vector<std::size_t>& sizes, const std::vector<std::uint8_t>& kept) {
  check_size("kept", sizes.size(), kept.size());
  for (const std::size_t size : sizes) {
    if (size == 0) throw py::value_error("every axis needs at least one entry, got a size of 0");
  }
  return make_layout(sizes, kept);
}

template <Reduce reduce>
Array<double> bound_reduce(const Array<double>& table, const std::vector<std::size_t>& sizes,
                           const std::vector<std::uint8_t>& kept, int n_threads) {
  const int threads = checked_threads(n_threads);
  const Layout layout = checked_layout(sizes, kept);
  check_size("table", layout.large, static_cast<std::size_t>(table.size()));
  Array<double> result = allocate<double>(layout.small);
  const auto in = view(table);
  const auto out = mutable_view(result);
  watched(is_brief(layout.large), [&] { reduce(in, layout, out, threads); });
  return result;
}

template <Expand op>
void bound_expand(Array<double>& large, const std::vector<std::size_t>& sizes, const Array<double>& small,
                  const std::vector<std::uint8_t>& kept, int n_threads) {
  const int threads = checked_threads(n_threads);
  const Layout layout = checked_layout(sizes, kept);
  check_size("large", layout.large, static_cast<std::size_t>(large.size()));
  check_size("small", layout.small, static_cast<std::size_t>(small.size()));
  const auto out = mutable_view(large);
  const auto in = view(small);
  watched(is_brief(layout.large), [&] { expand(op, out, layout, in, threads); });
}

std::size_t checked_cells(const std::vector<std::size_t>& sizes, const std::vector<std::int32_t>& axes) {
  Scope ascending = axes;
  std::ranges::sort(ascending);
  const bool repeats = std::ranges::adjacent_find(ascending) != ascending.end();
  if (repeats || (!axes.empty() && (ascending.front() < 0 || at(ascending.back()) >= sizes.size()))) {
    throw py::value_error("axes must be different attribute indices below " + std::to_string(sizes.size()));
  }
  return cells_of(sizes, axes);
}

Array<double> stack_tables(const std::vector<std::size_t>& sizes,
                           const std::vector<std::vector<std::int32_t>>& axes,
                           const std::vector<Array<double>>& tables) {
  check_size("tables", axes.size(), tables.size());
  std::size_t n_cells = 0;
  std::vector<std::span<const double>> from;
  for (std::size_t i = 0; i < tables.size(); ++i) {
    from.push_back(view(tables[i]));
    check_size("a table", checked_cells(sizes, axes[i]), from.back().size());
    n_cells += from.back().size();
  }
  Array<double> result = allocate<double>(n_cells);
  auto out = mutable_view(result);
  watched(is_brief(n_cells), [&] {
    for (std::size_t i = 0; i < from.size(); ++i) {
      copy_ascending(sizes, axes[i], from[i], out.first(from[i].size()));
      out = out.subspan(from[i].size());
    }
  });
  return result;
}

}  // namespace

void bind_reduce(py::module_& m) {
  const auto reduce = [&m](const char* name, auto function, const char* doc) {
    m.def(name, function, py::arg("table").noconvert(), py::arg("sizes"), py::arg("kept"),
          py::arg("n_threads") = 0, doc);
  };
  reduce("reduce_sum", &bound_reduce<reduce_sum>, "Sum a flat table onto its kept axes.");
  reduce("reduce_max", &bound_reduce<reduce_max>, "Maximise a flat table onto its kept axes.");
  reduce("reduce_logsumexp", &bound_reduce<logsumexp>, "Log of the summed exponentials, onto the kept axes.");
  const auto expand = [&m](const char* name, auto function, const char* doc) {
    m.def(name, function, py::arg("large").noconvert(), py::arg("sizes"), py::arg("small").noconvert(),
          py::arg("kept"), py::arg("n_threads") = 0, doc);
  };
  expand("expand_assign", &bound_expand<Expand::assign>, "Repeat a small table along the axes it lacks.");
  expand("expand_add", &bound_expand<Expand::add>, "Add a small table to a large one, in place.");
  m.def("stack_tables", &stack_tables, py::arg("sizes"), py::arg("axes"), py::arg("tables").noconvert(),
        "Pack tables, the axes of each in ascending order of their attribute indices.");
}

}  // namespace pypgm::bind
