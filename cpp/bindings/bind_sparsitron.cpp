// Bindings of the Sparsitron; checks of shapes and signs.
#include <algorithm>
#include <cmath>

#include "bindings.hpp"
#include "core/mrf/sparsitron.hpp"
#include "watched.hpp"

namespace pypgm::bind {

namespace {

constexpr double kPasses = 20;  // over the records, or as long as that: most of them exponentials

SignedRecords records_of(const Array<std::int8_t>& features, const Array<std::int8_t>& labels) {
  if (features.ndim() != 2 || features.shape(0) != labels.size()) {
    throw py::value_error("features must have one row a label");
  }
  return {view(features), view(labels), static_cast<std::size_t>(features.shape(1))};
}

void check_signs(const SignedRecords& records) {
  const auto is_sign = [](std::int8_t f) { return f == 1 || f == -1; };
  const auto& x = records.features;
  const auto& y = records.labels;
  if (!std::all_of(x.begin(), x.end(), [=](std::int8_t f) { return f == 0 || is_sign(f); }) ||
      !std::all_of(y.begin(), y.end(), is_sign)) {
    throw py::value_error("features must be -1, 0 or 1, and labels -1 or 1");
  }
}

Array<double> learn(const Array<std::int8_t>& features, const Array<std::int8_t>& labels,
                    const Array<std::int8_t>& held_features, const Array<std::int8_t>& held_labels,
                    double radius, std::size_t n_candidates) {
  const SignedRecords training = records_of(features, labels);
  const SignedRecords held_out = records_of(held_features, held_labels);
  if (training.size() == 0) throw py::value_error("at least one record must train");
  if (held_out.n_features != training.n_features) {
    throw py::value_error("held-out records must have as many features as those that train");
  }
  if (!(radius > 0) || !std::isfinite(radius) || n_candidates == 0) {
    throw py::value_error("radius and n_candidates must be positive");
  }
  Array<double> weights = allocate<double>(training.n_features);
  const auto out = mutable_view(weights);
  watched(static_cast<double>(features.size() + held_features.size()) * kPasses <= kBriefOperations, [&] {
    check_signs(training);
    check_signs(held_out);
    sparsitron(training, held_out, radius, n_candidates, out);
  });
  return weights;
}

}  // namespace

void bind_sparsitron(py::module_& m) {
  m.def("sparsitron", &learn, py::arg("features").noconvert(), py::arg("labels").noconvert(),
        py::arg("held_features").noconvert(), py::arg("held_labels").noconvert(), py::arg("radius"),
        py::arg("n_candidates"), "Weights of a logistic model by one pass of multiplicative weights.");
}

}  // namespace pypgm::bind
