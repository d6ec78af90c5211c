#include "core/threads.hpp"

#include <algorithm>
#include <cstdint>
#include <exception>

#ifdef _OPENMP
#include <omp.h>
#endif

namespace pypgm {

int max_threads() {
#ifdef _OPENMP
  return omp_get_max_threads();
#else
  return 1;
#endif
}

int openmp_version() {
#ifdef _OPENMP
  return _OPENMP;
#else
  return 0;
#endif
}

int threads_for(std::size_t work, int n_threads) {
  const int wanted = n_threads > 0 ? n_threads : max_threads();
  const std::size_t useful = std::max<std::size_t>(1, work / kGrain);
  return static_cast<int>(std::min<std::size_t>(static_cast<std::size_t>(wanted), useful));
}

void run_team(std::size_t n, int n_threads, void (*call)(const void* body, std::size_t i), const void* body) {
#ifdef _OPENMP
  std::exception_ptr failure;
  // Signed index: MSVC's OpenMP takes no other.
  const auto count = static_cast<std::int64_t>(n);
#pragma omp parallel for num_threads(n_threads) schedule(dynamic)
  for (std::int64_t i = 0; i < count; ++i) {
    try {
      call(body, static_cast<std::size_t>(i));
    } catch (...) {
#pragma omp critical(pypgm_parallel_for)
      if (!failure) failure = std::current_exception();
    }
  }
  if (failure) std::rethrow_exception(failure);
#else
  static_cast<void>(n_threads);
  for (std::size_t i = 0; i < n; ++i) call(body, i);
#endif
}

}  // namespace pypgm
