#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/numbers.hpp"

namespace pypgm {

/// A graph as rows of bits, of which only words that ever held an edge are kept: memory linear in the edges,
/// intersections a word at a time.
class Graph {
  struct Word {
    std::int32_t index;
    std::uint64_t bits;
  };
  using Row = std::vector<Word>;  ///< ascending

  static std::int32_t index_of(std::int32_t v) { return v >> 6; }
  static std::uint64_t bit(std::int32_t v) { return std::uint64_t{1} << (v & 63); }

  /// Where a row has the word of v, or would have it. No word lies beyond its index: in a full row it is
  /// found at once.
  static std::size_t find(const Row& row, std::int32_t v) {
    std::size_t i = std::min(row.size(), at(index_of(v)));
    while (i > 0 && row[i - 1].index >= index_of(v)) --i;
    return i;
  }
  static bool holds(const Row& row, std::size_t i, std::int32_t v) {
    return i < row.size() && row[i].index == index_of(v);
  }
  static void insert(Row& row, std::int32_t v) {
    const std::size_t i = find(row, v);
    if (!holds(row, i, v)) row.insert(row.begin() + static_cast<std::ptrdiff_t>(i), {index_of(v), 0});
    row[i].bits |= bit(v);
  }

 public:
  explicit Graph(std::size_t n) : rows_(n) {}

  bool adjacent(std::int32_t a, std::int32_t b) const {
    const Row& row = rows_[at(a)];
    const std::size_t i = find(row, b);
    return holds(row, i, b) && (row[i].bits & bit(b)) != 0;
  }
  void connect(std::int32_t a, std::int32_t b) {
    insert(rows_[at(a)], b);
    insert(rows_[at(b)], a);
  }
  /// Removes v, which has these neighbours.
  void remove(std::int32_t v, std::span<const std::int32_t> near) {
    for (const std::int32_t u : near) rows_[at(u)][find(rows_[at(u)], v)].bits &= ~bit(v);
    rows_[at(v)].clear();
  }
  template <class Body>
  void for_neighbours(std::int32_t v, const Body& body) const {
    for (const Word& word : rows_[at(v)]) for_bits(word.index, word.bits, body);
  }
  template <class Body>
  void for_common(std::int32_t a, std::int32_t b, const Body& body) const {
    for_words(
        a, b, [](std::uint64_t x, std::uint64_t y) { return x & y; }, body);
  }
  /// Neighbours of a that are not those of b, to which body(neighbour) may connect them.
  template <class Body>
  void for_missing(std::int32_t a, std::int32_t b, const Body& body) const {
    for_words(
        a, b, [](std::uint64_t x, std::uint64_t y) { return x & ~y; }, body);
  }
  /// Words a row has.
  double words(std::int32_t v) const { return static_cast<double>(rows_[at(v)].size()); }

 private:
  template <class Body>
  static void for_bits(std::int32_t index, std::uint64_t bits, const Body& body) {
    for (; bits != 0; bits &= bits - 1) body(64 * index + std::countr_zero(bits));
  }
  template <class Combine, class Body>
  void for_words(std::int32_t a, std::int32_t b, const Combine& combine, const Body& body) const {
    const Row& other = rows_[at(b)];
    std::size_t i = 0;
    for (const Word& word : rows_[at(a)]) {
      while (i < other.size() && other[i].index < word.index) ++i;
      const bool both = i < other.size() && other[i].index == word.index;
      for_bits(word.index, combine(word.bits, both ? other[i].bits : 0), body);
    }
  }

  std::vector<Row> rows_;
};

/// The smallest of n values that change one at a time; ties go to the smaller index. O(log n) a change.
class MinTree {
 public:
  explicit MinTree(std::size_t n)
      : half_(std::bit_ceil(std::max<std::size_t>(1, n))), values_(2 * half_, kOut) {}

  void set(std::int32_t index, double value) {
    std::size_t i = half_ + static_cast<std::size_t>(index);
    values_[i] = value;
    for (i /= 2; i > 0; i /= 2) {
      const double smaller = std::min(values_[2 * i], values_[2 * i + 1]);
      if (values_[i] == smaller) return;
      values_[i] = smaller;
    }
  }
  void take_out(std::int32_t index) { set(index, kOut); }
  double least() const { return values_[1]; }
  std::int32_t argmin() const {
    std::size_t i = 1;
    while (i < half_) i = 2 * i + (values_[2 * i] == values_[1] ? 0 : 1);
    return static_cast<std::int32_t>(i - half_);
  }

  static constexpr double kOut = kInfinity;  ///< of an index taken out

 private:
  std::size_t half_;
  std::vector<double> values_;
};

}  // namespace pypgm
