// Operating system: clocks, memory in use, and the end of the parent process.
#pragma once

#include <time.h>

#include <cstdint>
#include <optional>

namespace runner {

inline int64_t now_ns(clockid_t clock) {
  timespec time;
  clock_gettime(clock, &time);
  return static_cast<int64_t>(time.tv_sec) * 1000000000 + time.tv_nsec;
}

// Resident memory now, and at its highest since the program was started; on iPhones the physical footprint.
// Absent where the system does not report it.
struct Memory {
  std::optional<int64_t> resident_bytes;
  std::optional<int64_t> peak_bytes;
};

Memory memory();

// Proportional memory: pages that several processes map count by share. Reading it takes as long as walking all pages.
std::optional<int64_t> proportional_bytes();

// Lets the peak begin anew at the memory in use. False where the system does not let it.
bool reset_peak();

// Linux: this process is killed as soon as the thread that started it is gone, so that a killed harness leaves nothing
// measuring. (A harness that starts runners from threads of its own has each wait for its runner.)
void die_with_parent();

} // namespace runner
