#include "clocks.h"

#include <string>

#include "failure.h"
#include "machine.h"

#if defined(__linux__)
#include <fcntl.h>
#include <unistd.h>

#include <cstdlib>
#endif

namespace runner {

#if defined(__linux__)

namespace {

// Nanoseconds that its thread ran, that it waited for a CPU, and how often it ran (Documentation/scheduler/sched-stats).
const char* const kThread = "/proc/thread-self/schedstat";

constexpr size_t kLongest = 64; // three numbers of 64 bits

} // namespace

WallClock::WallClock(bool own) {
  if (!own) {
    return;
  }
  file_ = open(kThread, O_RDONLY | O_CLOEXEC);
  runner::now_ns(CLOCK_THREAD_CPUTIME_ID); // brings the kernel's account of a young thread up to date
  if (file_ < 0 || read_times().ran_ns <= 0) { // a kernel without this accounting tells zeros
    throw Failure(
        ExitStatus::kUsage,
        std::string("argument --own-time: the kernel does not tell how long a thread waited for a CPU (") + kThread +
            ")");
  }
}

WallClock::~WallClock() {
  if (file_ >= 0) {
    close(file_);
  }
}

WallClock::ThreadTimes WallClock::read_times() const {
  char text[kLongest + 1];
  const ssize_t size = pread(file_, text, kLongest, 0);
  text[size > 0 ? size : 0] = '\0';
  char* second = nullptr;
  const int64_t ran_ns = std::strtoll(text, &second, 10);
  return {ran_ns, std::strtoll(second, nullptr, 10)};
}

int64_t WallClock::now_ns() const {
  if (file_ < 0) {
    return runner::now_ns(CLOCK_MONOTONIC);
  }
  for (int64_t before = read_times().waited_ns;;) {
    const int64_t now = runner::now_ns(CLOCK_MONOTONIC);
    const int64_t after = read_times().waited_ns;
    if (after == before) { // else another program ran between the two
      return now - after;
    }
    before = after;
  }
}

#else

WallClock::WallClock(bool own) {
  if (own) {
    throw Failure(
        ExitStatus::kUsage, "argument --own-time: this system does not tell how long a thread waited for a CPU");
  }
}

WallClock::~WallClock() = default;

int64_t WallClock::now_ns() const {
  return runner::now_ns(CLOCK_MONOTONIC);
}

#endif

} // namespace runner
