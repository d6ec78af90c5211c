// Keeps one plan, and makes another one without holding the lock.
#include "core/plan/last_observed.hpp"

#include <algorithm>
#include <utility>

namespace pypgm {

std::shared_ptr<const FactoredTree> LastObserved::factored(const JunctionTree& tree,
                                                           std::span<const std::uint8_t> observed) {
  {
    const std::lock_guard guard(lock_);
    if (last_ != nullptr && std::ranges::equal(last_->observed, observed)) return last_;
  }
  auto made = std::make_shared<const FactoredTree>(make_factored_tree(tree, observed));
  const std::lock_guard guard(lock_);
  return last_ = std::move(made);
}

}  // namespace pypgm
