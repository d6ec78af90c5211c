// Bindings of private selections.
#include <algorithm>

#include "bind_random_bits.hpp"
#include "bindings.hpp"
#include "core/noise/selection.hpp"

namespace pypgm::bind {

void bind_selection(py::module_& m) {
  m.attr("RATE_BITS") = kRateBits;
  m.def(
      "select_exponential",
      [](const Array<std::int64_t>& scores, std::uint64_t numerator, std::uint64_t denominator,
         MaybeSeeded words) {
        const std::span<const std::int64_t> entries = view(scores);
        return drawn(words, entries.size() <= kBriefDraws, [&](WordStream& from) {
          return select_exponential(entries, {numerator, denominator}, from);
        });
      },
      py::arg("scores").noconvert(), py::arg("rate_numerator"), py::arg("rate_denominator"),
      py::arg("words") = py::none(),
      "An index drawn with probability proportional to exp(rate * score), exactly.");
  m.def(
      "select_top",
      [](const Array<std::int64_t>& scores, std::uint64_t numerator, std::uint64_t denominator,
         std::size_t count, MaybeSeeded words) {
        const std::span<const std::int64_t> entries = view(scores);
        return drawn(words, entries.size() <= kBriefDraws / std::max<std::size_t>(1, count),
                     [&](WordStream& from) {
                       return select_top(entries, {numerator, denominator}, count, from);
                     });
      },
      py::arg("scores").noconvert(), py::arg("rate_numerator"), py::arg("rate_denominator"), py::arg("count"),
      py::arg("words") = py::none(),
      "Different indices, drawn one after the other as select_exponential does.");
  m.def(
      "permute_and_flip",
      [](const Array<std::int64_t>& scores, std::uint64_t numerator, std::uint64_t denominator,
         MaybeSeeded words) {
        const std::span<const std::int64_t> entries = view(scores);
        return drawn(words, entries.size() <= kBriefDraws, [&](WordStream& from) {
          return permute_and_flip(entries, {numerator, denominator}, from);
        });
      },
      py::arg("scores").noconvert(), py::arg("rate_numerator"), py::arg("rate_denominator"),
      py::arg("words") = py::none(), "The first index in random order that passes its exact coin.");
}

}  // namespace pypgm::bind
