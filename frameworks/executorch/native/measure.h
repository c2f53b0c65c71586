// Measured loop.
#pragma once

#include <executorch/runtime/executor/method.h>

#include <time.h>

#include <cstdint>
#include <vector>

#include "arguments.h"
#include "operators.h"
#include "program.h"

namespace runner {

struct Sample {
  int64_t wall_ns;
  int64_t cpu_ns;
};

struct Measurement {
  int64_t first_iteration_ns = 0; // the very first execution after loading, warm-up or not
  int64_t warmup_done = 0;
  std::vector<Sample> samples;
  bool stopped_by_time_limit = false; // before all requested iterations
};

// Warms up, then measures. The time limit covers both: warm-up ends after a quarter of it (but not before one
// execution, if any was requested); iterations end when it is over and the minimum number of them was made.
// With turns it covers only the warm-up: the other process decides when to stop.
// `operators` is the tracer that the method was loaded with, or null.
// Throws Failure(kNotExecuted) or Failure(kOutOfMemory); with turns also Failure(kUsage).
Measurement measure(
    executorch::runtime::Method& method,
    Inputs& inputs,
    const Arguments& arguments,
    clockid_t cpu_clock,
    OperatorTimes* operators);

} // namespace runner
