#include "sha256.h"

#include <array>
#include <cstdint>
#include <cstring>
#include <fstream>

namespace app {
namespace {

constexpr std::array<uint32_t, 64> kRounds = {
    0x428a2f98, 0x71374491, 0xb5c0fbcf, 0xe9b5dba5, 0x3956c25b, 0x59f111f1, 0x923f82a4, 0xab1c5ed5,
    0xd807aa98, 0x12835b01, 0x243185be, 0x550c7dc3, 0x72be5d74, 0x80deb1fe, 0x9bdc06a7, 0xc19bf174,
    0xe49b69c1, 0xefbe4786, 0x0fc19dc6, 0x240ca1cc, 0x2de92c6f, 0x4a7484aa, 0x5cb0a9dc, 0x76f988da,
    0x983e5152, 0xa831c66d, 0xb00327c8, 0xbf597fc7, 0xc6e00bf3, 0xd5a79147, 0x06ca6351, 0x14292967,
    0x27b70a85, 0x2e1b2138, 0x4d2c6dfc, 0x53380d13, 0x650a7354, 0x766a0abb, 0x81c2c92e, 0x92722c85,
    0xa2bfe8a1, 0xa81a664b, 0xc24b8b70, 0xc76c51a3, 0xd192e819, 0xd6990624, 0xf40e3585, 0x106aa070,
    0x19a4c116, 0x1e376c08, 0x2748774c, 0x34b0bcb5, 0x391c0cb3, 0x4ed8aa4a, 0x5b9cca4f, 0x682e6ff3,
    0x748f82ee, 0x78a5636f, 0x84c87814, 0x8cc70208, 0x90befffa, 0xa4506ceb, 0xbef9a3f7, 0xc67178f2};

uint32_t rotate(uint32_t word, int count) {
  return word >> count | word << (32 - count);
}

class Sha256 final {
 public:
  void add_block(const unsigned char* block) {
    std::array<uint32_t, 64> words;
    for (size_t i = 0; i < 16; ++i) {
      words[i] = uint32_t{block[4 * i]} << 24 | uint32_t{block[4 * i + 1]} << 16 | uint32_t{block[4 * i + 2]} << 8 |
          uint32_t{block[4 * i + 3]};
    }
    for (size_t i = 16; i < 64; ++i) {
      const uint32_t early = words[i - 15];
      const uint32_t late = words[i - 2];
      words[i] = words[i - 16] + (rotate(early, 7) ^ rotate(early, 18) ^ early >> 3) + words[i - 7] +
          (rotate(late, 17) ^ rotate(late, 19) ^ late >> 10);
    }
    auto [a, b, c, d, e, f, g, h] = state_;
    for (size_t i = 0; i < 64; ++i) {
      const uint32_t first =
          h + (rotate(e, 6) ^ rotate(e, 11) ^ rotate(e, 25)) + ((e & f) ^ (~e & g)) + kRounds[i] + words[i];
      const uint32_t second = (rotate(a, 2) ^ rotate(a, 13) ^ rotate(a, 22)) + ((a & b) ^ (a & c) ^ (b & c));
      h = g, g = f, f = e, e = d + first, d = c, c = b, b = a, a = first + second;
    }
    const std::array<uint32_t, 8> sums = {a, b, c, d, e, f, g, h};
    for (size_t i = 0; i < 8; ++i) {
      state_[i] += sums[i];
    }
  }

  std::string hexadecimal() const {
    std::string text;
    for (const uint32_t word : state_) {
      for (int shift = 28; shift >= 0; shift -= 4) {
        text += "0123456789abcdef"[(word >> shift) & 15];
      }
    }
    return text;
  }

 private:
  std::array<uint32_t, 8> state_ = {
      0x6a09e667, 0xbb67ae85, 0x3c6ef372, 0xa54ff53a, 0x510e527f, 0x9b05688c, 0x1f83d9ab, 0x5be0cd19};
};

} // namespace

std::string sha256_of_file(const std::string& path) {
  std::ifstream file(path, std::ios::binary);
  if (!file) {
    return "";
  }
  Sha256 digest;
  std::array<unsigned char, 64> block;
  uint64_t bytes = 0;
  size_t count = 64;
  while (count == 64) {
    file.read(reinterpret_cast<char*>(block.data()), 64);
    count = static_cast<size_t>(file.gcount());
    bytes += count;
    if (count == 64) {
      digest.add_block(block.data());
    }
  }
  if (!file.eof()) {
    return "";
  }
  block[count] = 0x80;
  std::memset(block.data() + count + 1, 0, 63 - count);
  if (count >= 56) {
    digest.add_block(block.data());
    block.fill(0);
  }
  for (size_t i = 0; i < 8; ++i) {
    block[63 - i] = static_cast<unsigned char>(bytes * 8 >> (8 * i));
  }
  digest.add_block(block.data());
  return digest.hexadecimal();
}

} // namespace app
