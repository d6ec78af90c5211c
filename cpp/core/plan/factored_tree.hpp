#pragma once
#include <cstdint>
#include <span>
#include <vector>

#include "core/plan/junction_tree.hpp"
#include "core/tables/loops.hpp"

namespace pypgm {

/// A table of the factored tree: a given factor with its observed attributes fixed, or what a step makes.
struct Value {
  Scope attributes;  ///< in the order of its axes; observed and single-valued ones are left out
  std::size_t cells = 1;
  std::size_t offset = 0;  ///< in the buffer of all values
};

/// values[out] = sum of values[a] * values[b] over the attributes that no later step needs; and the backward
/// step: the derivatives by a and b from that by out.
struct FactoredStep {
  int a;
  int b;
  int out;
  Loops forward;
  Loops to_a;             ///< derivative of out times b
  Loops to_b;             ///< derivative of out times a
  std::size_t spare = 0;  ///< in the buffer of derivatives that would overwrite what is still needed
};

/// Message passing with factored cliques: the tables of a junction tree are never stored. In each clique its
/// factors and the messages of its children are multiplied pair by pair, the cheapest pair first, and an
/// attribute is summed out as soon as nothing else holds it; what is left is the message to the parent. The
/// marginal of a factor is the factor times the derivative of Z by it, which the steps taken backwards give.
/// Observed attributes are fixed beforehand: every table is smaller by them. Immutable after it is built.
struct FactoredTree {
  std::vector<std::uint8_t> observed;  ///< by attribute
  std::vector<Value> values;           ///< factors, attributes no factor holds, then what the steps make
  std::size_t n_factors = 0;           ///< given ones
  std::size_t n_leaves = 0;            ///< values no step makes
  std::vector<int> leaf_of;            ///< by attribute: the smallest leaf that holds it
  std::vector<std::uint8_t>
      leads_to_leaf;                     ///< by value: whether it is computed from the leaf of an attribute
  std::vector<FactoredStep> steps;       ///< a step comes after those whose values it takes
  std::vector<std::vector<int>> levels;  ///< steps that depend on earlier levels alone
  int root = -1;                         ///< the value that is Z; -1 if there is none
  std::size_t cells = 0;                 ///< of all values
  std::size_t spare = 0;                 ///< cells of the buffer of derivatives
  std::size_t scaled = 0;                ///< cells that scaling takes where tables are extended

  bool is_leaf(int value) const { return static_cast<std::size_t>(value) < n_leaves; }
};

/// Plans the contractions of a tree's factors, with some attributes observed (one flag each; none if empty).
/// Requires that no clique of the tree has more than 64 attributes with a choice.
FactoredTree make_factored_tree(const JunctionTree& tree, std::span<const std::uint8_t> observed);

}  // namespace pypgm
