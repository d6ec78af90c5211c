#pragma once
// Pairs of tables to be multiplied and summed, by their part in message passing.
#include <cstddef>
#include <cstdint>
#include <vector>

namespace shapes {

using Axes = std::vector<std::int32_t>;

struct Shape {
  const char* name;
  std::vector<std::size_t> sizes;
  Axes left;  ///< attributes of a table in C order
  Axes right;
  Axes out;
};

/// psi(a, b, c) with a message on some axes, onto others; a matrix product; runs that alternate, or are
/// short.
inline const std::vector<Shape>& all() {
  static const std::vector<Shape> shapes{
      {"table_abc_message_bc_onto_a", {100, 100, 100}, {0, 1, 2}, {1, 2}, {0}},
      {"table_abc_message_ab_onto_bc", {100, 100, 100}, {0, 1, 2}, {0, 1}, {1, 2}},
      {"table_abc_message_b_onto_ac", {100, 100, 100}, {0, 1, 2}, {1}, {0, 2}},
      {"table_abc_message_ac_onto_b", {100, 100, 100}, {0, 1, 2}, {0, 2}, {1}},
      {"matrices_ab_bc_onto_ac", {128, 128, 128}, {0, 1}, {1, 2}, {0, 2}},
      {"alternating_abcdef_bdf_onto_ace", {10, 10, 10, 10, 10, 10}, {0, 1, 2, 3, 4, 5}, {1, 3, 5}, {0, 2, 4}},
      {"short_rows_abc_ab_onto_ac", {1000, 200, 5}, {0, 1, 2}, {0, 1}, {0, 2}},
  };
  return shapes;
}

}  // namespace shapes
