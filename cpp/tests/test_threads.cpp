#include <doctest/doctest.h>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <stdexcept>
#include <string>
#include <thread>
#include <vector>

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

#include "core/base/threads.hpp"

using pypgm::kGrain;
using pypgm::max_threads;
using pypgm::openmp_version;
using pypgm::parallel_for;
using pypgm::threads_for;

TEST_CASE("parallel_for visits every index exactly once") {
  for (const int n_threads : {0, 1, 2, 5}) {
    for (const std::size_t n : {0, 1, 2, 3, 1000}) {
      CAPTURE(n_threads);
      CAPTURE(n);
      std::vector<int> visits(n, 0);
      parallel_for(n, n_threads, [&](std::size_t i) { ++visits[i]; });
      CHECK(std::all_of(visits.begin(), visits.end(), [](int count) { return count == 1; }));
    }
  }
}

TEST_CASE("parallel_for with one thread runs in order on the calling thread") {
  const auto caller = std::this_thread::get_id();
  std::vector<std::size_t> order;
  parallel_for(5, 1, [&](std::size_t i) {
    CHECK(std::this_thread::get_id() == caller);
    order.push_back(i);
  });
  CHECK(order == std::vector<std::size_t>{0, 1, 2, 3, 4});
}

TEST_CASE("parallel_for with one thread makes no team: it ends at the first exception") {
  std::size_t begun = 0;
  const auto fail_at_second = [&](std::size_t i) {
    ++begun;
    if (i == 1) throw std::runtime_error("second");
  };
  CHECK_THROWS_WITH_AS(parallel_for(10, 1, fail_at_second), "second", std::runtime_error);
  CHECK(begun == 2);
}

TEST_CASE("parallel_for rethrows one exception after the loop, with its type") {
  std::atomic<int> thrown = 0;
  const auto fail_often = [&](std::size_t i) {
    if (i % 10 == 0) {
      ++thrown;
      throw std::out_of_range("index " + std::to_string(i));
    }
  };
  CHECK_THROWS_AS(parallel_for(100, 2, fail_often), std::out_of_range);
  CHECK(thrown >= 1);
  const auto fail_once = [](std::size_t i) {
    if (i == 37) throw std::invalid_argument("the one");
  };
  CHECK_THROWS_WITH_AS(parallel_for(100, 2, fail_once), "the one", std::invalid_argument);
}

TEST_CASE("parallel_for works again after an exception") {
  CHECK_THROWS(parallel_for(4, 2, [](std::size_t) { throw std::runtime_error("once"); }));
  std::atomic<std::size_t> sum = 0;
  parallel_for(4, 2, [&](std::size_t i) { sum += i; });
  CHECK(sum == 6);
}

TEST_CASE("a thread that is done takes what another has not begun") {
  if (openmp_version() == 0) return;
  constexpr std::size_t n = 40;
  const auto caller = std::this_thread::get_id();
  const auto deadline = std::chrono::steady_clock::now() + std::chrono::seconds(20);
  std::atomic<std::size_t> others = 0;
  std::atomic<bool> two = false;
  std::atomic<bool> first_was_last = false;
  parallel_for(n, 2, [&](std::size_t i) {
    if (std::this_thread::get_id() != caller) two = true;
    if (i > 0) {
      ++others;
      return;
    }
    // The rest of its own thread's share comes after it, unless the other thread takes it.
    while (others < n - 1 && std::chrono::steady_clock::now() < deadline) std::this_thread::yield();
    first_was_last = others == n - 1;
  });
  CHECK(others == n - 1);
  if (two) CHECK(first_was_last);
}

