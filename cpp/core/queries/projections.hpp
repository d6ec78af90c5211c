#pragma once
#include "core/plan/junction_tree.hpp"
#include "core/queries/contraction.hpp"

namespace pypgm {

/// A matrix applied to one attribute, shape (rows, values).
struct QueryBlock {
  std::int32_t attribute;
  std::size_t rows;
};

/// One answer: an axis for each attribute in the order given, its values or, where blocks[i] >= 0, the rows
/// of that block.
struct Projection {
  Axes attributes;
  std::vector<int> blocks;
};

/// Where the table of a leaf comes from.
enum class Source { clique, inverse_separator, known, block };

/// A contraction of the tables of the tree, and for each leaf what it is.
struct ProjectionPlan {
  Contraction contraction;
  std::vector<std::pair<Source, int>> sources;
};

/// Plans many answers from one tree whose clique tables are marginals, and from other marginals that are
/// known, by their scopes. Each comes from the smallest clique or known marginal that holds it, or else from
/// messages of conditional probabilities, child to parent, up to where its attributes meet: a message depends
/// on its clique and the axes asked for below it alone and is computed once for all answers. A block is
/// applied where its attribute leaves the tree. Cliques between no two attributes of an answer are not
/// touched. An inverse separator holds 1 / marginal, 0 where that is not meant to count.
ProjectionPlan plan_projections(const JunctionTree& tree, const std::vector<Scope>& known,
                                const std::vector<QueryBlock>& blocks,
                                const std::vector<Projection>& projections);

}  // namespace pypgm
