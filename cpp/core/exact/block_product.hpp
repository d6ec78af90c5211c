#pragma once
#include <algorithm>

#include "core/simd/kernels.hpp"
#include "core/tables/blocks.hpp"

namespace pypgm {

/// The product of tables over parts of a clique's attributes, in one block of the clique's table. Consecutive
/// factors of one layout are multiplied together before the block is.
class BlockProduct {
 public:
  /// `scratch` holds a block's cells three times: products alternate between the first two parts, small ones
  /// are in the third. `cells` is a factor that fills the block, or null; it may lie in the first part.
  BlockProduct(const Block& block, double* scratch, const double* cells)
      : block_(block), scratch_(scratch), cells_(cells) {}

  /// Takes in a factor.
  void take(const BlockView& view, const double* factor) {
    const double* at = factor + offset_of(view, block_);
    const Layout& layout = layout_of(view, block_);
    if (layout.small == 1) {
      single_ *= *at;
      return;
    }
    if (pending_ != nullptr && view.pattern == pattern_) {
      multiply(small(), pending_, at, {layout.small, 1, 1});
      pending_ = small();
      return;
    }
    flush(nullptr);
    layout_ = &layout;
    pattern_ = view.pattern;
    pending_ = at;
  }

  /// The block's cells, in `out` unless that is null; without factors the product is 1.
  const double* cells(double* out) {
    flush(out);
    double* const to = out != nullptr ? out : free_part();
    if (cells_ == nullptr) return std::fill_n(to, block_.cells, single_) - block_.cells;
    if (single_ != 1.0) {
      multiply(to, cells_, &single_, {block_.cells, block_.cells, 0});
      return to;
    }
    if (out == nullptr || cells_ == out) return cells_;
    return std::copy_n(cells_, block_.cells, out) - block_.cells;
  }

 private:
  static void multiply(double* out, const double* in, const double* small, const Axis& run) {
    kernels().multiply(out, in, small, {&run, 1});
  }
  double* small() const { return scratch_ + 2 * kBlockCells; }
  double* free_part() const { return cells_ == scratch_ ? scratch_ + kBlockCells : scratch_; }

  void flush(double* out) {
    if (pending_ == nullptr) return;
    // Single numbers go with the next table that is smaller than the block.
    if (single_ != 1.0 && layout_->small < layout_->large) {
      multiply(small(), pending_, &single_, {layout_->small, layout_->small, 0});
      pending_ = small();
      single_ = 1.0;
    }
    double* const to = out != nullptr ? out : free_part();
    if (cells_ != nullptr) {
      kernels().multiply(to, cells_, pending_, *layout_);
    } else {
      kernels().assign(to, pending_, *layout_);
    }
    cells_ = to;
    pending_ = nullptr;
  }

  const Block& block_;
  double* scratch_;
  const double* cells_;
  const double* pending_ = nullptr;  ///< the factor that is not in the cells yet
  const Layout* layout_ = nullptr;
  std::size_t pattern_ = 0;
  double single_ = 1.0;  ///< product of the factors of one number a block
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
