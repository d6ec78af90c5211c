#pragma once
// Marginals of many cliques and answers to Kronecker queries from one junction tree.
// May include base, tables, simd, plan and exact.
#include "core/queries/carried_pairs.hpp"        // marginals of one attribute with each of others
#include "core/queries/contraction.hpp"          // plans of Kronecker queries
#include "core/queries/contraction_planner.hpp"  // the order of sums in such a plan
#include "core/queries/contraction_run.hpp"      // the run of such a plan
#include "core/queries/pair_marginals.hpp"       // marginals of pairs that no clique holds, many at once
#include "core/queries/projection_tables.hpp"    // tables that projections share
#include "core/queries/projections.hpp"          // marginals of any cliques from one calibrated tree
