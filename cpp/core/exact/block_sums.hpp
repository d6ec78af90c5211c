#pragma once
#include <algorithm>

#include "core/simd/kernels.hpp"
#include "core/tables/blocks.hpp"

namespace pypgm {

/// The sum of tables over parts of a clique's attributes, in one block of the clique's table. Consecutive
/// tables of one layout are added up before they are added to the block.
class BlockTotal {
 public:
  /// `filler` has a number for each cell, or is null; `out` has room for the block's cells, and so has
  /// `scratch`.
  BlockTotal(const Block& block, const double* filler, double* out, double* scratch)
      : block_(block), cells_(filler), out_(out), scratch_(scratch) {}

  /// Takes in a table.
  void take(const BlockView& view, const double* table) {
    const double* at = table + offset_of(view, block_);
    const Layout& layout = layout_of(view, block_);
    if (layout.small == 1) {
      single_ += *at;
      return;
    }
    if (pending_ != nullptr && view.pattern == pattern_) {
      add(scratch_, pending_, at, {layout.small, 1, 1});
      pending_ = scratch_;
      return;
    }
    flush();
    layout_ = &layout;
    pattern_ = view.pattern;
    pending_ = at;
  }

  /// Writes the sums to `out`.
  void finish() {
    flush();
    if (cells_ == nullptr) {
      std::fill_n(out_, block_.cells, single_);
    } else if (single_ != 0.0 || cells_ != out_) {
      add(out_, cells_, &single_, {block_.cells, block_.cells, 0});
    }
  }

 private:
  static void add(double* out, const double* in, const double* small, const Axis& run) {
    kernels().add(out, in, small, {&run, 1});
  }

  void flush() {
    if (pending_ == nullptr) return;
    // Single numbers go with the next table that is smaller than the block.
    if (single_ != 0.0 && layout_->small < layout_->large) {
      add(scratch_, pending_, &single_, {layout_->small, layout_->small, 0});
      pending_ = scratch_;
      single_ = 0.0;
    }
    if (cells_ != nullptr) {
      kernels().add(out_, cells_, pending_, *layout_);
    } else {
      kernels().assign(out_, pending_, *layout_);
    }
    cells_ = out_;
    pending_ = nullptr;
  }

  const Block& block_;
  const double* cells_;
  double* out_;
  double* scratch_;
  const double* pending_ = nullptr;  ///< the table that is not in the cells yet
  const Layout* layout_ = nullptr;
  std::size_t pattern_ = 0;
  double single_ = 0.0;  ///< sum of the tables of one number a block
};

/// Sums of a block of cells onto parts of a clique's attributes. Consecutive sums of one layout are computed
/// once.
class BlockSums {
 public:
  /// `scratch` holds a block's cells.
  BlockSums(const Block& block, const double* cells, double* scratch)
      : block_(block), cells_(cells), scratch_(scratch) {}

  /// sums += the cells that belong to each of them
  void add(const BlockView& view, double* sums) {
    const Layout& layout = layout_of(view, block_);
    double* to = sums + offset_of(view, block_);
    if (layout.small == 1) {
      *to += made_ == 0 ? kernels().sum(cells_, block_.cells) : kernels().sum(scratch_, made_);
      return;
    }
    if (made_ == 0 || view.pattern != pattern_) {
      std::fill_n(scratch_, layout.small, 0.0);
      kernels().reduce_sum(cells_, scratch_, layout);
      made_ = layout.small;
      pattern_ = view.pattern;
    }
    const Axis run{layout.small, 1, 1};
    kernels().add(to, to, scratch_, {&run, 1});
  }

 private:
  const Block& block_;
  const double* cells_;
  double* scratch_;
  std::size_t made_ = 0;  ///< numbers in the scratch buffer
  std::size_t pattern_ = 0;
};

}  // namespace pypgm
