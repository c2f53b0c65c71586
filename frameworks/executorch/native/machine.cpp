#include "machine.h"

#include <signal.h>
#include <unistd.h>

#include <fstream>
#include <string>

#if defined(__linux__)
#include <sys/prctl.h>
#elif defined(__APPLE__)
#include <TargetConditionals.h>
#include <mach/mach.h>
#endif

namespace runner {

#if defined(__linux__)

Memory memory() {
  // Not getrusage: its peak includes that of the process that started this one.
  Memory found;
  std::ifstream status("/proc/self/status");
  for (std::string word; status >> word;) {
    int64_t kibibytes = 0;
    if (word == "VmRSS:" && status >> kibibytes) {
      found.resident_bytes = kibibytes * 1024;
    } else if (word == "VmHWM:" && status >> kibibytes) {
      found.peak_bytes = kibibytes * 1024;
    }
  }
  return found;
}

std::optional<int64_t> proportional_bytes() {
  std::ifstream rollup("/proc/self/smaps_rollup");
  for (std::string word; rollup >> word;) {
    int64_t kibibytes = 0;
    if (word == "Pss:" && rollup >> kibibytes) {
      return kibibytes * 1024;
    }
  }
  return std::nullopt;
}

bool reset_peak() {
  std::ofstream references("/proc/self/clear_refs"); // 5: the peak alone (proc_pid_clear_refs(5))
  return static_cast<bool>(references << "5" << std::flush);
}

void die_with_parent() {
  const pid_t parent = getppid();
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) { // it died before the line above
    raise(SIGKILL);
  }
}

#elif defined(__APPLE__)

#if TARGET_OS_IPHONE

// The physical footprint, by which iOS decides which app it ends; pages of mapped files are no part of it.
Memory memory() {
  task_vm_info_data_t info{};
  mach_msg_type_number_t count = TASK_VM_INFO_COUNT;
  if (task_info(mach_task_self(), TASK_VM_INFO, reinterpret_cast<task_info_t>(&info), &count) != KERN_SUCCESS ||
      count < TASK_VM_INFO_REV3_COUNT) {
    return {};
  }
  return {static_cast<int64_t>(info.phys_footprint), static_cast<int64_t>(info.ledger_phys_footprint_peak)};
}

#else

Memory memory() {
  mach_task_basic_info info;
  mach_msg_type_number_t count = MACH_TASK_BASIC_INFO_COUNT;
  if (task_info(mach_task_self(), MACH_TASK_BASIC_INFO, reinterpret_cast<task_info_t>(&info), &count) !=
      KERN_SUCCESS) {
    return {};
  }
  return {static_cast<int64_t>(info.resident_size), static_cast<int64_t>(info.resident_size_max)};
}

#endif

std::optional<int64_t> proportional_bytes() {
  return std::nullopt;
}

bool reset_peak() {
  return false;
}

void die_with_parent() {}

#else

Memory memory() {
  return {};
}

std::optional<int64_t> proportional_bytes() {
  return std::nullopt;
}

bool reset_peak() {
  return false;
}

void die_with_parent() {}

#endif

} // namespace runner
