#include "core/rounding.hpp"

#include <algorithm>
#include <cassert>
#include <limits>
#include <span>
#include <utility>

namespace pypgm {

namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kOne = std::uint64_t{1} << 32;

/// Adds a row and a column of slack that make every row and column sum an integer, and returns the table.
/// Unsigned arithmetic drops the integer part of a sum: -sum is what it lacks to the next integer. The
/// corner lacks the same on both sides, since rows and columns have one total.
Fractions with_slack(Fractions table) {
  std::vector<std::uint32_t> rows(table.n_rows + 1, 0);
  std::vector<std::uint32_t> columns(table.n_columns + 1, 0);
  for (std::size_t cell = 0; cell < table.units.size(); ++cell) {
    rows[table.row[cell]] += table.units[cell];
    columns[table.column[cell]] += table.units[cell];
  }
  const auto add = [&table](std::size_t row, std::size_t column, std::uint32_t units) {
    if (units != 0) table.add(row, column, units);
  };
  std::uint32_t total = 0;
  for (std::size_t row = 0; row < table.n_rows; ++row) {
    total += rows[row];
    add(row, table.n_columns, 0U - rows[row]);
  }
  for (std::size_t column = 0; column < table.n_columns; ++column) {
    add(table.n_rows, column, 0U - columns[column]);
  }
  add(table.n_rows, table.n_columns, total);
  ++table.n_rows;
  ++table.n_columns;
  return table;
}

/// Rows and columns as vertices and fractional cells as edges of a graph. All sums are integers, so a vertex
/// with one fractional edge has another: a walk that never turns back closes a cycle. Cycles have even
/// length; adding d to every other edge and taking it from the rest keeps all sums, and the largest such d
/// makes at least one edge integral, that is to say removes it. An edge whose units are 0 is removed.
class CycleWalk {
 public:
  CycleWalk(Fractions table, Xoshiro& random) : table_(std::move(table)), random_(random) {
    const std::size_t vertices = table_.n_rows + table_.n_columns;
    up_.assign(table_.units.size(), 0);
    place_.assign(vertices, kNone);
    list_edges(vertices);
  }

  std::vector<std::uint8_t> run() {
    for (std::uint32_t row = 0; row < table_.n_rows; ++row) clear(row);
    return std::move(up_);
  }

 private:
  std::uint32_t column_vertex(std::size_t edge) const {
    return static_cast<std::uint32_t>(table_.n_rows) + table_.column[edge];
  }

  void list_edges(std::size_t vertices) {
    end_.assign(vertices, 0);
    for (std::size_t edge = 0; edge < table_.units.size(); ++edge) {
      ++end_[table_.row[edge]];
      ++end_[column_vertex(edge)];
    }
    std::size_t sum = 0;
    for (std::size_t& end : end_) end = (sum += end);
    edges_.resize(sum);
    for (std::size_t edge = table_.units.size(); edge-- > 0;) {
      edges_[--end_[table_.row[edge]]] = static_cast<std::uint32_t>(edge);
      edges_[--end_[column_vertex(edge)]] = static_cast<std::uint32_t>(edge);
    }
    first_ = end_;
    std::copy(first_.begin() + 1, first_.end(), end_.begin());
    end_.back() = sum;
  }

  /// The first fractional edge at a vertex that is not `back`, or kNone. Removed edges are stepped over once:
  /// if `back` stands before them, it is moved behind them.
  std::uint32_t next_edge(std::uint32_t vertex, std::uint32_t back) {
    std::size_t& first = first_[vertex];
    const std::size_t end = end_[vertex];
    while (first < end && removed(first)) ++first;
    if (first == end) return kNone;
    if (edges_[first] != back) return edges_[first];
    std::size_t second = first + 1;
    while (second < end && removed(second)) ++second;
    if (second == end) return kNone;
    first = second - 1;
    edges_[first] = back;
    return edges_[second];
  }

  bool removed(std::size_t place) const { return table_.units[edges_[place]] == 0; }

  /// Walks from a row until all its edges are removed. After each cycle the walk goes on from the part of its
  /// path that is left.
  void clear(std::uint32_t row) {
    std::uint32_t vertex = row;
    visit(vertex);
    for (;;) {
      const std::uint32_t edge = next_edge(vertex, path_.empty() ? kNone : path_.back());
      if (edge == kNone) break;
      path_.push_back(edge);
      vertex = vertex < table_.n_rows ? column_vertex(edge) : table_.row[edge];
      if (place_[vertex] == kNone) {
        visit(vertex);
      } else {
        vertex = rewind(push(place_[vertex]));
      }
    }
    assert(path_.empty());
    place_[row] = kNone;
    vertices_.clear();
  }

  void visit(std::uint32_t vertex) {
    place_[vertex] = static_cast<std::uint32_t>(vertices_.size());
    vertices_.push_back(vertex);
  }

  /// Shifts the edges of the cycle path_[begin..], and returns the place of the first one removed.
  std::size_t push(std::size_t begin) {
    const std::span<const std::uint32_t> cycle = std::span(path_).subspan(begin);
    std::uint64_t rise = kOne;
    std::uint64_t fall = kOne;
    for (std::size_t i = 0; i < cycle.size(); ++i) {
      const std::uint64_t below = table_.units[cycle[i]];
      const std::uint64_t above = kOne - below;
      rise = std::min(rise, i % 2 == 0 ? above : below);
      fall = std::min(fall, i % 2 == 0 ? below : above);
    }
    const bool rises = random_.uniform() * static_cast<double>(rise + fall) < static_cast<double>(fall);
    const auto step = static_cast<std::uint32_t>(rises ? rise : fall);
    std::size_t first = cycle.size();
    for (std::size_t i = cycle.size(); i-- > 0;) {
      std::uint32_t& units = table_.units[cycle[i]];
      const bool upward = rises == (i % 2 == 0);
      units = upward ? units + step : units - step;
      if (units != 0) continue;
      up_[cycle[i]] = upward ? 1 : 0;
      first = i;
    }
    assert(first < cycle.size());
    return begin + first;
  }

  /// Cuts the path to its first `length` edges and returns the vertex it then ends at.
  std::uint32_t rewind(std::size_t length) {
    path_.resize(length);
    while (vertices_.size() > length + 1) {
      place_[vertices_.back()] = kNone;
      vertices_.pop_back();
    }
    return vertices_.back();
  }

  Fractions table_;
  Xoshiro& random_;
  std::vector<std::uint8_t> up_;
  std::vector<std::uint32_t> edges_;  ///< of each vertex, fractional ones from first_ to end_
  std::vector<std::size_t> first_;
  std::vector<std::size_t> end_;
  std::vector<std::uint32_t> path_;      ///< edges walked
  std::vector<std::uint32_t> vertices_;  ///< the path's vertices, one more than its edges
  std::vector<std::uint32_t> place_;     ///< of each vertex on the path, or kNone
};

}  // namespace

std::vector<std::uint8_t> round_controlled(Fractions table, Xoshiro& random) {
  const std::size_t cells = table.units.size();
  std::vector<std::uint8_t> up = CycleWalk(with_slack(std::move(table)), random).run();
  up.resize(cells);
  return up;
}

}  // namespace pypgm
