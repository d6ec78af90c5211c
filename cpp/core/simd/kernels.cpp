// Compiled once for each instruction set, with PYPGM_ISA its name. Everything but the table at the end has
// internal linkage, and no standard template is used: otherwise the linker could keep a symbol compiled for a
// newer machine for the rest of the library.
#include "core/simd/kernels.hpp"

#include "core/simd/contiguous_loops.hpp"
#include "core/simd/kernel_set.hpp"
#include "core/simd/strided_loops.hpp"

namespace pypgm {

#define PYPGM_TEXT_(a) #a
#define PYPGM_TEXT(a) PYPGM_TEXT_(a)

PYPGM_KERNEL_SET(Kernels, kernels) = {
    PYPGM_TEXT(PYPGM_ISA),
    exp_shifted,
    log_floored,
    add_logs,
    max,
    extent,
    magnitudes,
    sum,
    dot,
    scale,
    add_scaled,
    divide,
    residuals,
    assign,
    combine<Add>,
    combine<Multiply>,
    reduce<SumRow>,
    reduce<MaxRow>,
    exp_rows,
};

}  // namespace pypgm
