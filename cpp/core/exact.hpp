#pragma once
// Exact inference: upward and downward passes over a junction tree, sums and maxima, tangents.
// May include base, tables, simd and plan.
#include "core/exact/block_sums.hpp"          // totals and sums of one block of a clique
#include "core/exact/contract.hpp"            // a contraction of two tables
#include "core/exact/draw.hpp"                // draws of joint assignments
#include "core/exact/extended_contract.hpp"   // contractions with a power of two in each cell
#include "core/exact/factored_inference.hpp"  // passes over factored cliques
#include "core/exact/inference.hpp"           // marginals and log Z, whatever the plan
#include "core/exact/map.hpp"                 // the most probable assignment
#include "core/exact/observation.hpp"         // evidence, split into values and likelihoods
#include "core/exact/propagation.hpp"         // passes over dense cliques
#include "core/exact/tangent.hpp"             // marginals and their derivative in a direction
#include "core/exact/weight_range.hpp"        // bounds of weights and of what underflow took; how a run ended
#include "core/exact/weights.hpp"             // scaled weights, or a power of two in each cell
