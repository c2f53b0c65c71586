#include "measure.h"

#include <algorithm>
#include <limits>

#include "machine.h"
#include "runtime_log.h"

namespace runner {
namespace {

using executorch::runtime::Error;
using executorch::runtime::Method;

// More samples than this make the vector grow, outside the measured interval.
constexpr int64_t kReserved = 1 << 20;

// The wall clock is read innermost: it costs some 20 ns (no system call), the CPU clock ten times as much.
Sample execute(Method& method, clockid_t cpu_clock) {
  const int64_t cpu_begin = now_ns(cpu_clock);
  const int64_t begin = now_ns(CLOCK_MONOTONIC);
  const Error error = method.execute();
  const int64_t end = now_ns(CLOCK_MONOTONIC);
  const int64_t cpu_end = now_ns(cpu_clock);
  if (error != Error::Ok) {
    throw explain(ExitStatus::kNotExecuted, "the program failed while it was executed", error);
  }
  return {end - begin, cpu_end - cpu_begin};
}

// When a share of the limit is over; never, without a limit.
class Deadline final {
 public:
  Deadline(int64_t start_ns, double limit_s, double share)
      : end_ns_(
            limit_s > 0 ? start_ns + static_cast<int64_t>(limit_s * share * 1e9)
                        : std::numeric_limits<int64_t>::max()) {}

  bool is_over() const {
    return end_ns_ != std::numeric_limits<int64_t>::max() && now_ns(CLOCK_MONOTONIC) >= end_ns_;
  }

 private:
  int64_t end_ns_;
};

} // namespace

Measurement measure(Method& method, Inputs& inputs, const Arguments& arguments, clockid_t cpu_clock) {
  Measurement measurement;
  measurement.samples.reserve(static_cast<size_t>(std::min(arguments.iterations, kReserved)));
  inputs.set_all();
  const int64_t start = now_ns(CLOCK_MONOTONIC);
  const Deadline warm(start, arguments.time_limit_s, 0.25);
  const Deadline over(start, arguments.time_limit_s, 1.0);

  int64_t executions = 0;
  const auto next = [&] {
    if (executions > 0) {
      inputs.refresh();
    }
    const Sample sample = execute(method, cpu_clock);
    if (executions++ == 0) {
      measurement.first_iteration_ns = sample.wall_ns;
    }
    return sample;
  };

  while (executions < arguments.warmup && (executions == 0 || !warm.is_over())) {
    next();
  }
  measurement.warmup_done = executions;

  for (int64_t done = 0; done < arguments.iterations; ++done) {
    if (done >= arguments.min_iterations && over.is_over()) {
      measurement.stopped_by_time_limit = true;
      break;
    }
    measurement.samples.push_back(next());
  }
  return measurement;
}

} // namespace runner
