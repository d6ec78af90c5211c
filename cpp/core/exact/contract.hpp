#pragma once
#include "core/tables/loops.hpp"

namespace pypgm {

/// out = sum of a * b over what out lacks. No overlap; any n_threads gives the same bits; no allocation.
void contract(const Loops& loops, const double* a, const double* b, double* out, int n_threads);

/// out = largest a + b over what out lacks.
void contract_maxima(const Loops& loops, const double* a, const double* b, double* out, int n_threads);

}  // namespace pypgm
