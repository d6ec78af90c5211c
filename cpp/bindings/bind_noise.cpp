// Bindings of discrete noise and Poisson sampling.
#include <algorithm>

#include "bind_random_bits.hpp"
#include "bindings.hpp"
#include "core/noise/noise.hpp"

namespace pypgm::bind {

namespace {

using AddNoise = void (*)(std::span<std::int64_t>, Rational, WordStream&);
using AddNoiseInParallel = void (*)(std::span<std::int64_t>, Rational, int);

Array<std::int64_t> noisy(const Array<std::int64_t>& counts, Rational parameter, MaybeSeeded words,
                          int n_threads, AddNoise add, AddNoiseInParallel add_in_parallel) {
  const int threads = checked_threads(n_threads);
  const std::span<const std::int64_t> from = view(counts);
  Array<std::int64_t> out = allocate<std::int64_t>(from.size());
  const std::span<std::int64_t> to = mutable_view(out);
  drawn(words, to.size() <= kBriefDraws, [&](WordStream& stream) {
    std::copy(from.begin(), from.end(), to.begin());
    if (words) {
      add(to, parameter, stream);
    } else {
      add_in_parallel(to, parameter, threads);
    }
  });
  return out;
}

}  // namespace

void bind_noise(py::module_& m) {
  m.attr("SCALE_BITS") = kScaleBits;
  m.attr("VARIANCE_BITS") = kVarianceBits;
  m.def(
      "add_discrete_laplace",
      [](const Array<std::int64_t>& counts, std::uint64_t numerator, std::uint64_t denominator,
         MaybeSeeded words, int n_threads) {
        return noisy(counts, {numerator, denominator}, words, n_threads, add_discrete_laplace,
                     add_discrete_laplace);
      },
      py::arg("counts").noconvert(), py::arg("scale_numerator"), py::arg("scale_denominator"),
      py::arg("words") = py::none(), py::arg("n_threads") = 1,
      "Counts plus exact discrete Laplace noise of a rational scale.");
  m.def(
      "add_discrete_gaussian",
      [](const Array<std::int64_t>& counts, std::uint64_t numerator, std::uint64_t denominator,
         MaybeSeeded words, int n_threads) {
        return noisy(counts, {numerator, denominator}, words, n_threads, add_discrete_gaussian,
                     add_discrete_gaussian);
      },
      py::arg("counts").noconvert(), py::arg("variance_numerator"), py::arg("variance_denominator"),
      py::arg("words") = py::none(), py::arg("n_threads") = 1,
      "Counts plus exact discrete Gaussian noise of a rational variance parameter.");
  m.def(
      "flip_coins",
      [](std::size_t size, std::uint64_t numerator, std::uint64_t denominator, MaybeSeeded words) {
        Array<std::uint8_t> out = allocate<std::uint8_t>(size);
        const std::span<std::uint8_t> to = mutable_view(out);
        drawn(words, size <= kBriefDraws, [&](WordStream& stream) {
          flip_coins(to, {numerator, denominator}, stream);
        });
        return out;
      },
      py::arg("size"), py::arg("rate_numerator"), py::arg("rate_denominator"), py::arg("words") = py::none(),
      "One entry for each record: 1 with a rational probability, else 0.");
}

}  // namespace pypgm::bind
