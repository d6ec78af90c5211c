// ChaCha20, entropy of the operating system, and the detection of forks.
#include "core/noise/random_bits.hpp"

#include <algorithm>
#include <atomic>
#include <bit>
#include <cerrno>
#include <stdexcept>
#include <system_error>

#if defined(_WIN32)
#define WIN32_LEAN_AND_MEAN
#define NOMINMAX
#include <windows.h>
// bcrypt.h needs the types of windows.h.
#include <bcrypt.h>
#else
#include <pthread.h>
#include <sys/random.h>
#include <unistd.h>
#endif

namespace pypgm {

namespace {

using Lane = std::array<std::uint32_t, kChaChaLanes>;

void quarter_round(Lane& a, Lane& b, Lane& c, Lane& d) {
  for (std::size_t i = 0; i < kChaChaLanes; ++i) {
    a[i] += b[i];
    d[i] = std::rotl(d[i] ^ a[i], 16);
    c[i] += d[i];
    b[i] = std::rotl(b[i] ^ c[i], 12);
    a[i] += b[i];
    d[i] = std::rotl(d[i] ^ a[i], 8);
    c[i] += d[i];
    b[i] = std::rotl(b[i] ^ c[i], 7);
  }
}

/// Overwrites memory that held secrets; volatile, so the stores are not dropped as dead.
template <class T, std::size_t N>
void wipe(std::array<T, N>& memory) {
  volatile T* place = memory.data();
  for (std::size_t i = 0; i < N; ++i) place[i] = 0;
}

/// Counts the forks this process descends from. A process id alone is not enough: ids are reused.
std::atomic<std::uint64_t> fork_generation{0};

std::uint64_t process_id() {
#if defined(_WIN32)
  return GetCurrentProcessId();
#else
  return static_cast<std::uint64_t>(getpid());
#endif
}

void watch_forks() {
#if !defined(_WIN32)
  static const int failed =
      pthread_atfork(nullptr, nullptr, [] { fork_generation.fetch_add(1, std::memory_order_relaxed); });
  if (failed != 0) throw std::system_error(failed, std::generic_category(), "cannot watch for forks");
#endif
}

}  // namespace

void chacha20(const std::array<std::uint32_t, 8>& key, std::uint32_t counter,
              const std::array<std::uint32_t, 3>& nonce, std::span<std::uint32_t, kChaChaWords> out) {
  constexpr std::array<std::uint32_t, 4> kSigma{0x61707865, 0x3320646e, 0x79622d32, 0x6b206574};
  std::array<Lane, 16> start;
  for (std::size_t lane = 0; lane < kChaChaLanes; ++lane) {
    for (std::size_t i = 0; i < 4; ++i) start[i][lane] = kSigma[i];
    for (std::size_t i = 0; i < 8; ++i) start[4 + i][lane] = key[i];
    start[12][lane] = counter + static_cast<std::uint32_t>(lane);
    for (std::size_t i = 0; i < 3; ++i) start[13 + i][lane] = nonce[i];
  }
  std::array<Lane, 16> x = start;
  for (int round = 0; round < 10; ++round) {
    quarter_round(x[0], x[4], x[8], x[12]);
    quarter_round(x[1], x[5], x[9], x[13]);
    quarter_round(x[2], x[6], x[10], x[14]);
    quarter_round(x[3], x[7], x[11], x[15]);
    quarter_round(x[0], x[5], x[10], x[15]);
    quarter_round(x[1], x[6], x[11], x[12]);
    quarter_round(x[2], x[7], x[8], x[13]);
    quarter_round(x[3], x[4], x[9], x[14]);
  }
  for (std::size_t lane = 0; lane < kChaChaLanes; ++lane) {
    for (std::size_t i = 0; i < 16; ++i) out[16 * lane + i] = x[i][lane] + start[i][lane];
  }
}

void system_entropy(std::span<std::uint8_t> out) {
#if defined(_WIN32)
  const NTSTATUS status =
      BCryptGenRandom(nullptr, out.data(), static_cast<ULONG>(out.size()), BCRYPT_USE_SYSTEM_PREFERRED_RNG);
  if (status != 0) throw std::runtime_error("the operating system gives no random bytes (BCryptGenRandom)");
#elif defined(__linux__)
  std::size_t filled = 0;
  while (filled < out.size()) {
    const ssize_t came = getrandom(out.data() + filled, out.size() - filled, 0);
    if (came < 0 && errno == EINTR) continue;
    if (came < 0) throw std::system_error(errno, std::generic_category(), "getrandom");
    filled += static_cast<std::size_t>(came);
  }
#else
  // getentropy gives at most 256 bytes a call.
  for (std::size_t first = 0; first < out.size(); first += 256) {
    if (getentropy(out.data() + first, std::min<std::size_t>(256, out.size() - first)) != 0) {
      throw std::system_error(errno, std::generic_category(), "getentropy");
    }
  }
#endif
}

WordStream::~WordStream() {
  wipe(key_);
  wipe(words_);
}

void WordStream::set_key(const std::array<std::uint32_t, kKeyWords>& key) {
  key_ = key;
  wipe(words_);
  used_ = kWords;
}

void SecureWords::rekey() {
  std::array<std::uint8_t, 4 * kKeyWords> bytes;
  system_entropy(bytes);
  std::array<std::uint32_t, kKeyWords> key;
  for (std::size_t i = 0; i < kKeyWords; ++i) {
    key[i] = bytes[4 * i] | static_cast<std::uint32_t>(bytes[4 * i + 1]) << 8 |
             static_cast<std::uint32_t>(bytes[4 * i + 2]) << 16 |
             static_cast<std::uint32_t>(bytes[4 * i + 3]) << 24;
  }
  set_key(key);
  wipe(bytes);
  wipe(key);
}

SeededWords::SeededWords(std::uint64_t seed) {
  set_key({static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)});
}

void WordStream::refill() {
  // Counter and nonce stay 0: a key serves one refill only.
  std::array<std::uint32_t, kChaChaWords> stream;
  chacha20(key_, 0, {0, 0, 0}, stream);
  std::copy_n(stream.begin(), kKeyWords, key_.begin());
  for (std::size_t i = 0; i < kWords; ++i) {
    const std::size_t at = kKeyWords + 2 * i;
    words_[i] = stream[at] | static_cast<std::uint64_t>(stream[at + 1]) << 32;
  }
  wipe(stream);
  used_ = 0;
}

SecureWords& secure_words() {
  watch_forks();
  thread_local SecureWords words;
  thread_local std::uint64_t generation = fork_generation.load(std::memory_order_relaxed);
  // The id catches children made without the fork handlers (a bare clone), the generation those with a reused
  // id.
  thread_local std::uint64_t process = process_id();
  const std::uint64_t generation_now = fork_generation.load(std::memory_order_relaxed);
  const std::uint64_t process_now = process_id();
  if (generation != generation_now || process != process_now) {
    words.rekey();
    generation = generation_now;
    process = process_now;
  }
  return words;
}

}  // namespace pypgm
