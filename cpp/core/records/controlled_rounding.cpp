// Controlled rounding by cycles: each shift along a cycle keeps all sums and makes a cell integral.
#include "core/records/controlled_rounding.hpp"

#include <algorithm>
#include <array>
#include <cassert>
#include <limits>
#include <span>
#include <utility>

#include "core/base/watch.hpp"

namespace pypgm {

namespace {

constexpr std::uint32_t kNone = std::numeric_limits<std::uint32_t>::max();
constexpr std::uint64_t kOne = std::uint64_t{1} << 32;

/// Adds a row and a column of slack that make every row and column sum an integer, and returns the table.
/// Unsigned arithmetic drops the integer part of a sum: -sum is the slack to the next integer. The corner has
/// the same slack for its row and its column, since rows and columns have the same total.
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

/// Drops the cells that are integral; returns which ones stay. In place, and with capacity for the slack:
/// tables of fractions are large.
std::vector<std::uint32_t> keep_fractional(Fractions& table) {
  const auto integral = std::ranges::count(table.units, 0U);
  std::vector<std::uint32_t> cells;
  cells.reserve(table.units.size() - static_cast<std::size_t>(integral));
  for (std::size_t cell = 0; cell < table.units.size(); ++cell) {
    if (table.units[cell] == 0) continue;
    const std::size_t to = cells.size();
    table.row[to] = table.row[cell];
    table.column[to] = table.column[cell];
    table.units[to] = table.units[cell];
    cells.push_back(static_cast<std::uint32_t>(cell));
  }
  for (std::vector<std::uint32_t>* list : {&table.row, &table.column, &table.units}) {
    list->resize(cells.size());
    list->reserve(cells.size() + table.n_rows + table.n_columns + 1);
  }
  return cells;
}

/// Shifts the cells of a cycle by the largest step that keeps all of them in [0, 1]: those at even indices up
/// and the others down, or the reverse, at random so that no expectation changes. At least one becomes
/// integral, that is, has 0 units left. Returns the index of the first of those.
std::size_t shift_cycle(std::span<const std::uint32_t> cycle, std::vector<std::uint32_t>& units,
                        std::vector<std::uint8_t>& up, Xoshiro& random) {
  std::uint64_t rise = kOne;
  std::uint64_t fall = kOne;
  for (std::size_t i = 0; i < cycle.size(); ++i) {
    const std::uint64_t below = units[cycle[i]];
    const std::uint64_t above = kOne - below;
    rise = std::min(rise, i % 2 == 0 ? above : below);
    fall = std::min(fall, i % 2 == 0 ? below : above);
  }
  const bool rises = random.uniform() * static_cast<double>(rise + fall) < static_cast<double>(fall);
  const auto step = static_cast<std::uint32_t>(rises ? rise : fall);
  std::size_t first = cycle.size();
  for (std::size_t i = cycle.size(); i-- > 0;) {
    const bool upward = rises == (i % 2 == 0);
    std::uint32_t& left = units[cycle[i]];
    left = upward ? left + step : left - step;
    if (left != 0) continue;
    up[cycle[i]] = upward ? 1 : 0;
    first = i;
  }
  assert(first < cycle.size());
  return first;
}

/// Removes most cells of a dense table by cycles of four, in groups of rows that double. A group of g rows
/// keeps at most one fractional cell for each column. Where two groups meet, columns whose two cells
/// belong to the same two rows close cycles, until at most one such column is left for each pair of rows, its
/// second cell set aside. While there are fewer pairs of rows than columns, each merge halves the cells left,
/// so all merges together take time for twice the cells. Without them the walk below finds ever longer
/// cycles: records from pairs of adult's sizes take 1.6 to 2.0 times as long, from a table of 10^6 cells 3 to
/// 8 (bench_sampling).
class RowMerge {
 public:
  RowMerge(Fractions& table, std::vector<std::uint8_t>& up, Xoshiro& random)
      : table_(table), up_(up), random_(random), begin_(table.n_rows + 1, 0) {
    for (const std::uint32_t row : table.row) ++begin_[row + 1];
    for (std::size_t row = 0; row < table.n_rows; ++row) begin_[row + 1] += begin_[row];
  }

