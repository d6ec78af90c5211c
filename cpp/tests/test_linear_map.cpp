#include <doctest/doctest.h>

#include <functional>
#include <numeric>
#include <random>
#include <utility>
#include <vector>

#include "core/fit/linear_map.hpp"
#include "random_problems.hpp"

using namespace pypgm;
using namespace pypgm::test;

TEST_CASE("centred answers are those of nI - 11' along every axis, and the transpose is its own") {
  std::mt19937_64 random(3);
  std::vector<std::size_t> sizes;
  SUBCASE("of three axes") { sizes = {3, 2, 4}; }
  SUBCASE("of many columns") { sizes = {3, 150}; }
  LinearMap map;
  map.cells = 30;
  map.answers = std::accumulate(sizes.begin(), sizes.end(), std::size_t{1}, std::multiplies<>());
  map.axes = sizes;
  for (std::size_t i = 0; i < map.cells; ++i) {
    map.rows.push_back(static_cast<std::int32_t>(below(random, map.answers)));
  }
  CHECK_FALSE(map.is_partition());
  std::vector<double> table(map.cells), y(map.answers), groups(map.answers), answers(map.answers);
  for (double& v : table) v = uniform(random);
  for (double& v : y) v = uniform(random);
  for (std::size_t i = 0; i < map.cells; ++i) groups[static_cast<std::size_t>(map.rows[i])] += table[i];
  map.apply(table, answers);
  for (std::size_t a = 0; a < map.answers; ++a) {
    double expected = 0;
    for (std::size_t b = 0; b < map.answers; ++b) {
      double entry = 1;
      std::size_t left_a = a, left_b = b;
      for (std::size_t k = sizes.size(); k-- > 0;) {
        const auto n = static_cast<double>(sizes[k]);
        entry *= left_a % sizes[k] == left_b % sizes[k] ? n - 1 : -1;
        left_a /= sizes[k];
        left_b /= sizes[k];
      }
      expected += entry * groups[b];
    }
    CHECK(answers[a] == doctest::Approx(expected));
  }
  double forth = 0, back = 0;
  for (std::size_t a = 0; a < map.answers; ++a) forth += y[a] * answers[a];
  std::vector<double> cells(map.cells);
  map.add_transpose(y, cells);
  for (std::size_t i = 0; i < map.cells; ++i) back += cells[i] * table[i];
  CHECK(forth == doctest::Approx(back));
}

TEST_CASE("where each cell is its own answer they are those of the same map without knowing it") {
  std::mt19937_64 random(4);
  for (const bool cumulative : {false, true}) {
    LinearMap plain;
    plain.cells = plain.answers = 45;
    plain.axes = {5, 9};
    plain.cumulative = cumulative;
    for (std::int32_t i = 0; i < 45; ++i) plain.rows.push_back(i);
    LinearMap own = plain;
    own.find_rows(9);
    CHECK(own.is_cellwise);
    std::vector<double> table(45), y(45), answers(45), others(45);
    for (double& v : table) v = uniform(random);
    for (double& v : y) v = uniform(random);
    std::vector<double> cells(table), found(table), again(y);
    plain.apply(table, answers);
    own.apply(table, others);
    CHECK(others == answers);
    plain.add_transpose(y, cells);
    own.add_transpose(again, found);
    for (std::size_t i = 0; i < 45; ++i) CHECK(found[i] == doctest::Approx(cells[i]));
    std::swap(own.rows[1], own.rows[2]);
    own.find_rows(9);
    CHECK_FALSE(own.is_cellwise);
  }
}

TEST_CASE("rows of a table that are asked alike are summed first, and the answers are the same") {
  std::mt19937_64 random(5);
  const std::size_t width = 9;
  for (const bool has_signs : {false, true}) {
    LinearMap plain;
    plain.cells = 7 * width;
    plain.answers = 12;
    for (std::size_t a = 0; a < 7; ++a) {
      const double sign = has_signs && a % 2 == 1 ? -1.0 : 1.0;
      for (std::size_t b = 0; b < width; ++b) {
        plain.rows.push_back(static_cast<std::int32_t>(4 * (a % 3) + b % 4));
        if (!has_signs) continue;
        plain.starts.push_back(static_cast<std::int64_t>(plain.coefficients.size()));
        plain.coefficients.push_back(b % 5 == 2 ? -sign : sign);
      }
    }
    if (has_signs) plain.starts.push_back(static_cast<std::int64_t>(plain.cells));
    LinearMap alike = plain;
    alike.find_rows(width);
    CHECK(alike.first.size() == 3);
    std::vector<double> table(plain.cells), y(plain.answers);
    for (double& v : table) v = uniform(random);
    for (double& v : y) v = uniform(random);
    std::vector<double> answers(plain.answers), others(plain.answers), cells(table), found(table), again(y);
    plain.apply(table, answers);
    alike.apply(table, others);
    plain.add_transpose(y, cells);
    alike.add_transpose(again, found);
    for (std::size_t i = 0; i < answers.size(); ++i) CHECK(others[i] == doctest::Approx(answers[i]));
    for (std::size_t i = 0; i < cells.size(); ++i) CHECK(found[i] == doctest::Approx(cells[i]));
    // A table that does not have such rows, or as many kinds of them as rows, is read cell by cell.
    if (!plain.starts.empty()) {
      LinearMap uneven = plain;
      uneven.starts[1] = 2;  // two answers count the first cell, none the second
      uneven.find_rows(width);
      CHECK(uneven.width == 0);
    }
    plain.rows[3] += 1;
    plain.find_rows(width);
    CHECK(plain.width == 0);
    LinearMap other = alike;
    other.width = 0;
    for (std::size_t i = 0; i < other.cells; ++i) other.rows[i] = static_cast<std::int32_t>(i / width);
    other.find_rows(width);
    CHECK(other.width == 0);
  }
}
