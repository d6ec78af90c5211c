#pragma once
// The scope of a table: which attributes it is over.
#include <algorithm>
#include <cstdint>
#include <vector>

namespace pypgm {

using Scope = std::vector<std::int32_t>;  ///< attribute indices, ascending

inline bool contains(const Scope& scope, std::int32_t attribute) {
  return std::binary_search(scope.begin(), scope.end(), attribute);
}

}  // namespace pypgm
