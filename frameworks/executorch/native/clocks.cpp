#include "clocks.h"

#include <string>

#include "failure.h"
#include "machine.h"

#if defined(__linux__)
#include <dirent.h>
#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cstdlib>
#endif

namespace runner {

#if defined(__linux__)

namespace {

// Nanoseconds that its thread ran, that it waited for a CPU, and how often it ran (Documentation/scheduler/sched-stats).
const char* const kThread = "/proc/thread-self/schedstat";

constexpr size_t kLongest = 64; // three numbers of 64 bits

const char* const kTasks = "/proc/self/task";

// Clock of the CPU time of a thread, as pthread_getcpuclockid makes it (MAKE_THREAD_CPUCLOCK with CPUCLOCK_SCHED of
// include/linux/posix-timers_types.h).
clockid_t thread_clock(pid_t thread) {
  return static_cast<clockid_t>((~static_cast<unsigned>(thread) << 3) | 6);
}

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

// The clock of the process adds up the accounts of its threads, but brings only that of the calling one up to date;
// another one that runs at this moment is credited at its next tick, milliseconds later. Reading the clock of a thread
// brings its account up to date, wherever it runs (kernel/sched/core.c: task_sched_runtime).
CpuClock::CpuClock(bool whole_process) : clock_(whole_process ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID) {
  if (whole_process) {
    tasks_ = open(kTasks, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
    list_threads();
    if (tasks_ >= 0 && !update_accounts()) { // a thread began meanwhile, or the ids are not those of our namespace
      list_threads();
      if (!update_accounts()) {
        close(tasks_);
        tasks_ = -1;
      }
    }
  }
}

CpuClock::~CpuClock() {
  if (tasks_ >= 0) {
    close(tasks_);
  }
}

int64_t CpuClock::now_ns() {
  if (tasks_ >= 0 && !update_accounts()) {
    list_threads();
    update_accounts();
  }
  return runner::now_ns(clock_);
}

// False where threads have begun or ended since they were listed.
bool CpuClock::update_accounts() const {
  struct stat tasks;
  bool is_complete = fstat(tasks_, &tasks) == 0 && static_cast<int64_t>(tasks.st_nlink) == count_;
  for (const clockid_t thread : threads_) {
    timespec time;
    is_complete = clock_gettime(thread, &time) == 0 && is_complete;
  }
  return is_complete;
}

void CpuClock::list_threads() {
  threads_.clear();
  struct stat tasks;
  count_ = fstat(tasks_, &tasks) == 0 ? static_cast<int64_t>(tasks.st_nlink) : 0; // two more than threads
  DIR* const folder = opendir(kTasks);
  if (folder == nullptr) {
    return;
  }
  while (const dirent* const entry = readdir(folder)) {
    if (const long thread = std::strtol(entry->d_name, nullptr, 10); thread > 0) { // else . or ..
      threads_.push_back(thread_clock(static_cast<pid_t>(thread)));
    }
  }
  closedir(folder);
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

CpuClock::CpuClock(bool whole_process) : clock_(whole_process ? CLOCK_PROCESS_CPUTIME_ID : CLOCK_THREAD_CPUTIME_ID) {}

CpuClock::~CpuClock() = default;

int64_t CpuClock::now_ns() {
  return runner::now_ns(clock_);
}

#endif

} // namespace runner
