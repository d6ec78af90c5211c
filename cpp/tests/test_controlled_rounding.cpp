#include <doctest/doctest.h>

#include <algorithm>
#include <cmath>
#include <cstdint>
#include <set>
#include <stdexcept>
#include <vector>

#include "core/records/controlled_rounding.hpp"
#include "core/records/controlled_rounding_rows.hpp"
#include "core/records/sampling.hpp"

using namespace pypgm;

namespace {

constexpr std::uint64_t kOne = std::uint64_t{1} << 32;

Fractions random_fractions(std::size_t rows, std::size_t columns, double scale, Xoshiro& random) {
  Fractions table;
  table.n_rows = rows;
  table.n_columns = columns;
  for (std::size_t row = 0; row < rows; ++row) {
    for (std::size_t column = 0; column < columns; ++column) {
      if (random.below(8) == 0) continue;
      table.add(row, column, static_cast<std::uint32_t>(random.uniform() * scale * 0x1p32));
    }
  }
  return table;
}

bool is_rounded(std::uint64_t sum, std::uint64_t rounded) {
  return rounded == sum >> 32 || rounded == (sum + kOne - 1) >> 32;
}

void check_margins(const Fractions& table, const std::vector<std::uint8_t>& up) {
  std::vector<std::uint64_t> rows(table.n_rows), rows_up(table.n_rows);
  std::vector<std::uint64_t> columns(table.n_columns), columns_up(table.n_columns);
  std::uint64_t total = 0;
  std::uint64_t total_up = 0;
  REQUIRE(up.size() == table.units.size());
  for (std::size_t cell = 0; cell < up.size(); ++cell) {
    rows[table.row[cell]] += table.units[cell];
    rows_up[table.row[cell]] += up[cell];
    columns[table.column[cell]] += table.units[cell];
    columns_up[table.column[cell]] += up[cell];
    total += table.units[cell];
    total_up += up[cell];
    CHECK((up[cell] == 0 || table.units[cell] != 0));
  }
  for (std::size_t row = 0; row < table.n_rows; ++row) CHECK(is_rounded(rows[row], rows_up[row]));
  for (std::size_t column = 0; column < table.n_columns; ++column) {
    CHECK(is_rounded(columns[column], columns_up[column]));
  }
  CHECK(is_rounded(total, total_up));
}

}  // namespace

TEST_CASE("xoshiro256++ gives the reference output for the state that SplitMix64 makes of seed 0") {
  Xoshiro random(0);
  CHECK(random.bits() == 0x53175d61490b23dfU);
  CHECK(random.bits() == 0x61da6f3dc380d507U);
  CHECK(random.bits() == 0x5c0fdf91ec9a7bfcU);
}

TEST_CASE("below gives each number its share") {
  Xoshiro random(3);
  std::vector<int> seen(6);
  for (int i = 0; i < 60000; ++i) ++seen[random.below(6)];
  double chi_square = 0;
  for (const int count : seen) chi_square += (count - 10000.0) * (count - 10000.0) / 10000.0;
  CHECK(chi_square < 20.5);  // 0.999 quantile, 5 degrees of freedom
  CHECK(random.below(1) == 0);
}

TEST_CASE("controlled rounding keeps all margins next to their sums") {
  Xoshiro random(1);
  for (const std::size_t rows : {1, 2, 3, 17, 60}) {
    for (const std::size_t columns : {1, 2, 5, 40, 300}) {
      for (const double scale : {1.0, 0.01, 1e-6}) {
        CAPTURE(rows);
        CAPTURE(columns);
        const Fractions table = random_fractions(rows, columns, scale, random);
        check_margins(table, round_controlled(table, random));
      }
    }
  }
}

TEST_CASE("controlled rounding allows several cells of one row in one column, and sparse tables") {
  Xoshiro random(2);
  Fractions table = random_fractions(30, 40, 1.0, random);
  for (std::uint32_t& column : table.column) column %= 7;
  table.n_columns = 7;
  check_margins(table, round_controlled(table, random));
  Fractions sparse;
  sparse.n_rows = 500;
  sparse.n_columns = 400;
  for (std::size_t row = 0; row < 500; ++row) {
    for (int i = 0; i < 3; ++i) sparse.add(row, random.below(400), static_cast<std::uint32_t>(random.bits()));
  }
  check_margins(sparse, round_controlled(sparse, random));
}

TEST_CASE("controlled rounding has the fractions as expectations") {
  Xoshiro random(4);
  const Fractions table = random_fractions(9, 70, 1.0, random);
  std::vector<double> sums(table.units.size());
  const int runs = 20000;
  for (int run = 0; run < runs; ++run) {
    const auto up = round_controlled(table, random);
    for (std::size_t cell = 0; cell < up.size(); ++cell) sums[cell] += up[cell];
  }
  for (std::size_t cell = 0; cell < sums.size(); ++cell) {
    const double fraction = table.units[cell] * 0x1p-32;
    const double spread = std::sqrt(fraction * (1 - fraction) / runs) + 1e-4;
    CHECK(std::abs(sums[cell] / runs - fraction) < 4.5 * spread);
  }
}

