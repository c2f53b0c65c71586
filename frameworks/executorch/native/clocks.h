// Clocks of iterations.
#pragma once

#include <time.h>

#include <cstdint>
#include <vector>

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

// Nanoseconds of CPU time of the calling thread, or of all threads of the process, those that have ended too.
class CpuClock final {
 public:
  explicit CpuClock(bool whole_process);
  ~CpuClock();
  CpuClock(const CpuClock&) = delete;
  CpuClock& operator=(const CpuClock&) = delete;

  int64_t now_ns();

 private:
  bool update_accounts() const;
  void list_threads();

  clockid_t clock_;
  int tasks_ = -1; // folder of the threads; none for one thread, and where the system has no such folder
  int64_t count_ = 0; // entries of the folder when it was last listed
  std::vector<clockid_t> threads_; // clocks of the threads
};

struct Clocks {
  const WallClock& wall;
  CpuClock& cpu;
};

} // namespace runner
