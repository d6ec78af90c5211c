#pragma once
#include <algorithm>

#include "core/blocks.hpp"
#include "core/kernels.hpp"

namespace pypgm {

/// How the numbers of a table are to be read: weights to be multiplied, or their logarithms to be added.
enum class Space : unsigned char { linear, log };

/// The product of tables over parts of a clique's attributes, in one block of the clique's table.
class BlockProduct {
 public:
  /// `room` holds a block's cells twice: a product is made from one half into the other.
  BlockProduct(Space space, const Block& block, double* room) : space_(space), block_(block), room_(room) {}

  /// Takes in a factor. A first one that fills the clique is not copied.
  void take(const BlockView& view, const double* factor) {
    const Layout& layout = layout_of(view, block_);
    const double* at = factor + offset_of(view, block_);
    const Kernels& k = kernels();
    if (cells_ != nullptr) {
      double* to = cells_ == room_ ? room_ + kBlockCells : room_;
      (space_ == Space::linear ? k.multiply : k.add)(to, cells_, at, layout.axes.data(), layout.axes.size());
      cells_ = to;
      return;
    } else if (view.fills) {
      cells_ = at;
    } else {
      k.assign(room_, at, layout.axes.data(), layout.axes.size());
      cells_ = room_;
    }
  }

  /// The block's cells; without factors the product is 1.
  const double* cells() {
    if (cells_ == nullptr) {
      std::fill_n(room_, block_.cells, space_ == Space::linear ? 1.0 : 0.0);
      cells_ = room_;
    }
    return cells_;
  }

 private:
  Space space_;
  const Block& block_;
  double* room_;
  const double* cells_ = nullptr;
};

}  // namespace pypgm