  void run() {
    if (static_cast<double>(table_.units.size()) <
        kDense * static_cast<double>(table_.n_rows) * static_cast<double>(table_.n_columns)) {
      return;
    }
    std::size_t size = 1;
    while (4 * size * size <= table_.n_columns && size < table_.n_rows) size *= 2;
    if (size == 1) return;
    for (std::size_t row = 0; row < table_.n_rows; row += size) group(row, size);
  }

 private:
  static constexpr double kDense = 0.125;  // tables with a smaller fraction of cells are left to the walk
  using Group = std::vector<std::uint32_t>;

  Group group(std::size_t row, std::size_t size) {
    if (size > 1) {
      Group upper = group(row, size / 2);
      if (row + size / 2 < table_.n_rows) meet(upper, group(row + size / 2, size / 2), row, size / 2);
      return upper;
    }
    leave_if_abandoned();
    Group cells(table_.n_columns, kNone);
    for (std::size_t cell = begin_[row]; cell < begin_[row + 1]; ++cell) {
      if (table_.units[cell] != 0) cells[table_.column[cell]] = static_cast<std::uint32_t>(cell);
    }
    return cells;
  }

  void meet(Group& upper, const Group& lower, std::size_t row, std::size_t size) {
    leave_if_abandoned();
    open_.assign(size * size, kNone);
    for (std::uint32_t column = 0; column < upper.size(); ++column) {
      const std::uint32_t a = upper[column];
      const std::uint32_t b = lower[column];
      if (a == kNone || b == kNone) {
        if (a == kNone) upper[column] = b;
        continue;
      }
      std::uint32_t& open = open_[(table_.row[a] - row) * size + (table_.row[b] - row - size)];
      if (open == kNone) {
        open = column;
        continue;
      }
      open = close(upper, lower, open, column);
    }
  }

  /// Shifts the cycle through two columns of two groups; returns the column that still has two fractional
  /// cells, or kNone.
  std::uint32_t close(Group& upper, const Group& lower, std::uint32_t first, std::uint32_t second) {
    const std::array<std::uint32_t, 4> cycle{upper[first], lower[first], lower[second], upper[second]};
    shift_cycle(cycle, table_.units, up_, random_);
    std::uint32_t open = kNone;
    for (const std::uint32_t column : {first, second}) {
      const bool lower_left = table_.units[lower[column]] != 0;
      if (table_.units[upper[column]] == 0) {
        upper[column] = lower_left ? lower[column] : kNone;
      } else if (lower_left) {
        open = column;
      }
    }
    return open;
  }

  Fractions& table_;
  std::vector<std::uint8_t>& up_;
  Xoshiro& random_;
  std::vector<std::size_t> begin_;   ///< of each row: its first cell
  std::vector<std::uint32_t> open_;  ///< of each pair of rows: a column in which both are fractional
};

/// Rows and columns as vertices and fractional cells as edges of a graph. All sums are integers, so a vertex
/// with one fractional edge has another: a walk that never turns back closes a cycle. Cycles have even
/// length; adding d to every other edge and taking it from the rest keeps all sums, and the largest such d
/// makes at least one edge integral, which removes it: an edge with 0 units is removed.
class CycleWalk {
 public:
  CycleWalk(Fractions table, Xoshiro& random) : table_(std::move(table)), random_(random) {
    const std::size_t vertices = table_.n_rows + table_.n_columns;
    up_.assign(table_.units.size(), 0);
    index_.assign(vertices, kNone);
    first_.assign(vertices, kNone);
    next_.resize(2 * table_.units.size());
    list_edges();
  }

  std::vector<std::uint8_t> run() {
    for (std::uint32_t row = 0; row < table_.n_rows; ++row) clear(row);
    return std::move(up_);
  }

