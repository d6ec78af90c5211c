#pragma once
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/tables/loops.hpp"

namespace pypgm {

using Axes = std::vector<std::int32_t>;  ///< attributes of a table, outermost axis first, in any order

/// A table that is given.
struct Leaf {
  Axes axes;
  bool logarithms;  ///< its numbers are natural logs of weights, else the weights themselves, of either sign
};

/// table[axes] = left * right, summed over the attributes that are not in axes, repeated along those that are
/// in neither. Tables are numbered: leaves first, then steps.
struct ContractionStep {
  int left;
  int right;  ///< -1: left alone
  Axes axes;
};

/// What one run takes, known before any table is made. Doubles: sizes may exceed every integer.
struct ContractionCost {
  double operations = 0;     ///< multiplications
  double bytes = 0;          ///< the most that live at one time, given and returned tables not counted
  double largest_cells = 0;  ///< of the tables made
  Axes largest;
};

/// Sums of products of tables, planned pair by pair. All tables are computed with their axes in one order, so
/// that each lies in the other as a Layout; given and returned ones are rearranged where theirs differs.
/// Immutable after it is built.
struct Contraction {
  std::vector<std::size_t> sizes;  ///< values of each attribute
  std::vector<Leaf> leaves;
  std::vector<ContractionStep> steps;
  std::vector<int> outputs;     ///< tables to return; a step is returned once at most
  std::vector<int> answers;     ///< by step: its position among the outputs, or -1
  std::vector<Axes> ordered;    ///< axes of each table in that order, attributes of one value left out
  std::vector<Loops> products;  ///< of each step
  std::vector<std::vector<int>> levels;    ///< steps by their greatest distance from a leaf
  std::vector<std::vector<int>> releases;  ///< steps whose tables no later level reads
  ContractionCost cost;

  std::size_t step_of(int table) const { return static_cast<std::size_t>(table) - leaves.size(); }
  /// Whether a table is computed with its axes as they are given, or asked for.
  bool in_order(int table) const;
  const Axes& axes_of(int table) const;
};

/// Compiles steps, each reading leaves and earlier steps only. `order` has all attributes once: those that
/// are to be outermost in every table first. Requires attributes inside [0, sizes.size()), axes of a step
/// without repetition, outputs that are steps, each once.
Contraction make_contraction(std::vector<std::size_t> sizes, std::vector<Leaf> leaves,
                             std::vector<ContractionStep> steps, std::vector<int> outputs,
                             std::span<const std::int32_t> order);

}  // namespace pypgm
