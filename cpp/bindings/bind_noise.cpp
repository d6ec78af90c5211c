#include <algorithm>

#include "bind_random_bits.hpp"
#include "bindings.hpp"
#include "core/noise.hpp"

namespace pypgm::bind {

namespace {

using AddNoise = void (*)(std::span<std::int64_t>, Rational, WordStream&);

Array<std::int64_t> noisy(const Array<std::int64_t>& counts, Rational parameter, SeededWords* words,
                          AddNoise add) {
  const std::span<const std::int64_t> from = view(counts);
  Array<std::int64_t> out = allocate<std::int64_t>(from.size());
  const std::span<std::int64_t> to = mutable_view(out);
  {
    const py::gil_scoped_release unlocked;
    std::copy(from.begin(), from.end(), to.begin());
    add(to, parameter, stream(words));
  }
  return out;
}

}  // namespace

void bind_noise(py::module_& m) {
  m.attr("SCALE_BITS") = kScaleBits;
  m.attr("VARIANCE_BITS") = kVarianceBits;
  m.def(
      "add_discrete_laplace",
      [](const Array<std::int64_t>& counts, std::uint64_t numerator, std::uint64_t denominator,
         SeededWords* words) {
        return noisy(counts, {numerator, denominator}, words, add_discrete_laplace);
      },
      py::arg("counts").noconvert(), py::arg("scale_numerator"), py::arg("scale_denominator"),
      py::arg("words") = py::none(), "Counts plus exact discrete Laplace noise of a rational scale.");
  m.def(
      "add_discrete_gaussian",
      [](const Array<std::int64_t>& counts, std::uint64_t numerator, std::uint64_t denominator,
         SeededWords* words) {
        return noisy(counts, {numerator, denominator}, words, add_discrete_gaussian);
      },
      py::arg("counts").noconvert(), py::arg("variance_numerator"), py::arg("variance_denominator"),
      py::arg("words") = py::none(),
      "Counts plus exact discrete Gaussian noise of a rational variance parameter.");
}

}  // namespace pypgm::bind
