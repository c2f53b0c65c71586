// Clocks of iterations.
#pragma once

#include <time.h>

#include <cstdint>

namespace runner {

// Nanoseconds of the wall clock, for one thread.
class WallClock final {
 public:
  // `own`: leaves out the time in which the calling thread could have run and waited for a CPU that others had.
  // Throws Failure(kUsage) where the system does not tell it.
  explicit WallClock(bool own);
  ~WallClock();
  WallClock(const WallClock&) = delete;
  WallClock& operator=(const WallClock&) = delete;

  int64_t now_ns() const;

 private:
  struct ThreadTimes {
    int64_t ran_ns;
    int64_t waited_ns;
  };

  ThreadTimes read_times() const;

  int file_ = -1;
};

struct Clocks {
  const WallClock& wall;
  clockid_t cpu;
};

} // namespace runner
