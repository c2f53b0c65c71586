// The time of each operator, iteration by iteration: what the runtime tells an event tracer, and as little else as that
// costs. Where the runtime was compiled without tracing, nothing is told.
#pragma once

#include <executorch/runtime/core/event_tracer.h>

#include <cstdint>
#include <map>
#include <string>
#include <string_view>
#include <unordered_map>
#include <utility>
#include <vector>

namespace runner {

// An operator is an instruction of the program, or one operator inside an instruction that calls a delegate; what such
// a call takes beside its operators is an entry too. So the times of an iteration add up to nearly all of it.
struct Operator {
  std::string name; // with the number of its occurrence, perhaps behind a phase: `mul.out #2`, `decode: mul.out #2`
  std::string place; // its instruction; in a delegate also its number in that call, perhaps `=` the delegate's own: `3.0=7`
  std::vector<int64_t> times_ns; // one for each kept iteration it was part of
};

class OperatorTimes final : public executorch::runtime::EventTracer {
 public:
  OperatorTimes() = default;
  OperatorTimes(const OperatorTimes&) = delete;
  OperatorTimes& operator=(const OperatorTimes&) = delete;

  // Around each iteration. What is not kept, of warm-up, teaches which operators to expect, so that hearing of them
  // costs no allocation later.
  void begin_iteration();
  void end_iteration(bool keep);

  // After each execution of an iteration that has several; the last, or only one, may be left to end_iteration. Times of
  // an operator in the executions of a phase are added up.
  void end_execution(const std::string& phase = {});

  // In order of execution; those that no kept iteration had are left out.
  std::vector<Operator> operators() const;

 private:
  using AllocatorID = executorch::runtime::AllocatorID;
  using ChainID = executorch::runtime::ChainID;
  using DebugHandle = executorch::runtime::DebugHandle;
  using DelegateDebugIntId = executorch::runtime::DelegateDebugIntId;
  using EventTracerEntry = executorch::runtime::EventTracerEntry;
  using EventTracerFilterBase = executorch::runtime::EventTracerFilterBase;
  using EValue = executorch::runtime::EValue;
  using LoggedEValueType = executorch::runtime::LoggedEValueType;
  using Tensor = executorch::aten::Tensor;
  template <typename T>
  using Result = executorch::runtime::Result<T>;

  // The tracer's side.
  EventTracerEntry start_profiling(const char* name, ChainID chain, DebugHandle handle) override;
  void end_profiling(EventTracerEntry entry) override;
  EventTracerEntry start_profiling_delegate(const char* name, DelegateDebugIntId index) override;
  void end_profiling_delegate(EventTracerEntry entry, const void* metadata, size_t length) override;
  void log_profiling_delegate(
      const char* name,
      DelegateDebugIntId index,
      et_timestamp_t start,
      et_timestamp_t end,
      const void* metadata,
      size_t length) override;

  // What it is told beside times is of no interest here.
  void create_event_block(const char*) override {}
  void track_allocation(AllocatorID, size_t) override {}
  AllocatorID track_allocator(const char*) override;
  Result<bool> log_evalue(const EValue&, LoggedEValueType) override;
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId, const Tensor&) override;
  Result<bool> log_intermediate_output_delegate(
      const char*,
      DelegateDebugIntId,
      const executorch::runtime::ArrayRef<Tensor>) override;
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId, const int&) override;
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId, const bool&) override;
  Result<bool> log_intermediate_output_delegate(const char*, DelegateDebugIntId, const double&) override;
  void set_delegation_intermediate_output_filter(EventTracerFilterBase*) override {}

  struct Place {
    int64_t instruction = 0;
    int64_t inside = -1; // number in the call of a delegate; -1 for the instruction itself
    int64_t identifier = -1; // with which the delegate calls it; -1 where it does not

    bool operator==(const Place& other) const {
      return instruction == other.instruction && inside == other.inside && identifier == other.identifier;
    }
  };

  struct Event {
    size_t name; // its place in names_
    int64_t time_ns;
    Place place;
  };

  static std::string describe(const Place& place);

  // The instruction that is being executed; the runtime executes one at a time.
  struct Instruction {
    bool is_open = false;
    bool is_delegate = false;
    int64_t index = 0; // in the program
    int64_t begin_ns = 0;
    int64_t inside_ns = 0; // of the delegate's own operators
    size_t inside = 0;
    std::string name;
  };

  void record(std::string_view name, int64_t time_ns, const Place& place);
  void record_inside(const char* name, DelegateDebugIntId index, int64_t time_ns);

  bool listening_ = false;
  Instruction instruction_;
  std::string delegated_; // name of the delegate's operator that is being executed
  DelegateDebugIntId delegated_index_ = 0;
  std::vector<std::string> names_; // without numbers, each once
  std::unordered_map<std::string, size_t> places_;
  std::vector<Event> events_; // of this iteration
  std::vector<Event> before_; // of the one before it: what to expect
  // Operators of a phase.
  struct Phase {
    std::vector<std::pair<size_t, size_t>> before; // name of each event of its last execution, and its operator
    std::map<std::pair<size_t, size_t>, size_t> numbered; // name and occurrence: place in operators_
  };

  size_t find_operator(Phase& phase, const std::string& prefix, const Event& event, size_t occurrence);

  std::vector<Operator> operators_;
  std::vector<Place> operator_places_; // of each of them, when it was first executed
  std::vector<int64_t> sums_ns_; // of each of them, in this iteration; negative for one that was not part of it
  std::map<std::string, Phase> phases_;
};

} // namespace runner
