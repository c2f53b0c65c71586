// Memory in use in each phase of a launch: before loading, and after the program, the method, and the first execution.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "machine.h"

namespace runner {

class Phases final {
 public:
  // Without recording, nothing is read.
  explicit Phases(bool is_recording);

  // Ends a phase: reads the memory in use, and its peak since the end of the phase before. `until` is everything up to
  // here, which for the method is the whole of loading.
  void end(const char* phase, const char* until);

  // Metrics with their bytes: `memory_after_program_load`, `proportional_memory_...`, `peak_memory_in_...`.
  const std::vector<std::pair<std::string, int64_t>>& metrics() const {
    return metrics_;
  }

  bool has_peaks() const {
    return has_peaks_;
  }

  // The peak of the whole launch, given that since the end of the last phase.
  std::optional<int64_t> whole_peak(std::optional<int64_t> last) const;

 private:
  bool is_recording_;
  bool has_peaks_ = false;
  std::optional<int64_t> peak_;
  std::vector<std::pair<std::string, int64_t>> metrics_;
};

} // namespace runner
