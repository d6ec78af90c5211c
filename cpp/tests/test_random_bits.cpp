#include <doctest/doctest.h>

#include <algorithm>
#include <array>
#include <cstdint>
#include <cstring>
#include <thread>
#include <vector>

#include "core/noise/random_bits.hpp"

#if !defined(_WIN32)
#include <sys/wait.h>
#include <unistd.h>
#endif

using namespace pypgm;

namespace {

constexpr std::size_t kDrawn = 10'000;

std::vector<std::uint64_t> draw(std::size_t n = kDrawn) {
  SecureWords& words = secure_words();
  std::vector<std::uint64_t> drawn(n);
  for (auto& word : drawn) word = words.next();
  return drawn;
}

/// Among 10^5 or so independent 64-bit words a repeat has probability below 1e-9.
bool has_duplicates(std::vector<std::uint64_t> words) {
  std::sort(words.begin(), words.end());
  return std::adjacent_find(words.begin(), words.end()) != words.end();
}

#if !defined(_WIN32)
/// Draws in a forked child and sends the words home through a pipe.
std::vector<std::uint64_t> draw_in_child() {
  std::array<int, 2> ends{};
  REQUIRE(pipe(ends.data()) == 0);
  const pid_t child = fork();
  REQUIRE(child >= 0);
  if (child == 0) {
    const std::vector<std::uint64_t> drawn = draw();
    const auto* bytes = reinterpret_cast<const char*>(drawn.data());
    for (std::size_t sent = 0; sent < 8 * kDrawn;) {
      const ssize_t now = write(ends[1], bytes + sent, 8 * kDrawn - sent);
      if (now <= 0) _exit(1);
      sent += static_cast<std::size_t>(now);
    }
    _exit(0);
  }
  close(ends[1]);
  std::vector<std::uint64_t> drawn(kDrawn);
  auto* bytes = reinterpret_cast<char*>(drawn.data());
  std::size_t came = 0;
  for (ssize_t now = 1; now > 0 && came < 8 * kDrawn;
       came += static_cast<std::size_t>(std::max<ssize_t>(now, 0))) {
    now = read(ends[0], bytes + came, 8 * kDrawn - came);
  }
  close(ends[0]);
  int status = 0;
  waitpid(child, &status, 0);
  CHECK(status == 0);
  CHECK(came == 8 * kDrawn);
  return drawn;
}
#endif

}  // namespace

TEST_CASE("chacha20 gives the block of RFC 8439, section 2.3.2") {
  std::array<std::uint32_t, 8> key{};
  for (std::uint32_t i = 0; i < 8; ++i) {
    key[i] = (4 * i) | (4 * i + 1) << 8 | (4 * i + 2) << 16 | (4 * i + 3) << 24;
  }
  std::array<std::uint32_t, kChaChaWords> out{};
  chacha20(key, 1, {0x09000000, 0x4a000000, 0x00000000}, out);
  const std::array<std::uint32_t, 16> expected{
      0xe4e7f110, 0x15593bd1, 0x1fdd0f50, 0xc47120a3, 0xc7f4d1c7, 0x0368c033, 0x9aaa2204, 0x4e6cd4c3,
      0x466482d2, 0x09aa9f07, 0x05d7c214, 0xa2028bd9, 0xd19c12b5, 0xb94e16de, 0xe883d0cb, 0x4e3c50a2};
  CHECK(std::equal(expected.begin(), expected.end(), out.begin()));
}

TEST_CASE("every lane of chacha20 is the block of its counter") {
  const std::array<std::uint32_t, 8> key{1, 2, 3, 4, 5, 6, 7, 8};
  std::array<std::uint32_t, kChaChaWords> all{};
  chacha20(key, 0xfffffffe, {9, 10, 11}, all);
  for (std::uint32_t lane = 0; lane < kChaChaLanes; ++lane) {
    std::array<std::uint32_t, kChaChaWords> one{};
    chacha20(key, 0xfffffffe + lane, {9, 10, 11}, one);
    CHECK(std::equal(one.begin(), one.begin() + 16, all.begin() + 16 * lane));
  }
}

TEST_CASE("a stream does not repeat itself over refills, and rekeying starts another") {
  SecureWords one;
  SecureWords other;
  std::vector<std::uint64_t> drawn;
  for (int part = 0; part < 3; ++part) {
    for (int i = 0; i < 5000; ++i) drawn.push_back(one.next());
    for (int i = 0; i < 5000; ++i) drawn.push_back(other.next());
    one.rekey();
  }
  CHECK_FALSE(has_duplicates(drawn));
}

TEST_CASE("bits of the stream are balanced") {
  std::array<int, 64> ones{};
  for (const std::uint64_t word : draw(100'000)) {
    for (std::size_t bit = 0; bit < 64; ++bit) ones[bit] += static_cast<int>(word >> bit & 1);
  }
  // Seven standard deviations of 158: a fair bit fails once in 4e11 runs.
  for (const int count : ones) CHECK(std::abs(count - 50'000) < 1107);
}

TEST_CASE("threads never share words") {
  std::vector<std::vector<std::uint64_t>> drawn(8);
  std::vector<std::thread> threads;
  for (auto& mine : drawn) threads.emplace_back([&mine] { mine = draw(); });
  for (auto& thread : threads) thread.join();
  std::vector<std::uint64_t> all = draw();
  for (const auto& mine : drawn) all.insert(all.end(), mine.begin(), mine.end());
  CHECK_FALSE(has_duplicates(all));
}

#if !defined(_WIN32)
TEST_CASE("forked children share words neither with their parent nor with each other") {
  std::vector<std::uint64_t> all = draw(1);  // the stream is open, with words buffered, before the fork
  for (int child = 0; child < 4; ++child) {
    const std::vector<std::uint64_t> theirs = draw_in_child();
    all.insert(all.end(), theirs.begin(), theirs.end());
  }
  const std::vector<std::uint64_t> mine = draw();
  all.insert(all.end(), mine.begin(), mine.end());
  CHECK_FALSE(has_duplicates(all));
}
#endif
