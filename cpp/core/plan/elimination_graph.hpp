#pragma once
#include <algorithm>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

#include "core/base/numbers.hpp"

namespace pypgm {

/// A graph as rows of bits: n * n / 8 bytes, intersections a word at a time.
class BitGraph {
 public:
  explicit BitGraph(std::size_t n) : words_((n + 63) / 64), bits_(n * words_) {}

  bool adjacent(std::int32_t a, std::int32_t b) const { return (row(a)[word(b)] & bit(b)) != 0; }
  void connect(std::int32_t a, std::int32_t b) {
    row(a)[word(b)] |= bit(b);
    row(b)[word(a)] |= bit(a);
  }
  /// Takes v from the rows of its neighbours; its own row stays.
  void remove(std::int32_t v, std::span<const std::int32_t> near) {
    for (const std::int32_t u : near) row(u)[word(v)] &= ~bit(v);
  }
  template <class Body>
  void for_neighbours(std::int32_t v, const Body& body) const {
    for_common(v, v, body);
  }
  template <class Body>
  void for_common(std::int32_t a, std::int32_t b, const Body& body) const {
    const std::uint64_t* x = row(a);
    const std::uint64_t* y = row(b);
    for (std::size_t w = 0; w < words_; ++w) {
      for (std::uint64_t both = x[w] & y[w]; both != 0; both &= both - 1) {
        body(static_cast<std::int32_t>(64 * w) + std::countr_zero(both));
      }
    }
  }
  /// Words an intersection reads.
  double reads(std::int32_t /*a*/, std::int32_t /*b*/) const { return static_cast<double>(words_); }

 private:
  static std::size_t word(std::int32_t v) { return static_cast<std::size_t>(v) / 64; }
  static std::uint64_t bit(std::int32_t v) { return std::uint64_t{1} << (static_cast<std::size_t>(v) % 64); }
  std::uint64_t* row(std::int32_t v) { return bits_.data() + static_cast<std::size_t>(v) * words_; }
  const std::uint64_t* row(std::int32_t v) const {
    return bits_.data() + static_cast<std::size_t>(v) * words_;
  }

  std::size_t words_;
  std::vector<std::uint64_t> bits_;
};

/// The same as sorted lists of neighbours: memory linear in the edges.
class ListGraph {
 public:
  explicit ListGraph(std::size_t n) : lists_(n) {}

  bool adjacent(std::int32_t a, std::int32_t b) const {
    return std::binary_search(list(a).begin(), list(a).end(), b);
  }
  void connect(std::int32_t a, std::int32_t b) {
    insert(list(a), b);
    insert(list(b), a);
  }
  void remove(std::int32_t v, std::span<const std::int32_t> near) {
    for (const std::int32_t u : near) list(u).erase(std::lower_bound(list(u).begin(), list(u).end(), v));
  }
  template <class Body>
  void for_neighbours(std::int32_t v, const Body& body) const {
    for (const std::int32_t u : list(v)) body(u);
  }
  template <class Body>
  void for_common(std::int32_t a, std::int32_t b, const Body& body) const {
    auto x = list(a).begin();
    auto y = list(b).begin();
    while (x != list(a).end() && y != list(b).end()) {
      if (*x == *y) body(*x);
      const bool forward = *x <= *y;
      if (*y <= *x) ++y;
      if (forward) ++x;
    }
  }
  double reads(std::int32_t a, std::int32_t b) const {
    return 2.0 * static_cast<double>(list(a).size() + list(b).size());
  }

 private:
  using List = std::vector<std::int32_t>;
  static void insert(List& list, std::int32_t v) {
    list.insert(std::lower_bound(list.begin(), list.end(), v), v);
  }
  List& list(std::int32_t v) { return lists_[static_cast<std::size_t>(v)]; }
  const List& list(std::int32_t v) const { return lists_[static_cast<std::size_t>(v)]; }

  std::vector<List> lists_;
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