 private:
  std::uint32_t column_vertex(std::size_t edge) const {
    return static_cast<std::uint32_t>(table_.n_rows) + table_.column[edge];
  }

  std::uint32_t& next_of(std::uint32_t edge, std::uint32_t vertex) {
    return next_[2 * static_cast<std::size_t>(edge) + (vertex < table_.n_rows ? 0 : 1)];
  }

  void list_edges() {
    for (auto edge = static_cast<std::uint32_t>(table_.units.size()); edge-- > 0;) {
      leave_if_abandoned(watch_);
      for (const std::uint32_t vertex : {table_.row[edge], column_vertex(edge)}) {
        next_of(edge, vertex) = std::exchange(first_[vertex], edge);
      }
    }
  }

  /// The first fractional edge at a vertex other than `back`, or kNone. Removed edges leave the list.
  std::uint32_t next_edge(std::uint32_t vertex, std::uint32_t back) {
    std::uint32_t& first = first_fractional(first_[vertex], vertex);
    return first == kNone || first != back ? first : first_fractional(next_of(first, vertex), vertex);
  }

  /// Takes removed edges off the front of what is left of a vertex's list.
  std::uint32_t& first_fractional(std::uint32_t& edge, std::uint32_t vertex) {
    while (edge != kNone && table_.units[edge] == 0) edge = next_of(edge, vertex);
    return edge;
  }

  /// Walks from a row until all its edges are removed. After each cycle the walk continues from the rest of
  /// its path.
  void clear(std::uint32_t row) {
    std::uint32_t vertex = row;
    visit(vertex);
    for (;;) {
      leave_if_abandoned(watch_);
      const std::uint32_t edge = next_edge(vertex, path_.empty() ? kNone : path_.back());
      if (edge == kNone) break;
      path_.push_back(edge);
      vertex = vertex < table_.n_rows ? column_vertex(edge) : table_.row[edge];
      if (index_[vertex] == kNone) {
        visit(vertex);
      } else {
        vertex = rewind(shift(index_[vertex]));
      }
    }
    assert(path_.empty());
    index_[row] = kNone;
    vertices_.clear();
  }

  void visit(std::uint32_t vertex) {
    index_[vertex] = static_cast<std::uint32_t>(vertices_.size());
    vertices_.push_back(vertex);
  }

  /// Shifts the cycle path_[begin..] and returns the index of the first edge removed.
  std::size_t shift(std::size_t begin) {
    return begin + shift_cycle(std::span(path_).subspan(begin), table_.units, up_, random_);
  }

  /// Cuts the path to its first `length` edges and returns the vertex it then ends at.
  std::uint32_t rewind(std::size_t length) {
    path_.resize(length);
    while (vertices_.size() > length + 1) {
      index_[vertices_.back()] = kNone;
      vertices_.pop_back();
    }
    return vertices_.back();
  }

  Fractions table_;
  Xoshiro& random_;
  const Watch* watch_ = thread_watch;
  std::vector<std::uint8_t> up_;
  std::vector<std::uint32_t> first_;     ///< of each vertex: the first edge in its list, or kNone
  std::vector<std::uint32_t> next_;      ///< of each edge: the next one in the list of its row, of its column
  std::vector<std::uint32_t> path_;      ///< edges walked
  std::vector<std::uint32_t> vertices_;  ///< the path's vertices, one more than its edges
  std::vector<std::uint32_t> index_;     ///< of each vertex: its index in the path, or kNone
};

}  // namespace

std::vector<std::uint8_t> round_controlled(Fractions table, Xoshiro& random) {
  std::vector<std::uint8_t> up(table.units.size(), 0);
  RowMerge(table, up, random).run();
  const std::vector<std::uint32_t> cells = keep_fractional(table);
  const std::vector<std::uint8_t> rest_up = CycleWalk(with_slack(std::move(table)), random).run();
  for (std::size_t i = 0; i < cells.size(); ++i) up[cells[i]] = rest_up[i];
  return up;
}

}  // namespace pypgm
