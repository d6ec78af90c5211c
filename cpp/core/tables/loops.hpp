#pragma once
// Loops: the nested loops of out = sum a * b, ordered once for the kernels that run them.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/tables/layout.hpp"

namespace pypgm {

/// One loop of a contraction: its length, and its step in each table, 0 where a table lacks the attribute.
struct LoopAxis {
  std::size_t size = 1;
  std::size_t a = 0;
  std::size_t b = 0;
  std::size_t out = 0;
};

/// The loops of out[..] = sum of a[..] * b[..]. Neighbouring attributes that the same tables have are one
/// loop; the innermost four are those of the compiled kernel. The order of summation within a cell is fixed
/// here and does not depend on how the loops are cut for threads.
struct Loops {
  std::vector<LoopAxis> outer;
  LoopAxis batch;          ///< the innermost of the outer loops
  LoopAxis rows;           ///< in a and out, not in b: a value read from b serves several rows
  LoopAxis sums;           ///< not in out
  LoopAxis lanes;          ///< the innermost axis; its steps are 0 or 1
  bool fresh = true;       ///< no outer loop sums: every cell of out is written once
  bool swapped = false;    ///< whether a and b are exchanged
  std::size_t cells = 0;   ///< of out
  std::size_t work = 0;    ///< number of products
  std::size_t effort = 0;  ///< estimated time, in that of one product

  /// Calls body(axis) for the loops that have more than one turn, in no particular order.
  template <class Body>
  void for_axes(const Body& body) const {
    for (const LoopAxis& axis : outer) body(axis);
    for (const LoopAxis& axis : {batch, rows, sums, lanes}) {
      if (axis.size > 1) body(axis);
    }
  }
};

/// Chooses the loops for attributes of these sizes in C order; a bit mask says which of them each table has
/// (bit i: attribute i).
Loops make_loops(std::span<const std::size_t> sizes, std::uint64_t a, std::uint64_t b, std::uint64_t out);

}  // namespace pypgm
