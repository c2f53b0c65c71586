#include "phases.h"

#include <algorithm>

namespace runner {

Phases::Phases(bool is_recording) : is_recording_(is_recording) {
  if (!is_recording_) {
    return;
  }
  if (const auto bytes = proportional_bytes()) {
    metrics_.emplace_back("proportional_memory_before_load", *bytes);
  }
  peak_ = memory().peak_bytes;
  has_peaks_ = reset_peak();
}

void Phases::end(const char* phase, const char* until) {
  if (!is_recording_) {
    return;
  }
  const Memory now = memory();
  const std::string after = std::string("_after_") + until;
  if (now.resident_bytes && after != "_after_load") { // which every launch tells
    metrics_.emplace_back("memory" + after, *now.resident_bytes);
  }
  if (const auto bytes = proportional_bytes()) {
    metrics_.emplace_back("proportional_memory" + after, *bytes);
  }
  if (now.peak_bytes && has_peaks_) {
    metrics_.emplace_back(std::string("peak_memory_in_") + phase, *now.peak_bytes);
    peak_ = std::max(peak_.value_or(0), *now.peak_bytes);
    reset_peak();
  }
}

std::optional<int64_t> Phases::whole_peak(std::optional<int64_t> last) const {
  return last && peak_ ? std::max(*last, *peak_) : last;
}

} // namespace runner
