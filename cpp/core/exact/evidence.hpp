#pragma once
#include <cstdint>
#include <span>

namespace pypgm {

/// Log-likelihoods of the values of one attribute; -inf rules a value out.
struct Evidence {
  std::int32_t attribute;
  std::span<const double> log_likelihood;
};

}  // namespace pypgm
