#include "measure.h"

#include <algorithm>
#include <limits>

#include "machine.h"
#include "runtime_log.h"
#include "turns.h"

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

// End of a share of the time limit; without a limit it is never over.
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

// Repeated work.
class Loop final {
 public:
  Loop(Work& work, Measurement& found) : work_(work), found_(found) {}

  void warm_up(int64_t most, const Deadline& warm) {
    while (iterations_ < most && (iterations_ == 0 || !warm.is_over())) {
      next(false);
    }
    found_.warmup_done = iterations_;
  }

  void iterate() {
    found_.samples.push_back(next(true));
  }

 private:
  Sample next(bool timed) {
    work_.prepare();
    const Sample sample = work_.iterate(timed);
    if (iterations_++ == 0) {
      found_.first_iteration_ns = sample.wall_ns;
    }
    return sample;
  }

  Work& work_;
  Measurement& found_;
  int64_t iterations_ = 0;
};

void iterate_within_limit(Loop& loop, const Arguments& arguments, const Deadline& over, Measurement& found) {
  for (int64_t done = 0; done < arguments.iterations; ++done) {
    if (done >= arguments.min_iterations && over.is_over()) {
      found.stopped_by_time_limit = true;
      return;
    }
    loop.iterate();
  }
}

void iterate_in_turns(Loop& loop) {
  Turns turns;
  while (const auto count = turns.next()) {
    for (int64_t done = 0; done < *count; ++done) {
      loop.iterate();
    }
  }
}

} // namespace

void Execution::prepare() {
  if (!is_fresh_) {
    inputs_.refresh();
  }
  is_fresh_ = false;
}

Sample Execution::iterate(bool timed) {
  if (operators_ != nullptr) {
    operators_->begin_iteration();
  }
  const Sample sample = execute(method_, cpu_clock_);
  if (operators_ != nullptr) {
    operators_->end_iteration(timed);
  }
  return sample;
}

Measurement measure(Work& work, const Arguments& arguments) {
  Measurement found;
  found.samples.reserve(static_cast<size_t>(std::min(arguments.iterations, kReserved)));
  Loop loop(work, found);
  const int64_t start = now_ns(CLOCK_MONOTONIC);
  loop.warm_up(arguments.warmup, Deadline(start, arguments.time_limit_s, 0.25));
  if (arguments.turns) {
    iterate_in_turns(loop);
  } else {
    iterate_within_limit(loop, arguments, Deadline(start, arguments.time_limit_s, 1.0), found);
  }
  return found;
}

} // namespace runner
