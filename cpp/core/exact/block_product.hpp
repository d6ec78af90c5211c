#pragma once
#include <algorithm>

#include "core/simd/kernels.hpp"
#include "core/tables/blocks.hpp"

namespace pypgm {

/// How tables are combined.
enum class Join : unsigned char { multiply, add };

/// The product, or the sum, of tables over parts of a clique's attributes, in one block of the clique's
/// table. Factors that lie alike in the block and come in one after the other are multiplied together before
/// the block is.
class BlockProduct {
 public:
  /// `room` holds a block's cells three times: a product is made from one part into the other, small ones in
  /// the third.
  BlockProduct(Join join, const Block& block, double* room) : join_(join), block_(block), room_(room) {}

  /// Takes in a factor. A first one that fills the clique is not copied.
  void take(const BlockView& view, const double* factor) {
    const double* at = factor + offset_of(view, block_);
    const Layout& layout = layout_of(view, block_);
    if (layout.small == 1) {
      single_ = join_ == Join::multiply ? single_ * *at : single_ + *at;
      return;
    }
    if (pending_ != nullptr && view.pattern == pattern_) {
      const Axis run{layout.small, 1, 1};
      combine()(small(), pending_, at, &run, 1);
      pending_ = small();
      return;
    }
    flush();
    layout_ = &layout;
    pattern_ = view.pattern;
    pending_ = at;
  }

  /// The block's cells; without factors the product is 1.
  const double* cells() {
    flush();
    const double one = identity();
    if (cells_ == nullptr) {
      std::fill_n(room_, block_.cells, single_);
      cells_ = room_;
    } else if (single_ != one) {
      const Axis run{block_.cells, block_.cells, 0};
      double* to = free_room();
      combine()(to, cells_, &single_, &run, 1);
      cells_ = to;
    }
    single_ = one;
    return cells_;
  }

 private:
  Kernels::Combine combine() const { return join_ == Join::multiply ? kernels().multiply : kernels().add; }
  double identity() const { return join_ == Join::multiply ? 1.0 : 0.0; }
  double* small() const { return room_ + 2 * kBlockCells; }
  double* free_room() const { return cells_ == room_ ? room_ + kBlockCells : room_; }

  void flush() {
    if (pending_ == nullptr) return;
    // Single numbers go with the next table that is smaller than the block.
    if (single_ != identity() && layout_->small < layout_->large) {
      const Axis run{layout_->small, layout_->small, 0};
      combine()(small(), pending_, &single_, &run, 1);
      pending_ = small();
      single_ = identity();
    }
    const auto& axes = layout_->axes;
    if (cells_ != nullptr) {
      double* to = free_room();
      combine()(to, cells_, pending_, axes.data(), axes.size());
      cells_ = to;
    } else if (layout_->small == layout_->large && pending_ != small()) {
      cells_ = pending_;
    } else {
      kernels().assign(room_, pending_, axes.data(), axes.size());
      cells_ = room_;
    }
    pending_ = nullptr;
  }

  Join join_;
  const Block& block_;
  double* room_;
  const double* cells_ = nullptr;
  const double* pending_ = nullptr;  ///< what is not in the cells yet
  const Layout* layout_ = nullptr;
  std::size_t pattern_ = 0;
  double single_ = identity();  ///< product of the factors of one number a block
};

/// Sums of a block of cells onto parts of a clique's attributes. Sums that lie alike and are asked for one
/// after the other are made once.
class BlockSums {
 public:
  /// `room` holds a block's cells.
  BlockSums(const Block& block, const double* cells, double* room)
      : block_(block), cells_(cells), room_(room) {}

  /// sums += the cells that belong to each of them
  void add(const BlockView& view, double* sums) {
    const Layout& layout = layout_of(view, block_);
    double* to = sums + offset_of(view, block_);
    if (layout.small == 1) {
      *to += made_ == 0 ? kernels().sum(cells_, block_.cells) : kernels().sum(room_, made_);
      return;
    }
    if (made_ == 0 || view.pattern != pattern_) {
      std::fill_n(room_, layout.small, 0.0);
      kernels().reduce_sum(cells_, room_, layout.axes.data(), layout.axes.size());
      made_ = layout.small;
      pattern_ = view.pattern;
    }
    const Axis run{layout.small, 1, 1};
    kernels().add(to, to, room_, &run, 1);
  }

 private:
  const Block& block_;
  const double* cells_;
  double* room_;
  std::size_t made_ = 0;  ///< numbers in the room
  std::size_t pattern_ = 0;
};

}  // namespace pypgm
