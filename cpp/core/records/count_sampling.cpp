// One block of separator values after the other: expected counts, controlled rounding, row counts.
#include "core/records/count_sampling.hpp"

#include <algorithm>
#include <cmath>
#include <numeric>
#include <stdexcept>

#include "core/base/numbers.hpp"
#include "core/records/controlled_rounding.hpp"
#include "core/records/controlled_rounding_rows.hpp"

namespace pypgm {

namespace {

constexpr double kUnit = 0x1p32;        // units of round_controlled in one record
constexpr double kNegligible = 1e-280;  // smaller parts of a table's sum count as zero

/// The joint values of the axes in the separator, or of the others, in C order: for each its offset in the
/// whole table, and its index among the joint values of those axes that belong to the margin.
struct Cells {
  std::vector<std::uint32_t> offset{0};
  std::vector<std::uint32_t> margin{0};
  std::size_t n_margin = 1;
};

/// Adds an outermost axis: repeats the offsets for each of its values, one stride further each time.
void repeat(std::vector<std::uint32_t>& offsets, std::size_t size, std::size_t stride) {
  const std::size_t before = offsets.size();
  offsets.resize(before * size);
  for (std::size_t value = 1; value < size; ++value) {
    for (std::size_t i = 0; i < before; ++i) {
      offsets[value * before + i] = static_cast<std::uint32_t>(offsets[i] + value * stride);
    }
  }
}

Cells cells_over(const SamplingStep& step, bool separator) {
  Cells cells;
  std::size_t stride = 1;
  for (std::size_t axis = step.sizes.size(); axis-- > 0;) {
    const std::size_t size = step.sizes[axis];
    if ((step.in_separator[axis] != 0) == separator) {
      repeat(cells.offset, size, stride);
      repeat(cells.margin, size, step.in_margin[axis] != 0 ? cells.n_margin : 0);
      if (step.in_margin[axis] != 0) cells.n_margin *= size;
    }
    stride *= size;
  }
  return cells;
}

/// Converts the expected counts of a row to units. Cumulative sums are rounded, so that the row's units sum
/// to its mean; what rounding errors of the sum leave over goes to the largest cell.
void split_row(const TwoWayTable& table, std::size_t row, std::span<std::uint64_t> units) {
  const auto weights = std::span<const double>(table.weights).subspan(row * units.size(), units.size());
  const double scale = table.row_means[row] * kUnit;
  const auto whole = static_cast<std::uint64_t>(std::llround(scale));
  double cumulated = 0;
  std::uint64_t before = 0;
  std::size_t largest = 0;
  for (std::size_t value = 0; value < weights.size(); ++value) {
    cumulated += weights[value];
    const auto here = static_cast<std::uint64_t>(std::llround(cumulated / table.weight_sums[row] * scale));
    units[value] = std::clamp(here, before, whole) - before;
    before += units[value];
    if (weights[value] > weights[largest]) largest = value;
  }
  units[largest] += whole - before;
}

void round_means(TwoWayTable& table, Xoshiro& random) {
  Fractions fractions;
  fractions.n_rows = table.n_rows();
  fractions.n_columns = table.n_columns;
  fractions.reserve(table.weights.size());
  std::vector<std::uint32_t> cells;
  cells.reserve(table.weights.size());
  std::vector<std::uint64_t> units(table.n_new());
  table.counts.assign(table.weights.size(), 0);
  for (std::size_t row = 0; row < table.n_rows(); ++row) {
    leave_if_abandoned();
    split_row(table, row, units);
    for (std::size_t value = 0; value < units.size(); ++value) {
      const std::size_t cell = row * units.size() + value;
      table.counts[cell] = static_cast<std::int32_t>(units[value] >> 32);
      const auto fraction = static_cast<std::uint32_t>(units[value]);
      if (fraction == 0) continue;
      fractions.add(row, table.column_of[value], fraction);
      cells.push_back(static_cast<std::uint32_t>(cell));
    }
  }
  const std::vector<std::uint8_t> up = round_controlled(std::move(fractions), random);
  for (std::size_t i = 0; i < cells.size(); ++i) table.counts[cells[i]] += up[i];
}

/// Draws counts for one block of separator values after the other.
class Rounding {
 public:
  Rounding(const SamplingStep& step, std::span<const std::int64_t> present, std::size_t rows, Xoshiro& random)
      : step_(step),
        present_(present),
        random_(random),
        given_(cells_over(step, true)),
        fresh_(cells_over(step, false)) {
    // Rows follow N p(s), which takes a pass over all cells, unless most separator values have no record.
    follows_model_ = given_.n_margin == 1 || present.size() <= rows;
    const double total = std::accumulate(step.table.begin(), step.table.end(), 0.0);
    const bool negative = std::ranges::any_of(step.table, [](double weight) { return weight < 0; });
    if (negative || !(total > 0 && total < kInfinity)) {
      throw std::invalid_argument(
          "a table to draw from needs entries of at least 0 with a positive, finite sum");
    }
    per_weight_ = static_cast<double>(rows) / total;
    floor_ = kNegligible * total;
  }

