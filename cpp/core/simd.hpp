#pragma once
// The inner loops, compiled once for each instruction set, and the choice among them.
// May include base and tables.
#include "core/simd/code_kernels.hpp"      // joint values of several attributes
#include "core/simd/contiguous_loops.hpp"  // passes over contiguous cells
#include "core/simd/contract_kernels.hpp"  // inner loops of products of two tables
#include "core/simd/dot_kernels.hpp"       // inner products of rows
#include "core/simd/exp_log.hpp"           // exp and log of eight doubles
#include "core/simd/extended_kernels.hpp"  // products with a power of two in each cell
#include "core/simd/kernel_set.hpp"        // how a set of kernels is named and defined
#include "core/simd/kernels.hpp"           // basic loops over one table
#include "core/simd/lanes.hpp"             // eight doubles at a time
#include "core/simd/logistic_kernels.hpp"  // logistic regressions on integers
#include "core/simd/message_kernels.hpp"   // loops of belief propagation
#include "core/simd/path_kernels.hpp"      // loops of accelerated descent
#include "core/simd/record_kernels.hpp"    // rows of tables of excess counts
#include "core/simd/reduce.hpp"            // sums, maxima and log-sum-exp over a Layout
#include "core/simd/sign_kernels.hpp"      // counts of the bits of products of signs
#include "core/simd/spin_kernels.hpp"      // heat-bath sweeps of binary pairwise models
#include "core/simd/strided_loops.hpp"     // loops over the axes of a Layout
