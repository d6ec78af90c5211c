#pragma once
#include <cstdint>
#include <vector>

namespace pypgm {

using Scope = std::vector<std::int32_t>;  ///< attribute indices, ascending

}  // namespace pypgm
