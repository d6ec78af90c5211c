#pragma once
// The source of release noise: ChaCha20 keyed by the operating system, wiped after use, safe after fork.
#include <array>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>

namespace pypgm {

/// Anything that hands out independent uniform 64-bit words; samplers are templates on it, so a test can
/// script it.
template <class Source>
concept WordSource = requires(Source& source) {
  { source.next() } -> std::same_as<std::uint64_t>;
};

/// Blocks of the ChaCha20 keystream made side by side (the compiler turns lanes into vector registers).
inline constexpr std::size_t kChaChaLanes = 8;
inline constexpr std::size_t kChaChaWords = 16 * kChaChaLanes;

/// The ChaCha20 keystream of RFC 8439: blocks counter, counter + 1, ..., one after the other, as 32-bit
/// words.
void chacha20(const std::array<std::uint32_t, 8>& key, std::uint32_t counter,
              const std::array<std::uint32_t, 3>& nonce, std::span<std::uint32_t, kChaChaWords> out);

/// Fills a buffer from the operating system's generator; throws std::system_error or std::runtime_error if it
/// cannot: there is no weaker fallback.
void system_entropy(std::span<std::uint8_t> out);

/// A stream of ChaCha20 words. Each refill replaces the key by the first 256 bits of its own keystream, and a
/// word is wiped as it is handed out, so memory read later does not reveal earlier noise. How
/// good the stream is depends on who made the key: see the two classes below. Not to be shared between
/// threads, never copied.
class WordStream {
 public:
  WordStream(const WordStream&) = delete;
  WordStream& operator=(const WordStream&) = delete;

  std::uint64_t next() {
    if (used_ == kWords) refill();
    const std::uint64_t word = words_[used_];
    words_[used_++] = 0;
    return word;
  }

 protected:
  static constexpr std::size_t kKeyWords = 8;

  WordStream() = default;
  ~WordStream();

  /// Takes a key and drops what was buffered.
  void set_key(const std::array<std::uint32_t, kKeyWords>& key);

 private:
  static constexpr std::size_t kWords = (kChaChaWords - kKeyWords) / 2;

  void refill();

  std::array<std::uint32_t, kKeyWords> key_{};
  std::array<std::uint64_t, kWords> words_{};
  std::size_t used_ = kWords;
};

/// Keyed by the operating system: the only stream a private release draws from.
class SecureWords : public WordStream {
 public:
  SecureWords() { rekey(); }

  /// Takes a fresh key from the operating system and drops what was buffered.
  void rekey();
};

/// Keyed by a number that others can know or guess: what is drawn from it protects nobody.
class SeededWords : public WordStream {
 public:
  explicit SeededWords(std::uint64_t seed);
};

/// The calling thread's own stream, rekeyed first if the process has forked since the last call. Call it once
/// in each function and keep the reference no longer: this thread cannot fork in between.
SecureWords& secure_words();

}  // namespace pypgm
