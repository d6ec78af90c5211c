// Bindings of record sampling; checks of steps and tables.
#include <algorithm>
#include <numeric>
#include <variant>

#include "bindings.hpp"
#include "core/records/sampling.hpp"
#include "core/tables/layout.hpp"
#include "exclusive.hpp"

namespace pypgm::bind {

namespace {

constexpr double kDrawWork = 500;  // of a record or a cell, in operations

using Sampler = Exclusive<RecordSampler>;

std::unique_ptr<Sampler> make_sampler(std::size_t rows, std::size_t n_attributes, std::uint64_t seed,
                                      int n_threads) {
  if (rows > kMaxRecords) {
    throw py::value_error("at most " + std::to_string(kMaxRecords) + " records can be drawn, got " +
                          std::to_string(rows));
  }
  return make_exclusive<RecordSampler>(kDrawWork, rows, n_attributes, seed, checked_threads(n_threads));
}

/// Checks the axes of a table; returns its number of cells.
std::size_t check_axes(const SamplingStep& step) {
  check_size("sizes", step.attributes.size(), step.sizes.size());
  check_size("in_separator", step.attributes.size(), step.in_separator.size());
  check_size("in_margin", step.attributes.size(), step.in_margin.size());
  std::vector<std::size_t> ascending = step.attributes;
  std::ranges::sort(ascending);
  if (std::ranges::adjacent_find(ascending) != ascending.end()) {
    throw py::value_error("the attributes of a table must differ");
  }
  std::size_t cells = 1;
  for (const std::size_t size : step.sizes) {
    if (size == 0) throw py::value_error("every axis needs at least one entry, got a size of 0");
    cells = multiply_cells(cells, size);
  }
  if (cells > kMaxRecords) {
    throw py::value_error("a table to draw from may have " + std::to_string(kMaxRecords) + " cells, got " +
                          std::to_string(cells));
  }
  return cells;
}

std::size_t check_step(const RecordSampler& sampler, const SamplingStep& step) {
  const std::size_t cells = check_axes(step);
  for (std::size_t axis = 0; axis < step.sizes.size(); ++axis) {
    if (step.attributes[axis] >= sampler.n_attributes()) {
      throw py::value_error("attribute " + std::to_string(step.attributes[axis]) + " is out of range");
    }
    if (step.in_separator[axis] != 0 && !sampler.is_drawn(step.attributes[axis], step.sizes[axis])) {
      throw py::value_error("separator attribute " + std::to_string(step.attributes[axis]) +
                            " has not been drawn with this size");
    }
  }
  return cells;
}

void draw(Sampler& self, const Array<double>& table, std::vector<std::size_t> attributes,
          std::vector<std::size_t> sizes, std::vector<std::uint8_t> in_separator,
          std::vector<std::uint8_t> in_margin) {
  const SamplingStep step{view(table), std::move(attributes), std::move(sizes), std::move(in_separator),
                          std::move(in_margin)};
  const double operations = self.look([&](RecordSampler& sampler) {
    check_size("table", check_step(sampler, step), step.table.size());
    return static_cast<double>(step.table.size() + sampler.rows());
  });
  self.run([&](RecordSampler& sampler) { sampler.draw(step); }, operations);
}

void deal(Sampler& self, const Array<std::int64_t>& cells, const Array<std::int32_t>& counts,
          std::vector<std::size_t> attributes, std::vector<std::size_t> sizes,
          std::vector<std::uint8_t> in_separator) {
  std::vector<std::uint8_t> no_margin(attributes.size(), 0);
  const SamplingStep step{
      {}, std::move(attributes), std::move(sizes), std::move(in_separator), std::move(no_margin)};
  const CountTable table{view(cells), view(counts)};
  const double operations = self.look([&](RecordSampler& sampler) {
    const auto n_cells = static_cast<std::int64_t>(check_step(sampler, step));
    check_size("counts", table.cells.size(), table.counts.size());
    for (std::size_t i = 0; i < table.cells.size(); ++i) {
      if (table.cells[i] < (i == 0 ? 0 : table.cells[i - 1] + 1) || table.cells[i] >= n_cells) {
        throw py::value_error("cells must ascend and lie in the table");
      }
      if (table.counts[i] <= 0) throw py::value_error("every cell in the list needs a count above 0");
    }
    return static_cast<double>(table.cells.size() + sampler.rows());
  });
  self.run([&](RecordSampler& sampler) { sampler.deal(step, table); }, operations);
}

Array<std::int32_t> draw_table_counts(const Array<double>& table, std::vector<std::size_t> sizes,
                                      std::vector<std::uint8_t> in_separator,
                                      std::vector<std::uint8_t> in_margin, const Array<std::int64_t>& present,
                                      std::uint64_t seed) {
  std::vector<std::size_t> axes(sizes.size());
  std::iota(axes.begin(), axes.end(), std::size_t{0});
  const SamplingStep step{view(table), std::move(axes), std::move(sizes), std::move(in_separator),
                          std::move(in_margin)};
  check_size("table", check_axes(step), step.table.size());
  std::size_t groups = 1;
  for (std::size_t axis = 0; axis < step.sizes.size(); ++axis) {
    if (step.in_separator[axis] != 0) groups *= step.sizes[axis];
  }
  check_size("present", groups, view(present).size());
  std::size_t rows = 0;
  for (const std::int64_t count : view(present)) {
    if (count < 0 || static_cast<std::size_t>(count) > kMaxRecords - rows) {
      throw py::value_error("the records of the separator values need counts of at least 0, at most " +
                            std::to_string(kMaxRecords) + " in all");
    }
    rows += static_cast<std::size_t>(count);
  }
  const bool brief = kDrawWork * static_cast<double>(step.table.size()) <= kBriefStep;
  return array_of(watched(brief, [&] { return draw_counts(step, view(present), rows, seed); }));
}

/// An array of the smallest type.
using CodeArray = std::variant<Array<std::int8_t>, Array<std::int16_t>, Array<std::int32_t>>;

CodeArray take_column(Sampler& self, std::size_t attribute) {
  return self.look([&](RecordSampler& sampler) {
    if (attribute >= sampler.n_attributes()) {
      throw py::value_error("attribute " + std::to_string(attribute) + " is out of range");
    }
    return std::visit([](const auto& codes) -> CodeArray { return array_of(codes); },
                      sampler.take_column(attribute));
  });
}

}  // namespace

void bind_sampling(py::module_& m) {
  py::class_<Sampler>(m, "RecordSampler", "Draws columns of records by randomised rounding.")
      .def(py::init(&make_sampler), py::arg("rows"), py::arg("n_attributes"), py::arg("seed"),
           py::arg("n_threads") = 1)
      .def("draw", &draw, py::arg("table").noconvert(), py::arg("attributes"), py::arg("sizes"),
           py::arg("in_separator"), py::arg("in_margin"),
           "Draw the attributes of a table that are not in its separator, given the separator.")
      .def("deal", &deal, py::arg("cells").noconvert(), py::arg("counts").noconvert(), py::arg("attributes"),
           py::arg("sizes"), py::arg("in_separator"),
           "Deal the new values of a table with given counts to the records, in random order given the "
           "separator.")
      .def("take_column", &take_column, py::arg("attribute"),
           "The values drawn of an attribute, which is then as if it had not been drawn.");
  m.def("draw_counts", &draw_table_counts, py::arg("table").noconvert(), py::arg("sizes"),
        py::arg("in_separator"), py::arg("in_margin"), py::arg("present").noconvert(), py::arg("seed"),
        "Return the counts that RecordSampler.draw gives the cells of a table, without records.");
}

}  // namespace pypgm::bind
