#pragma once
// The tables that meet in a clique, and which two of them to multiply next.
#include <cstddef>
#include <cstdint>
#include <span>
#include <unordered_map>
#include <utility>
#include <vector>

#include "core/plan/factored_tree.hpp"
#include "core/plan/junction_tree.hpp"

namespace pypgm {

/// The order of a table's axes: attributes of many values last, so that the innermost loops are long ones.
/// Those of few values stay neighbours, and what neighbours share is one loop.
void put_in_order(const JunctionTree& tree, Scope& scope);

/// The tables that meet in one clique, as bits over the attributes that have a choice there.
class TableMeeting {
 public:
  struct Table {
    int value;
    std::uint64_t bits;
  };

  /// Requires that at most 64 attributes of the node have a choice.
  TableMeeting(const JunctionTree& tree, std::span<const std::uint8_t> observed, const TreeNode& node);

  void join(int value, const Scope& scope) { present_.push_back({value, bits_of(scope)}); }

  /// Whether the first table and the last one to join have a single cell; if only the last has, it becomes
  /// the first.
  bool single_cells();

  /// Of many tables, makes one of all over the same attributes: make(first, second, out) is their product.
  template <class Make>
  void multiply_equals(const Make& make) {
    if (present_.size() <= kMany) return;
    std::unordered_map<std::uint64_t, std::size_t> place;
    std::vector<Table> distinct;
    for (const Table& table : present_) {
      const auto [found, is_new] = place.emplace(table.bits, distinct.size());
      if (is_new) {
        distinct.push_back(table);
      } else {
        Table& before = distinct[found->second];
        before.value = make(before, table, table.bits);
      }
    }
    present_ = std::move(distinct);
  }

  std::size_t present() const { return present_.size(); }
  int only() const { return present_.front().value; }
  bool finished() const { return present_.size() == 1 && (present_[0].bits & ~kept_) == 0; }

  struct Pair {
    std::size_t first = 0;
    std::size_t second = 0;
    std::uint64_t out = 0;
  };

  /// The two tables whose product, summed as far as it may be, adds the fewest cells to what they have: of
  /// all pairs, or where they are many, of those with the smallest table.
  Pair cheapest() const;
  Pair alone() const { return {0, 0, present_[0].bits & kept_}; }

  /// The step that replaces a pair, or a single table and nothing, by what they make.
  FactoredStep take(const Pair& pair, int out);

  /// The step from two tables, or one (the second value is negative), to a value over some attributes.
  FactoredStep step_of(const Table& a, const Table& b, std::uint64_t bits, int out) const;

  Scope scope_of(std::uint64_t bits) const;

 private:
  static constexpr std::size_t kMany = 32;  // tables of which not all pairs are compared

  std::uint64_t bits_of(const Scope& scope) const;
  double cells(std::uint64_t bits) const;

  Scope attributes_;
  std::vector<std::size_t> sizes_;
  std::uint64_t kept_ = 0;
  std::vector<Table> present_;
};

}  // namespace pypgm
