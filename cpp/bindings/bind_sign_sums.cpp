// Bindings of sums of products of signs.
#include <algorithm>

#include "bindings.hpp"
#include "core/records/sign_sums.hpp"
#include "watched.hpp"

namespace pypgm::bind {

namespace {

Array<std::int64_t> count_odd(const Array<std::uint64_t>& words, const Array<std::uint16_t>& sets,
                              int n_threads) {
  const int threads = checked_threads(n_threads);
  if (words.ndim() != 2) throw py::value_error("words must have one row a sign");
  if (sets.ndim() != 2 || sets.shape(1) < 1) throw py::value_error("sets must have one row of signs each");
  const auto rows = static_cast<std::size_t>(words.shape(0));
  const auto order = static_cast<std::size_t>(sets.shape(1));
  const auto n_words = static_cast<std::size_t>(words.shape(1));
  const auto chosen = view(sets);
  if (std::any_of(chosen.begin(), chosen.end(), [=](std::uint16_t row) { return row >= rows; })) {
    throw py::value_error("sets must have signs below " + std::to_string(rows));
  }
  Array<std::int64_t> odd = allocate<std::int64_t>(static_cast<std::size_t>(sets.shape(0)));
  const auto in = view(words);
  const auto out = mutable_view(odd);
  const double operations = static_cast<double>(chosen.size()) * static_cast<double>(n_words);
  watched(operations <= kBriefOperations, [&] { count_odd_signs(in, n_words, chosen, order, out, threads); });
  return odd;
}

}  // namespace

void bind_sign_sums(py::module_& m) {
  m.def("count_odd", &count_odd, py::arg("words").noconvert(), py::arg("sets").noconvert(),
        py::arg("n_threads") = 0,
        "For each set of rows, the number of positions where an odd number of them have their bit set.");
}

}  // namespace pypgm::bind
