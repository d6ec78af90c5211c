#pragma once
#include "core/tables/loops.hpp"

namespace pypgm {

/// The innermost loops, compiled once for each instruction set: for each i of the batch out[i, r, l] += sum
/// over s of a[i, r, s, l] * b[i, s, l], or = where out is fresh and holds nothing yet.
using ContractKernel = void (*)(const Loops& loops, const double* a, const double* b, double* out);

struct ContractKernels {
  ContractKernel sums;    ///< of products
  ContractKernel maxima;  ///< of sums: the same with the larger of two for +, and + for *
};

/// The set of loops for this machine, chosen at the first call.
const ContractKernels& contract_kernels();

}  // namespace pypgm
