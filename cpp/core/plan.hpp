#pragma once
// What is computed once for a set of cliques: elimination orders, junction trees, factored cliques.
// May include base, tables and simd.
#include "core/plan/bounded_tree.hpp"       // the best pairs that fit a bounded junction tree
#include "core/plan/branches.hpp"           // subtrees as units of work
#include "core/plan/elimination.hpp"        // elimination orders
#include "core/plan/elimination_graph.hpp"  // the graph that elimination fills in
#include "core/plan/elimination_state.hpp"  // costs and updates while an order is built
#include "core/plan/factored_tree.hpp"      // cliques kept as products of their factors
#include "core/plan/junction_tree.hpp"      // junction trees and their offsets
#include "core/plan/last_observed.hpp"      // the factored tree of the last evidence
#include "core/plan/table_meeting.hpp"      // tables that meet in a clique, and in what order
#include "core/plan/traversal.hpp"          // levels of a tree and passes over them
