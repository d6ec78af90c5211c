#pragma once
// Values that records change together, because one of them nearly determines the others.
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/records/excess_tables.hpp"

namespace pypgm {

/// A value of each record's attribute, and where it counts.
struct CodeStep {
  std::size_t attribute;
  std::size_t step;
};

/// An attribute that takes the value which is the most frequent one given others.
struct Follower {
  std::size_t attribute;
  std::vector<CodeStep> given;      ///< where their values stand in `value`
  std::vector<std::int32_t> value;  ///< the most frequent one
};

/// A target that a joint move changes the counts of: the cell of a record in its first copy.
struct TouchedTarget {
  std::size_t offset;
  std::vector<CodeStep> fixed;   ///< attributes that keep their values
  std::vector<CodeStep> moving;  ///< members of the move
};

/// A new value of the leader, with those of the followers that go with it. Members are the leader, then the
/// followers, each given a member before it.
struct JointMove {
  std::size_t leader;
  std::vector<const Follower*> followers;
  std::vector<TouchedTarget> touched;
};

/// The joint moves of records with these targets. An attribute follows where the other attributes of a target
/// leave it a fifth as often at another value than its most frequent one as it is without them.
class JointMoves {
 public:
  JointMoves(std::span<const std::size_t> sizes, std::span<const RecordTarget> targets);

  std::span<const JointMove> all() const { return moves_; }

 private:
  std::vector<Follower> followers_;
  std::vector<JointMove> moves_;
};

}  // namespace pypgm