TEST_CASE("an empty table and one of integers stay as they are") {
  Xoshiro random(0);
  CHECK(round_controlled(Fractions{}, random).empty());
  Fractions whole;
  whole.n_rows = 2;
  whole.n_columns = 2;
  whole.add(0, 0, 0);
  whole.add(1, 1, 0);
  CHECK(round_controlled(whole, random) == std::vector<std::uint8_t>{0, 0});
}

TEST_CASE("a row gets its count by moves within a column") {
  const std::vector<std::uint32_t> columns{0, 1};
  TwoWayTable table;
  table.column_of = columns;
  table.n_columns = 2;
  table.row_counts = {3, 2};
  table.row_means = {2.5, 2.5};
  table.column_means = {2, 3};
  table.weights = {1.0, 1.5, 1.0, 1.5};
  table.weight_sums = {2.5, 2.5};
  table.counts = {1, 1, 1, 2};
  Xoshiro random(0);
  set_row_counts(table, random);
  CHECK(table.counts[0] + table.counts[1] == 3);
  CHECK(table.counts[0] + table.counts[2] == 2);
  CHECK(table.counts[1] + table.counts[3] == 3);
}

TEST_CASE("a move goes over a third row where two rows have no value in common") {
  const std::vector<std::uint32_t> columns{0, 1};
  TwoWayTable table;
  table.column_of = columns;
  table.n_columns = 2;
  table.row_counts = {3, 4, 2};
  table.row_means = {2.5, 4, 2.5};
  table.column_means = {4.5, 4.5};
  table.weights = {2.5, 0, 2, 2, 0, 2.5};
  table.weight_sums = {2.5, 4, 2.5};
  table.counts = {2, 0, 2, 2, 0, 3};
  Xoshiro random(0);
  set_row_counts(table, random);
  CHECK(table.counts[0] == 3);
  CHECK(table.counts[1] == 0);
  CHECK(table.counts[2] + table.counts[3] == 4);
  CHECK(table.counts[4] == 0);
  CHECK(table.counts[5] == 2);
  for (const std::size_t column : {0, 1}) {
    const int sum = table.counts[column] + table.counts[2 + column] + table.counts[4 + column];
    CHECK((sum == 4 || sum == 5));
  }
}

TEST_CASE("rows have their counts and zeros stay where no chain exists") {
  const std::vector<std::uint32_t> columns{0, 1};
  TwoWayTable table;
  table.column_of = columns;
  table.n_columns = 2;
  table.row_counts = {3, 2};
  table.row_means = {2, 3};
  table.column_means = {2, 3};
  table.weights = {1, 0, 0, 1};
  table.weight_sums = {1, 1};
  table.counts = {2, 0, 0, 3};
  Xoshiro random(0);
  set_row_counts(table, random);
  CHECK(table.counts == std::vector<std::int32_t>{3, 0, 0, 2});
}

TEST_CASE("a sampler draws by the table, deterministically") {
  const std::vector<double> pair{0.1, 0.2, 0.3, 0.4};
  const auto draw = [&pair](std::uint64_t seed) {
    RecordSampler sampler(100, 2, seed);
    sampler.draw({pair, {0, 1}, {2, 2}, {0, 0}, {0, 1}});
    const auto& first = std::get<std::vector<std::int8_t>>(sampler.column(0));
    const auto& second = std::get<std::vector<std::int8_t>>(sampler.column(1));
    std::vector<int> codes;
    for (std::size_t i = 0; i < 100; ++i) codes.push_back(2 * first[i] + second[i]);
    return codes;
  };
  const std::vector<int> codes = draw(1);
  std::vector<int> counts(4);
  for (const int code : codes) ++counts[static_cast<std::size_t>(code)];
  CHECK(counts == std::vector<int>{10, 20, 30, 40});
  CHECK(codes == draw(1));
  CHECK(codes != draw(2));
}

TEST_CASE("a column that is taken is no longer drawn") {
  RecordSampler sampler(2, 1, 0);
  const std::vector<double> table{1, 1};
  sampler.draw({table, {0}, {2}, {0}, {1}});
  CHECK(sampler.is_drawn(0, 2));
  auto column = std::get<std::vector<std::int8_t>>(sampler.take_column(0));
  std::ranges::sort(column);
  CHECK(column == std::vector<std::int8_t>{0, 1});
  CHECK(!sampler.is_drawn(0, 2));
  CHECK(std::get<std::vector<std::int8_t>>(sampler.column(0)).empty());
}

TEST_CASE("a sampler refuses a table that excludes what is drawn") {
  RecordSampler sampler(10, 2, 0);
  const std::vector<double> first{1, 1};
  const std::vector<double> second{1, 1, 0, 0};
  sampler.draw({first, {0}, {2}, {0}, {1}});
  CHECK_THROWS_AS(sampler.draw({second, {0, 1}, {2, 2}, {1, 0}, {0, 1}}), std::invalid_argument);
}