TEST_CASE("work that nobody wants any more is left, on any number of threads") {
  for (const int n_threads : {1, 2, 5}) {
    CAPTURE(n_threads);
    pypgm::Watch watch;
    std::atomic<int> done = 0;
    const auto work = [&](std::size_t i) {
      ++done;
      if (i == 0) watch.abandoned = true;
      while (!watch.abandoned) std::this_thread::yield();
    };
    {
      const pypgm::WatchScope scope(&watch);
      CHECK_THROWS_AS(parallel_for(100000, n_threads, work), pypgm::Abandoned);
    }
    CHECK(done <= n_threads);
    parallel_for(10, n_threads, [&](std::size_t) { ++done; });  // of which nothing is watched
    CHECK(done >= 11);
  }
}

TEST_CASE("loops inside a loop are their thread's own") {
  for (const int n_threads : {2, 5}) {
    CAPTURE(n_threads);
    std::atomic<int> visits = 0, strangers = 0;
    parallel_for(20, n_threads, [&](std::size_t) {
      const auto own = std::this_thread::get_id();
      parallel_for(30, n_threads, [&](std::size_t) {
        ++visits;
        if (std::this_thread::get_id() != own) ++strangers;
      });
    });
    CHECK(visits == 600);
    CHECK(strangers == 0);
  }
}

TEST_CASE("who has a loop while the helpers are in another one does it alone") {
  std::atomic<bool> begun = false, ended = false;
  std::thread first([&] {
    parallel_for(2, 2, [&](std::size_t) {
      begun = true;
      while (!ended) std::this_thread::yield();
    });
  });
  while (!begun) std::this_thread::yield();
  const auto own = std::this_thread::get_id();
  std::size_t visits = 0;
  bool alone = true;
  parallel_for(100, 2, [&](std::size_t) {
    alone = alone && std::this_thread::get_id() == own;
    if (alone) ++visits;
  });
  ended = true;
  first.join();
  CHECK(alone);
  CHECK(visits == 100);
}

TEST_CASE("loops of any size follow each other closely") {
  std::size_t wrong = 0;
  for (std::size_t k = 0; k < 20000; ++k) {
    std::atomic<std::size_t> sum = 0;
    const std::size_t n = k % 7;
    parallel_for(n, 2 + static_cast<int>(k % 4), [&](std::size_t i) { sum += i + 1; });
    if (sum != n * (n + 1) / 2) ++wrong;
  }
  CHECK(wrong == 0);
}

#if !defined(_WIN32)
TEST_CASE("a forked child has one thread, after any loop of its parent") {
  std::atomic<int> visits = 0;
  parallel_for(100, 2, [&](std::size_t) { ++visits; });
  const pid_t child = fork();
  if (child == 0) {
    const auto caller = std::this_thread::get_id();
    bool alone = max_threads() == 1 && threads_for(1000 * kGrain, 8) == 1;
    parallel_for(100, 4, [&](std::size_t) { alone = alone && std::this_thread::get_id() == caller; });
    _exit(alone ? 0 : 1);
  }
  int status = -1;
  CHECK(waitpid(child, &status, 0) == child);
  CHECK(status == 0);
  CHECK(visits == 100);
}
#endif

TEST_CASE("threads_for gives every thread at least a grain of work") {
  CHECK(threads_for(0, 8) == 1);
  CHECK(threads_for(kGrain - 1, 8) == 1);
  CHECK(threads_for(2 * kGrain - 1, 8) == 1);
  CHECK(threads_for(2 * kGrain, 8) == 2);
  CHECK(threads_for(7 * kGrain, 8) == 7);
  CHECK(threads_for(1000 * kGrain, 8) == 8);
}

TEST_CASE("no team is larger than the machine has a use for") {
  CHECK(threads_for(std::size_t{1} << 60, 100000) <= std::max(64, max_threads()));
  CHECK(threads_for(std::size_t{1} << 60, 100000) >= 64);
}

TEST_CASE("threads_for with 0 offers what the machine has") {
  CHECK(threads_for(1000 * kGrain, 0) == std::min(1000, max_threads()));
  CHECK(threads_for(1000 * kGrain, 1) == 1);
}

TEST_CASE("max_threads is one where there is no OpenMP") {
  CHECK(max_threads() >= 1);
  if (openmp_version() == 0) CHECK(max_threads() == 1);
}
