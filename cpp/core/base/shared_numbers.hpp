#pragma once
// A read-only array of doubles with shared ownership, so that arrays from Python need not be copied.
#include <cstddef>
#include <initializer_list>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace pypgm {

/// A read-only array of doubles. It owns its numbers or shares another owner's, and keeps that owner alive.
class SharedNumbers {
 public:
  SharedNumbers() = default;
  SharedNumbers(std::vector<double> own) {
    const auto kept = std::make_shared<const std::vector<double>>(std::move(own));
    owner_ = kept;
    numbers_ = *kept;
  }
  SharedNumbers(std::initializer_list<double> own) : SharedNumbers(std::vector<double>(own)) {}
  SharedNumbers(std::shared_ptr<const void> owner, std::span<const double> numbers)
      : owner_(std::move(owner)), numbers_(numbers) {}

  double operator[](std::size_t i) const { return numbers_[i]; }
  const double* data() const { return numbers_.data(); }
  std::size_t size() const { return numbers_.size(); }
  bool empty() const { return numbers_.empty(); }

 private:
  std::shared_ptr<const void> owner_;
  std::span<const double> numbers_;
};

}  // namespace pypgm
