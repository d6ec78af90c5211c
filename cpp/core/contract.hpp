#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

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

/// out = sum of a * b over what out lacks. No overlap; any n_threads gives the same bits; no allocation.
void contract(const Loops& loops, const double* a, const double* b, double* out, int n_threads);

/// out = largest a + b over what out lacks.
void contract_maxima(const Loops& loops, const double* a, const double* b, double* out, int n_threads);

/// The innermost loops, compiled once for each instruction set: for each i of the batch out[i, r, l] += sum
/// over s of a[i, r, s, l] * b[i, s, l], or = where out is fresh and holds nothing yet.
using ContractKernel = void (*)(const Loops& loops, const double* a, const double* b, double* out);

struct ContractKernels {
  ContractKernel sums;    ///< of products
  ContractKernel maxima;  ///< of sums: the same with the larger of two for +, and + for *
};

}  // namespace pypgm
