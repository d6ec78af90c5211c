#include "bindings.hpp"
#include "core/base/threads.hpp"
#include "core/simd/kernels.hpp"

namespace pypgm::bind {

namespace {

std::string compiler() {
#if defined(__clang__)
  return "clang " __clang_version__;
#elif defined(__GNUC__)
  return "gcc " __VERSION__;
#elif defined(_MSC_VER)
  return "msvc " + std::to_string(_MSC_VER);
#else
  return "unknown";
#endif
}

}  // namespace

void bind_build_info(py::module_& m) {
  m.def(
      "build_info",
      [] {
        py::dict info;
        info["version"] = PYPGM_VERSION;
        info["compiler"] = compiler();
        info["instruction_set"] = kernels().instruction_set;
        info["openmp"] = openmp_version();
        info["threads"] = max_threads();
        return info;
      },
      "Facts about this build.");
}

}  // namespace pypgm::bind
