#pragma once
// What a call with arguments of the wrong types says.
#include <pybind11/pybind11.h>

namespace pypgm::bind {

/// Makes every function, method and property of a finished module name its signatures alone where arguments
/// do not fit. pybind11 prints the arguments as well: counts, scores, codes and numbers of records, which are
/// private.
void hide_arguments(pybind11::module_& m);

}  // namespace pypgm::bind
