#pragma once
#include "core/queries/projections.hpp"

namespace pypgm {

/// An axis of an answer: the attribute it comes from, and what stands for it in tables (the attribute, or a
/// number above all attributes for the rows of a block).
struct AnswerAxis {
  std::int32_t attribute;
  std::int32_t id;
  bool operator==(const AnswerAxis&) const = default;
  bool operator<(const AnswerAxis& other) const {
    return attribute != other.attribute ? attribute < other.attribute : id < other.id;
  }
};

/// A clique of the subtree, and the position in `stops` of the one it sends its message to.
struct Stop {
  int clique;
  int next;  ///< -1: the meeting place, which sends none
};

/// The part of a tree that joins some attributes, from the clique where their messages meet outwards.
struct JoiningSubtree {
  std::vector<Stop> stops;  ///< the meeting place first, each other one after the one it leads to
  std::vector<int> homes;   ///< for each axis the position in `stops` of the clique it is taken from
};

/// Finds the cliques between those that hold the attributes of `axes`, and among them the one to which all
/// messages together are cheapest: a message costs the cells of its clique times those of the axes it
/// carries. `sizes` gives the number of values by id, `top` the clique nearest to the root that holds an
/// attribute. Time: in proportion to the number of cliques in between, times the number of axes.
JoiningSubtree find_joining_subtree(const CalibratedTree& tree, const std::vector<std::size_t>& sizes,
                                    const std::vector<int>& top, const std::vector<AnswerAxis>& axes);

}  // namespace pypgm
