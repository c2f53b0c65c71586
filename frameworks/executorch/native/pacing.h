// Paced iterations: when each begins, and which samples of a long run are kept.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

namespace runner {

// Arrival of iterations: at fixed intervals, or at random with a mean and a seed.
struct Arrival {
  double interval_s = 0;
  std::optional<uint64_t> seed; // absent: fixed intervals
};

// Reads `periodic:SECONDS` or `poisson:SECONDS:SEED`. Throws Failure(kUsage) with a sentence that names the flag.
Arrival parse_arrival(const std::string& flag, const std::string& text);

// When each iteration is due, since the first. The same intervals as those of python_runner/pacing.py.
class DueTimes final {
 public:
  explicit DueTimes(const Arrival& arrival) : arrival_(arrival), state_(arrival.seed.value_or(0)) {}

  int64_t next_ns();

 private:
  Arrival arrival_;
  uint64_t state_;
  int64_t number_ = 0;
  double due_ns_ = 0;
};

struct PacedSample {
  int64_t wall_ns;
  int64_t cpu_ns;
  int64_t start_ns; // since the loop began
  int64_t response_ns; // since it was due; 0 without an arrival
  double tokens_per_s; // 0 where nothing is generated
};

// Samples in order, at most 100,000: when they are full every second one goes, of old and of further ones.
class KeptSamples final {
 public:
  void add(const PacedSample& sample);

  const std::vector<PacedSample>& samples() const {
    return samples_;
  }
  int64_t stride() const {
    return stride_;
  }
  int64_t count() const {
    return count_;
  }

 private:
  std::vector<PacedSample> samples_;
  int64_t stride_ = 1;
  int64_t count_ = 0;
};

// Sleeps until the monotonic clock shows a time: pauses are pauses, in which clocks may go down.
void sleep_until(int64_t moment_ns);

} // namespace runner
