#include "operators.h"

#include <executorch/runtime/platform/clock.h>

#include <algorithm>
#include <cstring>

#include "machine.h"

namespace runner {
namespace {

// Names of runtime/executor/method.cpp and of the code that is generated around kernels.
constexpr char kWhole[] = "Method::execute";
constexpr char kDelegateCall[] = "DELEGATE_CALL";
constexpr char kKernel[] = "native_call_";

constexpr std::string_view kDelegate = "delegate call";
constexpr std::string_view kDelegateRest = "delegate call (rest)"; // beside the operators that it tells of
constexpr std::string_view kNameless = "operator"; // registered without generated code, it does not say more

constexpr char kPlaceVaries[] = "?"; // another instruction in another iteration: the program branches

constexpr int64_t kAbsent = -1; // instead of a time

// What an entry belongs to.
constexpr int64_t kIgnored = 0;
constexpr int64_t kInstruction = 1;
constexpr int64_t kDelegated = 2;

// Kernels and delegates number their operators themselves or not at all; each delegate begins again at 1.
std::string_view without_number(std::string_view name) {
  const size_t end = name.find_last_not_of("0123456789");
  const bool numbered = end != std::string_view::npos && end + 1 < name.size() && end >= 1 && name[end] == '#' &&
      name[end - 1] == ' ';
  return numbered ? name.substr(0, end - 1) : name;
}

} // namespace

void OperatorTimes::begin_iteration() {
  instruction_.is_open = false;
  listening_ = true;
}

void OperatorTimes::end_iteration(bool keep) {
  if (!events_.empty()) {
    end_execution();
  }
  listening_ = false;
  for (size_t i = 0; i < sums_ns_.size(); ++i) {
    if (keep && sums_ns_[i] >= 0) {
      operators_[i].times_ns.push_back(sums_ns_[i]);
    }
    sums_ns_[i] = kAbsent;
  }
}

// Executions of a phase mostly have the same operators in the same order: then these are known by their position.
void OperatorTimes::end_execution(const std::string& phase) {
  Phase& known = phases_[phase];
  const std::string prefix = phase.empty() ? "" : phase + ": ";
  std::vector<size_t> occurrences(names_.size(), 0);
  bool is_same = true;
  for (size_t i = 0; i < events_.size(); ++i) {
    const Event& event = events_[i];
    const size_t occurrence = ++occurrences[event.name];
    is_same = is_same && i < known.before.size() && known.before[i].first == event.name;
    const size_t number =
        is_same ? known.before[i].second : find_operator(known, prefix, event, occurrence);
    if (!(operator_places_[number] == event.place)) {
      operators_[number].place = kPlaceVaries;
    }
    sums_ns_[number] = std::max<int64_t>(0, sums_ns_[number]) + event.time_ns;
    if (!is_same) {
      known.before.resize(i);
      known.before.emplace_back(event.name, number);
    }
  }
  before_.swap(events_);
  events_.clear();
}

size_t OperatorTimes::find_operator(
    Phase& phase,
    const std::string& prefix,
    const Event& event,
    size_t occurrence) {
  const auto [found, is_new] = phase.numbered.try_emplace({event.name, occurrence}, operators_.size());
  if (is_new) {
    operators_.push_back({prefix + names_[event.name] + " #" + std::to_string(occurrence), describe(event.place), {}});
    operator_places_.push_back(event.place);
    sums_ns_.push_back(kAbsent);
  }
  return found->second;
}

std::vector<Operator> OperatorTimes::operators() const {
  std::vector<Operator> kept;
  for (const Operator& one : operators_) {
    if (!one.times_ns.empty()) {
      kept.push_back(one);
    }
  }
  return kept;
}

executorch::runtime::EventTracerEntry OperatorTimes::start_profiling(const char* name, ChainID, DebugHandle) {
  EventTracerEntry entry{};
  entry.event_id = kIgnored;
  if (!listening_ || std::strcmp(name, kWhole) == 0) {
    return entry;
  }
  if (instruction_.is_open) {
    if (instruction_.name.empty() && std::strncmp(name, kKernel, sizeof(kKernel) - 1) == 0) {
      instruction_.name = name + sizeof(kKernel) - 1;
    }
    return entry;
  }
  entry.event_id = kInstruction;
  instruction_.is_open = true;
  instruction_.is_delegate = std::strcmp(name, kDelegateCall) == 0;
  instruction_.index = static_cast<int64_t>(current_debug_handle()); // the runtime sets it before each instruction
  instruction_.inside = 0;
  instruction_.inside_ns = 0;
  instruction_.name.clear();
  instruction_.begin_ns = now_ns(CLOCK_MONOTONIC);
  return entry;
}

void OperatorTimes::end_profiling(EventTracerEntry entry) {
  if (!listening_ || entry.event_id != kInstruction) {
    return;
  }
  const int64_t whole_ns = now_ns(CLOCK_MONOTONIC) - instruction_.begin_ns;
  instruction_.is_open = false;
  if (!instruction_.is_delegate) {
    record(
        instruction_.name.empty() ? kNameless : std::string_view(instruction_.name), whole_ns, {instruction_.index});
  } else if (instruction_.inside == 0) {
    record(kDelegate, whole_ns, {instruction_.index});
  } else {
    record(kDelegateRest, std::max<int64_t>(0, whole_ns - instruction_.inside_ns), {instruction_.index});
  }
}

executorch::runtime::EventTracerEntry OperatorTimes::start_profiling_delegate(
    const char* name,
    DelegateDebugIntId index) {
  EventTracerEntry entry{};
  entry.event_id = listening_ ? kDelegated : kIgnored;
  if (listening_) {
    delegated_ = name != nullptr ? name : "delegated " + std::to_string(index);
    delegated_index_ = index;
    entry.start_time = static_cast<et_timestamp_t>(now_ns(CLOCK_MONOTONIC));
  }
  return entry;
}

void OperatorTimes::end_profiling_delegate(EventTracerEntry entry, const void*, size_t) {
  if (listening_ && entry.event_id == kDelegated) {
    const int64_t time_ns = now_ns(CLOCK_MONOTONIC) - static_cast<int64_t>(entry.start_time);
    record_inside(delegated_.c_str(), delegated_index_, time_ns);
  }
}

void OperatorTimes::log_profiling_delegate(
    const char* name,
    DelegateDebugIntId index,
    et_timestamp_t start,
    et_timestamp_t end,
    const void*,
    size_t) {
  if (listening_) {
    record_inside(name, index, static_cast<int64_t>(executorch::runtime::ticks_to_ns(end - start)));
  }
}

executorch::runtime::AllocatorID OperatorTimes::track_allocator(const char*) {
  return 0;
}

executorch::runtime::Result<bool> OperatorTimes::log_evalue(const EValue&, LoggedEValueType) {
  return false;
}

executorch::runtime::Result<bool>
OperatorTimes::log_intermediate_output_delegate(const char*, DelegateDebugIntId, const Tensor&) {
  return false;
}

executorch::runtime::Result<bool> OperatorTimes::log_intermediate_output_delegate(
    const char*,
    DelegateDebugIntId,
    const executorch::runtime::ArrayRef<Tensor>) {
  return false;
}

executorch::runtime::Result<bool>
OperatorTimes::log_intermediate_output_delegate(const char*, DelegateDebugIntId, const int&) {
  return false;
}

executorch::runtime::Result<bool>
OperatorTimes::log_intermediate_output_delegate(const char*, DelegateDebugIntId, const bool&) {
  return false;
}

executorch::runtime::Result<bool>
OperatorTimes::log_intermediate_output_delegate(const char*, DelegateDebugIntId, const double&) {
  return false;
}

void OperatorTimes::record_inside(const char* name, DelegateDebugIntId index, int64_t time_ns) {
  const bool is_identified = index != executorch::runtime::kUnsetDelegateDebugIntId;
  const Place place{
      instruction_.index, static_cast<int64_t>(instruction_.inside), is_identified ? static_cast<int64_t>(index) : -1};
  instruction_.inside += 1;
  instruction_.inside_ns += time_ns;
  if (name != nullptr) {
    record(without_number(name), time_ns, place);
  } else {
    record("delegated " + std::to_string(index), time_ns, place);
  }
}

std::string OperatorTimes::describe(const Place& place) {
  std::string text = std::to_string(place.instruction);
  if (place.inside >= 0) {
    text += "." + std::to_string(place.inside);
  }
  if (place.identifier >= 0) {
    text += "=" + std::to_string(place.identifier);
  }
  return text;
}

void OperatorTimes::record(std::string_view name, int64_t time_ns, const Place& place) {
  const size_t position = events_.size();
  if (position < before_.size() && names_[before_[position].name] == name) {
    events_.push_back({before_[position].name, time_ns, place});
    return;
  }
  const auto [found, is_new] = places_.try_emplace(std::string(name), names_.size());
  if (is_new) {
    names_.push_back(found->first);
  }
  events_.push_back({found->second, time_ns, place});
}

} // namespace runner
