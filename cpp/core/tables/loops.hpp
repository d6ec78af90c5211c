#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/tables/layout.hpp"

namespace pypgm {

/// One loop of a contraction: entries, and steps in the tables; 0 where a table lacks the attribute.
struct LoopAxis {
  std::size_t size = 1;
  std::size_t a = 0;
  std::size_t b = 0;
  std::size_t out = 0;
};

/// The loops of out[..] = sum of a[..] * b[..], chosen once: neighbouring attributes that stand in the same
/// tables are one loop; the innermost four are the ones a compiled kernel runs. The order of the sums in a
/// cell is part of the loops, not of how they are cut for threads.
struct Loops {
  std::vector<LoopAxis> outer;
  LoopAxis batch;          ///< the innermost of the outer loops
  LoopAxis rows;           ///< in a and out, not in b: what is read of b serves several rows
  LoopAxis sums;           ///< not in out
  LoopAxis lanes;          ///< the innermost axis; its steps are 0 or 1
  bool fresh = true;       ///< no outer loop sums: every cell of out is met once
  bool swapped = false;    ///< whether a and b change places
  std::size_t cells = 0;   ///< of out
  std::size_t work = 0;    ///< products made
  std::size_t effort = 0;  ///< the time all takes, in that of a product
};

/// Sizes of the attributes of three tables in C order, and which of them each table has (bit i: attribute i).
Loops make_loops(std::span<const std::size_t> sizes, std::uint64_t a, std::uint64_t b, std::uint64_t out);

/// The rows of a table in a contraction: cells that differ only in what the answer lacks.
struct Rows {
  Layout table;  ///< one cell for each row inside the table
  Layout out;    ///< the same inside the answer
  Layout both;   ///< the attributes the other table has, too, inside the table

  bool single() const { return table.small == table.large; }  ///< each cell is a row
  std::size_t room() const { return table.large + table.small + both.small; }
};

/// Which rows the table with the attributes `table` has (bits over `sizes`), how they lie in the answer, and
/// what the table shares with the other one.
Rows make_rows(std::span<const std::size_t> sizes, std::uint64_t table, std::uint64_t other,
               std::uint64_t out);

}  // namespace pypgm
