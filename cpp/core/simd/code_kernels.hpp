#pragma once
// Joint values of several attributes made of codes, and taken apart again, record by record.
#include <cstddef>
#include <cstdint>
#include <tuple>

namespace pypgm {

/// Loops over codes of one type. Joint values are less than 2^31; `size`: values of the codes' attribute.
template <class Code>
struct CodeLoops {
  /// joint[i] = joint[i] * size + codes[i]
  void (*join)(const Code* codes, std::uint32_t size, std::size_t n, std::uint32_t* joint);
  /// codes[i] = joint[i] mod size, and joint[i] = floor(joint[i] / size)
  void (*split)(std::uint32_t* joint, std::uint32_t size, std::size_t n, Code* codes);
  /// codes[i] = joint[i]
  void (*narrow)(const std::uint32_t* joint, std::size_t n, Code* codes);
};

/// Loops compiled for each instruction set, which all give the same numbers.
struct CodeKernels {
  std::tuple<CodeLoops<std::int8_t>, CodeLoops<std::int16_t>, CodeLoops<std::int32_t>> loops;

  template <class Code>
  const CodeLoops<Code>& of() const {
    return std::get<CodeLoops<Code>>(loops);
  }
};

/// The set for the fastest instruction set of this machine.
const CodeKernels& code_kernels();

}  // namespace pypgm
