#include "pacing.h"

#include <time.h>

#include <cerrno>
#include <cmath>
#include <cstdlib>

#include "arguments.h"
#include "failure.h"
#include "machine.h"

namespace runner {
namespace {

constexpr size_t kMostSamples = 100000;

[[noreturn]] void refuse(const std::string& flag, const std::string& text) {
  throw Failure(
      ExitStatus::kUsage, "argument " + flag + ": '" + text + "' is neither periodic:SECONDS nor poisson:SECONDS:SEED");
}

double positive(const std::string& flag, const std::string& whole_text, const std::string& text) {
  const bool plain = !text.empty() && text.find_first_not_of("0123456789.") == std::string::npos &&
      text.front() != '.' && text.back() != '.';
  char* end = nullptr;
  const double value = plain ? std::strtod(text.c_str(), &end) : 0; // "C" locale: setlocale is never called
  if (!plain || *end != '\0' || !std::isfinite(value) || value <= 0 || value > static_cast<double>(kLargest)) {
    refuse(flag, whole_text);
  }
  return value;
}

uint64_t split_mix(uint64_t& state) {
  state += 0x9E3779B97F4A7C15u;
  uint64_t word = state;
  word = (word ^ (word >> 30)) * 0xBF58476D1CE4E5B9u;
  word = (word ^ (word >> 27)) * 0x94D049BB133111EBu;
  return word ^ (word >> 31);
}

} // namespace

Arrival parse_arrival(const std::string& flag, const std::string& text) {
  const std::string periodic = "periodic:";
  const std::string poisson = "poisson:";
  if (text.rfind(periodic, 0) == 0) {
    return {positive(flag, text, text.substr(periodic.size())), std::nullopt};
  }
  const size_t colon = text.rfind(':');
  if (text.rfind(poisson, 0) != 0 || colon < poisson.size()) {
    refuse(flag, text);
  }
  const std::string seed = text.substr(colon + 1);
  if (seed.empty() || seed.size() > 19 || seed.find_first_not_of("0123456789") != std::string::npos) {
    refuse(flag, text);
  }
  const double mean_s = positive(flag, text, text.substr(poisson.size(), colon - poisson.size()));
  return {mean_s, std::strtoull(seed.c_str(), nullptr, 10)};
}

int64_t DueTimes::next_ns() {
  if (!arrival_.seed) {
    return std::llround(static_cast<double>(number_++) * arrival_.interval_s * 1e9);
  }
  const double due_ns = due_ns_;
  const double share = static_cast<double>((split_mix(state_) >> 11) + 1) / 9007199254740992.0; // 2^53
  due_ns_ -= std::log(share) * arrival_.interval_s * 1e9;
  return std::llround(due_ns);
}

void KeptSamples::add(const PacedSample& sample) {
  if (count_ % stride_ == 0) {
    if (samples_.size() == kMostSamples) {
      for (size_t i = 0; 2 * i < kMostSamples; ++i) {
        samples_[i] = samples_[2 * i];
      }
      samples_.resize(kMostSamples / 2);
      stride_ *= 2;
    }
    if (count_ % stride_ == 0) {
      samples_.push_back(sample);
    }
  }
  ++count_;
}

void sleep_until(int64_t moment_ns) {
#if defined(__APPLE__) // has no sleep until a moment
  for (int64_t left = moment_ns - now_ns(CLOCK_MONOTONIC); left > 0; left = moment_ns - now_ns(CLOCK_MONOTONIC)) {
    const timespec pause = {static_cast<time_t>(left / 1000000000), static_cast<long>(left % 1000000000)};
    nanosleep(&pause, nullptr);
  }
#else
  const timespec moment = {static_cast<time_t>(moment_ns / 1000000000), static_cast<long>(moment_ns % 1000000000)};
  while (clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &moment, nullptr) == EINTR) {
  }
#endif
}

} // namespace runner
