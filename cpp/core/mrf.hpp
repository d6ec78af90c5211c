#pragma once
// Markov random fields: learned from records, and records drawn from them. May include base, tables, simd and
// noise.
#include "core/mrf/logistic_sums.hpp"       // exact sums for Frank-Wolfe steps of logistic regressions
#include "core/mrf/potential_sampling.hpp"  // Gibbs sampling of any potentials
#include "core/mrf/seeds.hpp"               // independent generators from one seed
#include "core/mrf/sparsitron.hpp"          // multiplicative weights for sparse logistic models
#include "core/mrf/spin_sampling.hpp"       // Gibbs and perfect sampling of binary pairwise models
