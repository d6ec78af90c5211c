#include "core/sampling.hpp"

#include <algorithm>
#include <cassert>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "core/repair.hpp"
#include "core/rounding.hpp"

namespace pypgm {

namespace {

constexpr double kUnit = 0x1p32;  // units of a record in round_controlled
constexpr double kNegligible = 1e-280;

/// Walks the cells over the chosen axes in C order; for each, its offset in the whole table and its index in
/// the margin.
struct Cells {
  std::vector<std::uint32_t> offset;
  std::vector<std::uint32_t> margin;
};

Cells cells_over(const SamplingStep& step, std::uint8_t in_separator) {
  Cells cells{{0}, {0}};
  std::size_t stride = 1;
  std::size_t margin_stride = 1;
  const auto grow = [](std::vector<std::uint32_t>& places, std::size_t size, std::size_t by) {
    const std::size_t before = places.size();
    places.resize(before * size);
    // From the last entry to the first: the axis becomes the outermost, so what stands stays in place.
    for (std::size_t value = 1; value < size; ++value) {
      for (std::size_t i = 0; i < before; ++i) {
        places[value * before + i] = static_cast<std::uint32_t>(places[i] + value * by);
      }
    }
  };
  for (std::size_t axis = step.sizes.size(); axis-- > 0;) {
    if (step.in_separator[axis] == in_separator) {
      grow(cells.offset, step.sizes[axis], stride);
      grow(cells.margin, step.sizes[axis], step.in_margin[axis] != 0 ? margin_stride : 0);
    }
    stride *= step.sizes[axis];
    if (step.in_margin[axis] != 0) margin_stride *= step.sizes[axis];
  }
  return cells;
}

std::size_t margin_cells(const SamplingStep& step) {
  std::size_t cells = 1;
  for (std::size_t axis = 0; axis < step.sizes.size(); ++axis) {
    if (step.in_margin[axis] != 0) cells *= step.sizes[axis];
  }
  return cells;
}

/// Whether the margin has no separator attribute, so that its expectation does not depend on what is drawn.
bool is_free(const SamplingStep& step) {
  for (std::size_t axis = 0; axis < step.sizes.size(); ++axis) {
    if (step.in_separator[axis] != 0 && step.in_margin[axis] != 0) return false;
  }
  return true;
}

/// The part of a step's table that takes part: some values of the separator by all new values.
struct Conditional {
  std::vector<std::uint32_t> separator;  ///< of each row: the separator's value
  std::vector<double> weights;           ///< rows by new values
  std::vector<double> sums;              ///< of each row's weights
  std::vector<double> targets;           ///< of each row: expected records
  std::vector<std::int32_t> counts;      ///< rows by new values
};

void add_row(Conditional& rows, const SamplingStep& step, std::size_t value, std::size_t offset,
             const Cells& fresh, double floor) {
  double sum = 0;
  for (const std::uint32_t place : fresh.offset) {
    const double weight = step.table[offset + place];
    rows.weights.push_back(weight > floor ? weight : 0);
    sum += rows.weights.back();
  }
  if (sum > 0) {
    rows.separator.push_back(static_cast<std::uint32_t>(value));
    rows.sums.push_back(sum);
  } else {
    rows.weights.resize(rows.weights.size() - fresh.offset.size());
  }
}

/// Chooses rows and says how many records each should have: n_s, or in a free step N p(s) as long as n_s is
/// next to that.
Conditional choose_rows(const SamplingStep& step, const Cells& given, const Cells& fresh,
                        std::span<const std::int64_t> n, std::size_t rows) {
  const bool free = is_free(step);
  const double total = free ? std::accumulate(step.table.begin(), step.table.end(), 0.0) : 0;
  Conditional chosen;
  for (std::size_t value = 0; value < given.offset.size(); ++value) {
    if (!free && n[value] == 0) continue;
    const std::size_t before = chosen.sums.size();
    add_row(chosen, step, value, given.offset[value], fresh, kNegligible * total);
    const auto present = static_cast<double>(n[value]);
    if (chosen.sums.size() == before) {
      if (n[value] > 0)
        throw std::invalid_argument("the table gives probability 0 to drawn separator values");
      continue;
    }
    const double mean = free ? static_cast<double>(rows) * (chosen.sums.back() / total) : present;
    chosen.targets.push_back(std::abs(present - mean) < 1 ? mean : present);
  }
  chosen.counts.resize(chosen.weights.size());
  return chosen;
}

/// Splits the expected counts of a row into integers and fractions. Cumulated sums are cut to units, so that
/// the row's sum is its target to the unit; what summation lost goes to the largest cell.
void split_row(std::span<const double> weights, double sum, double target, std::span<std::uint64_t> units) {
  const auto whole = static_cast<std::uint64_t>(target * kUnit + 0.5);
  double cumulated = 0;
  std::uint64_t before = 0;
  std::size_t largest = 0;
  for (std::size_t value = 0; value < weights.size(); ++value) {
    cumulated += weights[value];
    const double share = cumulated / sum * target * kUnit + 0.5;
    const std::uint64_t here = std::clamp(static_cast<std::uint64_t>(share), before, whole);
    units[value] = here - before;
    before = here;
    if (weights[value] > weights[largest]) largest = value;
  }
  units[largest] += whole - before;
}

/// Rounds expected counts; returns of each margin column the expected records.
std::vector<double> round_counts(const SamplingStep& step, const Cells& given, const Cells& fresh,
                                 Conditional& rows, Xoshiro& random) {
  const std::size_t n_new = fresh.offset.size();
  Fractions fractions;
  fractions.n_rows = rows.sums.size();
  fractions.n_columns = margin_cells(step);
  std::vector<double> columns(fractions.n_columns, 0.0);
  std::vector<std::uint32_t> cells;
  std::vector<std::uint64_t> units(n_new);
  for (std::size_t row = 0; row < rows.sums.size(); ++row) {
    const auto weights = std::span<const double>(rows.weights).subspan(row * n_new, n_new);
    split_row(weights, rows.sums[row], rows.targets[row], units);
    const std::size_t place = given.margin[rows.separator[row]];
    for (std::size_t value = 0; value < n_new; ++value) {
      if (units[value] == 0) continue;
      const std::size_t cell = row * n_new + value;
      const std::size_t column = place + fresh.margin[value];
      rows.counts[cell] = static_cast<std::int32_t>(units[value] >> 32);
      columns[column] += static_cast<double>(units[value]) / kUnit;
      const auto fraction = static_cast<std::uint32_t>(units[value]);
      if (fraction == 0) continue;
      fractions.add(row, column, fraction);
      cells.push_back(static_cast<std::uint32_t>(cell));
    }
  }
  const std::vector<std::uint8_t> up = round_controlled(std::move(fractions), random);
  for (std::size_t i = 0; i < cells.size(); ++i) rows.counts[cells[i]] += up[i];
  return columns;
}

void make_sums_exact(const Cells& fresh, std::span<const std::int64_t> n, std::span<const double> columns,
                     Conditional& rows, Xoshiro& random) {
  const std::size_t n_new = fresh.offset.size();
  std::vector<std::int64_t> missing(rows.sums.size());
  bool exact = true;
  for (std::size_t row = 0; row < missing.size(); ++row) {
    const auto begin = rows.counts.begin() + static_cast<std::ptrdiff_t>(row * n_new);
    missing[row] = n[rows.separator[row]] -
                   std::accumulate(begin, begin + static_cast<std::ptrdiff_t>(n_new), std::int64_t{0});
    exact = exact && missing[row] == 0;
  }
  if (exact) return;
  const RowRepair table{rows.counts, rows.weights, rows.targets, fresh.margin, columns, n_new};
  repair_rows(table, missing, random);
}

}  // namespace

RecordSampler::RecordSampler(std::size_t rows, std::size_t n_attributes, std::uint64_t seed)
    : rows_(rows), random_(seed), columns_(n_attributes), drawn_(n_attributes, 0) {
  assert(rows <= kMaxRecords);
}

void RecordSampler::draw(const SamplingStep& step) {
  const Cells given = cells_over(step, 1);
  const Cells fresh = cells_over(step, 0);
  const std::size_t n_new = fresh.offset.size();
  assert(given.offset.size() * n_new == step.table.size() && step.table.size() <= kMaxRecords);

  std::vector<std::uint32_t> group(rows_, 0);
  for (std::size_t axis = 0; axis < step.sizes.size(); ++axis) {
    if (step.in_separator[axis] == 0) continue;
    const auto size = static_cast<std::uint32_t>(step.sizes[axis]);
    const std::vector<std::int32_t>& values = columns_[step.attributes[axis]];
    for (std::size_t i = 0; i < rows_; ++i)
      group[i] = group[i] * size + static_cast<std::uint32_t>(values[i]);
  }
  std::vector<std::int64_t> n(given.offset.size(), 0);
  for (const std::uint32_t value : group) ++n[value];

  Conditional rows = choose_rows(step, given, fresh, n, rows_);
  const std::vector<double> columns = round_counts(step, given, fresh, rows, random_);
  make_sums_exact(fresh, n, columns, rows, random_);

  // Each group's new values, in random order: given the separator they are independent of all else drawn.
  std::vector<std::uint32_t> dealt;
  dealt.reserve(rows_);
  std::vector<std::size_t> next(n.size(), 0);
  for (std::size_t row = 0; row < rows.sums.size(); ++row) {
    const std::size_t begin = dealt.size();
    next[rows.separator[row]] = begin;
    for (std::size_t value = 0; value < n_new; ++value) {
      dealt.insert(dealt.end(), static_cast<std::size_t>(rows.counts[row * n_new + value]),
                   static_cast<std::uint32_t>(value));
    }
    shuffle(std::span(dealt).subspan(begin), random_);
  }
  assert(dealt.size() == rows_);
  for (std::uint32_t& value : group) value = dealt[next[value]++];

  std::size_t stride = 1;
  for (std::size_t axis = step.sizes.size(); axis-- > 0;) {
    if (step.in_separator[axis] != 0) continue;
    std::vector<std::int32_t>& values = columns_[step.attributes[axis]];
    values.resize(rows_);
    drawn_[step.attributes[axis]] = step.sizes[axis];
    for (std::size_t i = 0; i < rows_; ++i) {
      values[i] = static_cast<std::int32_t>(group[i] / stride % step.sizes[axis]);
    }
    stride *= step.sizes[axis];
  }
}

}  // namespace pypgm
