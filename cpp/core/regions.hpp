#pragma once
// Region graphs, convex belief propagation on them, and estimates over the local polytope.
// May include base, tables, simd, plan, exact, queries and fit.
#include "core/regions/convex_gbp.hpp"           // convex generalised belief propagation
#include "core/regions/local_answers.hpp"        // a table from marginals over its parts
#include "core/regions/local_polytope.hpp"       // structural zeros, consistent values
#include "core/regions/region_acceleration.hpp"  // accelerated descent over the local polytope
#include "core/regions/region_bound.hpp"         // a lower bound of a loss over the local polytope
#include "core/regions/region_graph.hpp"         // regions, edges, messages, stages
