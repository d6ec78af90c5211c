// Bindings of the random streams.
#include "bind_random_bits.hpp"

#include <algorithm>

#include "bindings.hpp"

namespace pypgm::bind {

void bind_random_bits(py::module_& m) {
  py::class_<SharedWords>(m, "SeededWords",
                          "A stream keyed by a number others can know: its draws protect nobody.")
      .def(py::init<std::uint64_t>(), py::arg("seed"));
  m.def(
      "secure_words",
      [](std::size_t n) {
        Array<std::uint64_t> out = allocate<std::uint64_t>(n);
        const std::span<std::uint64_t> to = mutable_view(out);
        drawn({}, n <= kBriefDraws, [&](WordStream& words) {
          const Watch* const watch = thread_watch;
          std::generate(to.begin(), to.end(), [&] {
            leave_if_abandoned(watch);
            return words.next();
          });
        });
        return out;
      },
      py::arg("n"), "The next words of the calling thread's secure stream; no noise is ever made from them.");
}

}  // namespace pypgm::bind
