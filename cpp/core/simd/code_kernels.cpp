// Joint values of codes, compiled once for each instruction set (PYPGM_ISA is its name; see kernels.cpp).
#include "core/simd/code_kernels.hpp"

#include "core/simd/kernel_set.hpp"

namespace pypgm {

namespace {

template <class Code>
void join(const Code* codes, std::uint32_t size, std::size_t n, std::uint32_t* joint) {
  PYPGM_CELL_BY_CELL
  for (std::size_t i = 0; i < n; ++i) joint[i] = joint[i] * size + static_cast<std::uint32_t>(codes[i]);
}

/// With the quotient from a product of doubles, since lanes have no integer division. (x + 1/2) / size is at
/// least 1 / (2 size) from every integer, and rounding moves it by less than x 2^-51 / size: for x < 2^31 the
/// floor is exact.
template <class Code>
void split(std::uint32_t* joint, std::uint32_t size, std::size_t n, Code* codes) {
  const double inverse = 1.0 / size;
  PYPGM_CELL_BY_CELL
  for (std::size_t i = 0; i < n; ++i) {
    const auto x = static_cast<std::int32_t>(joint[i]);
    const auto quotient = static_cast<std::int32_t>((x + 0.5) * inverse);
    codes[i] = static_cast<Code>(x - quotient * static_cast<std::int32_t>(size));
    joint[i] = static_cast<std::uint32_t>(quotient);
  }
}

template <class Code>
void narrow(const std::uint32_t* joint, std::size_t n, Code* codes) {
  PYPGM_CELL_BY_CELL
  for (std::size_t i = 0; i < n; ++i) codes[i] = static_cast<Code>(joint[i]);
}

template <class Code>
constexpr CodeLoops<Code> kLoops{join<Code>, split<Code>, narrow<Code>};

}  // namespace

PYPGM_KERNEL_SET(CodeKernels,
                 code_kernels) = {{kLoops<std::int8_t>, kLoops<std::int16_t>, kLoops<std::int32_t>}};

}  // namespace pypgm
