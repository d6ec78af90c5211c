#pragma once
#include <span>

#include "core/layout.hpp"

namespace pypgm {

/// How the numbers of a table are to be read: weights at most 1, or their logarithms, to be summed or
/// maximised.
enum class Space { linear, log, max };

/// The product of tables over parts of one clique's attributes, made in place: weights are multiplied,
/// logarithms added. In linear space each factor given as logarithms is scaled to a largest weight of 1.
class Product {
 public:
  Product(Space space, std::span<double> table, int threads)
      : space_(space), table_(table), threads_(threads) {}

  /// Takes in a factor whose numbers are those of the space.
  void take(const Layout& layout, std::span<const double> factor);
  /// Takes in a factor given as logarithms; `room`, as long, receives its weights.
  void take_logarithms(const Layout& layout, std::span<const double> factor, std::span<double> room);
  /// Ends the product; without factors it is 1.
  void finish();

  /// Logarithm of the scales taken out so far.
  double scale() const { return scale_; }
  /// Bound on what underflow may have taken from an entry, the losses of the factors themselves not counted.
  double loss() const { return loss_; }

 private:
  Space space_;
  std::span<double> table_;
  int threads_;
  bool empty_ = true;
  double scale_ = 0;
  double loss_ = 0;
};

}  // namespace pypgm
