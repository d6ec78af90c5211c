#include "bindings.hpp"
#include "core/selection.hpp"

namespace pypgm::bind {

void bind_selection(py::module_& m) {
  m.attr("RATE_BITS") = kRateBits;
  m.def(
      "select_exponential",
      [](const Array<std::int64_t>& scores, std::uint64_t numerator, std::uint64_t denominator) {
        const std::span<const std::int64_t> entries = view(scores);
        const py::gil_scoped_release unlocked;
        return select_exponential(entries, {numerator, denominator});
      },
      py::arg("scores").noconvert(), py::arg("rate_numerator"), py::arg("rate_denominator"),
      "An index drawn with probability proportional to exp(rate * score), exactly.");
}

}  // namespace pypgm::bind
