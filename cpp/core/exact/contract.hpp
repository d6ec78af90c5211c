#pragma once
#include "core/base/watch.hpp"
#include "core/tables/loops.hpp"

namespace pypgm {

/// out = sum of a * b over what out lacks. No overlap; any n_threads gives the same bits. Once the watch is
/// abandoned, some 0.05 s later, the answer means nothing.
void contract(const Loops& loops, const double* a, const double* b, double* out, int n_threads,
              const Watch* watch = nullptr);

/// out = largest a + b over what out lacks.
void contract_maxima(const Loops& loops, const double* a, const double* b, double* out, int n_threads,
                     const Watch* watch = nullptr);

}  // namespace pypgm
