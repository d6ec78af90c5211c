#pragma once
// A part of a table of records that is refined at a time.
#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <type_traits>
#include <variant>
#include <vector>

#include "core/records/excess_tables.hpp"

namespace pypgm {

/// Records spread evenly over the table: chunks first, first + n_blocks, ... of it, with their codes side by
/// side.
class RecordBlock {
 public:
  void read(std::span<const CodeColumn> columns, std::size_t first, std::size_t n_blocks) {
    first_ = first;
    n_blocks_ = n_blocks;
    width_ = columns.size();
    n_rows_ = 0;
    each_chunk(n_records(columns), [&](std::size_t, std::size_t, std::size_t length) { n_rows_ += length; });
    codes_.resize(n_rows_ * width_);
    for (std::size_t a = 0; a < width_; ++a) {
      // A code is not negative: as an unsigned number it is the same.
      const auto read = [](auto& code, auto& mine) {
        mine = static_cast<std::int32_t>(static_cast<std::uint32_t>(code));
      };
      std::visit([&](auto column) { each_code(column, a, read); }, columns[a]);
    }
  }

  void write(std::span<const CodeColumn> columns) {
    for (std::size_t a = 0; a < width_; ++a) {
      const auto back = [](auto& code, auto& mine) {
        code = static_cast<std::decay_t<decltype(code)>>(mine);
      };
      std::visit([&](auto column) { each_code(column, a, back); }, columns[a]);
    }
  }

  std::size_t n_rows() const { return n_rows_; }
  std::int32_t* record(std::size_t row) { return codes_.data() + row * width_; }

 private:
  static constexpr std::size_t kTogether = 64;  ///< consecutive records of a chunk

  template <class Body>
  void each_chunk(std::size_t rows, const Body& body) {
    std::size_t mine = 0;
    for (std::size_t at = first_ * kTogether; at < rows; at += n_blocks_ * kTogether) {
      const std::size_t length = std::min(kTogether, rows - at);
      body(at, mine, length);
      mine += length;
    }
  }
  template <class Column, class Body>
  void each_code(Column column, std::size_t attribute, const Body& body) {
    each_chunk(column.size(), [&](std::size_t at, std::size_t mine, std::size_t length) {
      for (std::size_t i = 0; i < length; ++i) body(column[at + i], codes_[(mine + i) * width_ + attribute]);
    });
  }

  std::size_t first_ = 0;
  std::size_t n_blocks_ = 1;
  std::size_t n_rows_ = 0;
  std::size_t width_ = 0;
  std::vector<std::int32_t> codes_;
};

}  // namespace pypgm
