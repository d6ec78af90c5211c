#include <doctest/doctest.h>

#include <random>
#include <vector>

#include "core/fit/linear_map.hpp"
#include "random_problems.hpp"

using namespace pypgm;
using namespace pypgm::test;

TEST_CASE("centred answers are those of nI - 11' along every axis, and the transpose is its own") {
  std::mt19937_64 random(3);
  const std::vector<std::size_t> sizes{3, 2, 4};
  LinearMap map;
  map.cells = 30;
  map.answers = 24;
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
