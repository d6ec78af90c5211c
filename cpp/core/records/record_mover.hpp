#pragma once
// Records of a block moved one after the other, given the excesses that they should remove.
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <vector>

#include "core/base/watch.hpp"
#include "core/records/excess_tables.hpp"
#include "core/records/joint_moves.hpp"
#include "core/records/record_block.hpp"
#include "core/simd/record_kernels.hpp"

namespace pypgm {

/// Moves records, with scratch buffers of its own. Borrows tables and moves.
class RecordMover {
 public:
  RecordMover(std::span<const std::size_t> sizes, const ExcessTables& tables, const JointMoves& joint);

  /// Where a sweep begins, and how far apart the records are that follow each other.
  struct Order {
    std::uint32_t first;
    std::uint32_t stride;
  };

  /// Visits each record once, in an order given by two random numbers, unless the watch is over or `done`,
  /// asked now and then, says so. Keeps `excess` up to date.
  void sweep(RecordBlock& block, float* excess, Order order, Watch& watch, const std::function<bool()>& done);

  std::vector<float> own;      ///< excesses of a block that is refined beside others
  std::int64_t misplaced = 0;  ///< change of the number of records in structural zeros

 private:
  /// Values of an attribute that are considered for one record.
  struct Considered {
    std::size_t first;
    std::size_t n;
  };
  Considered considered(std::size_t attribute, std::uint32_t visit) const;
  void offer(std::size_t attribute, std::int32_t* record, std::uint32_t visit);
  void offer_joint(const JointMove& joint, std::int32_t* record, std::uint32_t visit);
  void set_values(const JointMove& joint, const std::int32_t* record, Considered leader);
  void move(std::size_t attribute, std::int32_t* record, std::size_t value);

  std::span<const std::size_t> sizes_;
  const ExcessTables& tables_;
  const JointMoves& joint_;
  const RecordKernels& kernels_ = record_kernels();
  std::vector<std::size_t> attributes_;  ///< that have other values and a target
  std::vector<const float*> rows_;
  std::vector<std::vector<std::uint32_t>>
      values_;                        ///< of the members of a joint move, by the leader's values
  std::vector<std::uint32_t> shift_;  ///< of a cell, by the same
  std::vector<float> sums_;           ///< of excesses, by the same
  struct Cell {
    const float* cells;
    std::uint32_t now;
  };
  std::vector<Cell> cells_;  ///< of the record in the targets that a joint move touches
  float* excess_ = nullptr;
};

}  // namespace pypgm
