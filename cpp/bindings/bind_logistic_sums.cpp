// Bindings of the sums of private Frank-Wolfe; checks of features, labels and the range of margins.
#include <algorithm>
#include <cstdlib>
#include <memory>
#include <tuple>
#include <utility>

#include "bindings.hpp"
#include "core/base/threads.hpp"
#include "core/mrf/logistic_sums.hpp"
#include "core/simd/logistic_kernels.hpp"
#include "exclusive.hpp"

namespace pypgm::bind {

namespace {

/// Sums, and the largest margin their steps can have led to.
struct CheckedSums {
  CheckedSums(std::span<const std::uint8_t> codes, std::size_t n_attributes,
              std::vector<RecordFeature> features, std::vector<RecordLabel> labels,
              std::vector<std::int16_t> table)
      : sums(codes, n_attributes, std::move(features), std::move(labels), std::move(table)),
        reach(sums.n_labels(), 0) {}

  LogisticSums sums;
  std::vector<std::int64_t> reach;
};

using Sums = Exclusive<CheckedSums>;

std::unique_ptr<Sums> make_sums(const Array<std::uint8_t>& codes,
                                const std::vector<std::pair<std::vector<std::size_t>, int>>& features,
                                const std::vector<std::tuple<std::size_t, int, int>>& labels,
                                const Array<std::int16_t>& table) {
  if (codes.ndim() != 2) throw py::value_error("codes must have one row an attribute");
  const auto n_attributes = static_cast<std::size_t>(codes.shape(0));
  const auto check_attribute = [=](std::size_t attribute) {
    if (attribute >= n_attributes) {
      throw py::value_error("attributes must be below " + std::to_string(n_attributes));
    }
  };
  std::vector<RecordFeature> own;
  for (const auto& [attributes, code] : features) {
    std::for_each(attributes.begin(), attributes.end(), check_attribute);
    if (code >= 0 && attributes.size() != 1) {
      throw py::value_error("the indicator of a code is of one attribute");
    }
    own.push_back({attributes, code});
  }
  std::vector<RecordLabel> wanted;
  for (const auto& [attribute, positive, negative] : labels) {
    check_attribute(attribute);
    wanted.push_back({attribute, positive, negative});
  }
  const auto responses = view(table);
  check_size("table", 2 * kLogisticBins + 1, responses.size());
  if (*std::min_element(responses.begin(), responses.end()) < 0) {
    throw py::value_error("responses must be at least 0");
  }
  const auto n = static_cast<double>(wanted.size());
  const double records = n_attributes == 0 ? 0 : static_cast<double>(codes.shape(1));
  const double operations = records * n * static_cast<double>(own.size() + kExpWork);
  return make_exclusive<CheckedSums>(operations, view(codes), n_attributes, std::move(own), std::move(wanted),
                                     copied(table));
}

/// Checks a step; returns the largest margins it can lead to.
std::vector<std::int64_t> checked_reach(const CheckedSums& own, const Array<std::uint32_t>& chosen,
                                        const Array<std::int32_t>& amounts, std::int64_t scale) {
  const std::size_t n = own.sums.n_labels();
  const std::size_t q = own.sums.n_features();
  check_size("chosen", n, static_cast<std::size_t>(chosen.size()));
  check_size("amounts", n, static_cast<std::size_t>(amounts.size()));
  const auto features = view(chosen);
  const auto added = view(amounts);
  if (std::any_of(features.begin(), features.end(), [=](std::uint32_t f) { return f >= q; })) {
    throw py::value_error("chosen features must be below " + std::to_string(q));
  }
  constexpr std::int64_t kMost = std::int64_t{1} << 31;
  std::vector<std::int64_t> reach = own.reach;
  for (std::size_t r = 0; r < n; ++r) {
    reach[r] += std::abs(std::int64_t{added[r]});
    // A position is rounded, so half of one more fits as well.
    if (scale < 0 || reach[r] >= kMost ||
        (scale > 0 && reach[r] > ((kLogisticBins << 32) + kMost - 1) / scale)) {
      throw py::value_error("amounts and scale must keep positions within the table");
    }
  }
  return reach;
}

Array<std::int64_t> step(Sums& self, const Array<std::uint32_t>& chosen, const Array<std::int32_t>& amounts,
                         std::int64_t scale, int n_threads) {
  const int threads = checked_threads(n_threads);
  py::array::ShapeContainer shape;
  const std::vector<std::uint32_t> features = copied(chosen);
  auto reach = self.look([&](const CheckedSums& own) {
    shape = {own.sums.n_labels(), own.sums.n_features()};
    return checked_reach(own, chosen, amounts, scale);
  });
  Array<std::int64_t> sums(shape);
  const auto out = mutable_view(sums);
  self.run([&, added = view(amounts)](CheckedSums& own) {
    own.sums.step(features, added, scale, out, threads);
    own.reach = std::move(reach);
  });
  return sums;
}

}  // namespace

void bind_logistic_sums(py::module_& m) {
  m.attr("LOGISTIC_BINS") = kLogisticBins;
  py::class_<Sums>(m, "LogisticSums", "Sums over records for Frank-Wolfe steps of logistic regressions.")
      .def(py::init(&make_sums), py::arg("codes").noconvert(), py::arg("features"), py::arg("labels"),
           py::arg("table").noconvert(), py::keep_alive<1, 2>())
      .def("step", &step, py::arg("chosen").noconvert(), py::arg("amounts").noconvert(), py::arg("scale"),
           py::arg("n_threads"), "Adds to margins, then sums responses over features, a row a regression.");
}

}  // namespace pypgm::bind
