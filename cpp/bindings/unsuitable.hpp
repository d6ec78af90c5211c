#pragma once
// What a call with arguments of the wrong types says, and what is no call for objects of the core.
#include <pybind11/pybind11.h>

namespace pypgm::bind {

/// Makes every function, method and property of a finished module name its signatures alone where arguments
/// do not fit. pybind11 prints the arguments as well: counts, scores, codes and numbers of records, which are
/// private.
void hide_arguments(pybind11::module_& m);

/// Makes objects of a finished module refuse to be pickled and copied. What Python does instead, for the
/// oldest protocols, makes an object of pybind11's own base, which ends the process.
void refuse_pickles(pybind11::module_& m);

}  // namespace pypgm::bind