  /// Calls take(separator value, counts of the new values) for each separator value.
  void run(const Watch& watch, const TakeCounts& take) {
    std::vector<std::vector<std::uint32_t>> blocks(given_.n_margin);
    for (std::size_t value = 0; value < present_.size(); ++value) {
      if (present_[value] == 0 && !follows_model_) continue;
      blocks[given_.margin[value]].push_back(static_cast<std::uint32_t>(value));
    }
    for (const std::vector<std::uint32_t>& block : blocks) {
      if (watch.abandoned) return;
      if (!block.empty()) draw_block(block, take);
    }
  }

  /// Index in the whole table of a separator value and a new value.
  std::size_t cell(std::uint32_t separator, std::size_t value) const {
    return given_.offset[separator] + fresh_.offset[value];
  }

 private:
  void draw_block(const std::vector<std::uint32_t>& block, const TakeCounts& take) {
    TwoWayTable table;
    table.column_of = fresh_.margin;
    table.n_columns = fresh_.n_margin;
    table.column_means.assign(table.n_columns, 0.0);
    table.weights.reserve(block.size() * table.n_new());
    std::vector<std::uint32_t> values;
    for (const std::uint32_t value : block) {
      leave_if_abandoned();
      if (add_row(table, value)) values.push_back(value);
    }
    round_means(table, random_);
    set_row_counts(table, random_);
    for (std::size_t row = 0; row < values.size(); ++row) {
      take(values[row],
           std::span<const std::int32_t>(table.counts).subspan(row * table.n_new(), table.n_new()));
    }
  }

  bool add_row(TwoWayTable& table, std::uint32_t value) {
    const std::int64_t present = present_[value];
    double sum = 0;
    for (const std::uint32_t offset : fresh_.offset) {
      const double weight = step_.table[given_.offset[value] + offset];
      table.weights.push_back(weight > floor_ ? weight : 0);
      sum += table.weights.back();
    }
    if (sum == 0) {
      if (present > 0) throw std::invalid_argument("the table gives probability 0 to separator values drawn");
      table.weights.resize(table.weights.size() - table.n_new());
      return false;
    }
    const auto n = static_cast<double>(present);
    const double mean = follows_model_ ? sum * per_weight_ : n;
    for (std::size_t i = 0; i < table.n_new(); ++i) {
      const double weight = table.weights[table.weights.size() - table.n_new() + i];
      table.column_means[table.column_of[i]] += weight / sum * mean;
    }
    table.row_counts.push_back(present);
    table.row_means.push_back(std::clamp(mean, std::max(n - 1, 0.0), n + 1));
    table.weight_sums.push_back(sum);
    return true;
  }

  const SamplingStep& step_;
  std::span<const std::int64_t> present_;  ///< n_s
  Xoshiro& random_;
  Cells given_;
  Cells fresh_;
  bool follows_model_ = true;
  double per_weight_ = 0;  ///< records per unit of the table
  double floor_ = 0;
};

}  // namespace

void sample_counts(const SamplingStep& step, std::span<const std::int64_t> present, std::size_t rows,
                   Xoshiro& random, const Watch& watch, const TakeCounts& take) {
  Rounding(step, present, rows, random).run(watch, take);
}

std::vector<std::int32_t> draw_counts(const SamplingStep& step, std::span<const std::int64_t> present,
                                      std::size_t rows, std::uint64_t seed, const Watch& watch) {
  Xoshiro generator(seed);
  std::vector<std::int32_t> table(step.table.size(), 0);
  Rounding rounding(step, present, rows, generator);
  rounding.run(watch, [&](std::uint32_t separator, std::span<const std::int32_t> counts) {
    for (std::size_t value = 0; value < counts.size(); ++value) {
      if (counts[value] != 0) table[rounding.cell(separator, value)] = counts[value];
    }
  });
  return table;
}

}  // namespace pypgm
