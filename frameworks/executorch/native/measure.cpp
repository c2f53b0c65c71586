#include "measure.h"

#include <algorithm>
#include <limits>
#include <optional>

#include "machine.h"
#include "runtime_log.h"

namespace runner {
namespace {

using executorch::runtime::Error;
using executorch::runtime::Method;

// More samples than this make the vector grow, outside the measured interval.
constexpr int64_t kReserved = 1 << 20;

// The wall clock is read innermost: it costs some 20 ns (no system call), the CPU clock ten times as much, and that of
// several threads a hundred times or, with 64 of them, a thousand.
Sample execute(Method& method, const Clocks& clocks) {
  const int64_t cpu_begin = clocks.cpu.now_ns();
  const int64_t begin = clocks.wall.now_ns();
  const Error error = method.execute();
  const int64_t end = clocks.wall.now_ns();
  const int64_t cpu_end = clocks.cpu.now_ns();
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
    ++found_.iterations_done;
  }

  // Iterates when it is due, or at once where that is over or nothing is due. `begin_ns`: when the loop began.
  void iterate_paced(int64_t begin_ns, std::optional<int64_t> due_ns) {
    work_.prepare();
    if (due_ns) {
      sleep_until(*due_ns);
    }
    const int64_t start_ns = now_ns(CLOCK_MONOTONIC);
    const Sample sample = work(true);
    const int64_t response_ns = due_ns ? now_ns(CLOCK_MONOTONIC) - *due_ns : 0;
    found_.paced.add({sample.wall_ns, sample.cpu_ns, start_ns - begin_ns, response_ns, work_.tokens_per_s()});
    ++found_.iterations_done;
  }

 private:
  Sample next(bool timed) {
    work_.prepare();
    return work(timed);
  }

  Sample work(bool timed) {
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

void iterate_paced(Loop& loop, const Arguments& arguments, const Deadline& over, Measurement& found) {
  std::optional<DueTimes> due_times;
  if (arguments.arrival) {
    due_times.emplace(*arguments.arrival);
  }
  const int64_t begin_ns = now_ns(CLOCK_MONOTONIC);
  const bool is_long = arguments.sustained_s > 0;
  const int64_t end_ns = begin_ns + static_cast<int64_t>(arguments.sustained_s * 1e9);
  for (int64_t done = 0; is_long || done < arguments.iterations; ++done) {
    const std::optional<int64_t> due_ns = due_times ? std::optional(begin_ns + due_times->next_ns()) : std::nullopt;
    if (is_long && done > 0 && std::max(now_ns(CLOCK_MONOTONIC), due_ns.value_or(0)) >= end_ns) {
      return;
    }
    if (!is_long && done >= arguments.min_iterations && over.is_over()) {
      found.stopped_by_time_limit = true;
      return;
    }
    loop.iterate_paced(begin_ns, due_ns);
  }
}

void iterate_in_turns(Loop& loop, Work& work) {
  Turns turns;
  while (const auto turn = turns.next()) {
    work.pause_between(*turn, [&turns] { turns.pause(); });
    for (int64_t done = 0; done < turn->iterations; ++done) {
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
  const Sample sample = execute(method_, clocks_);
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
    iterate_in_turns(loop, work);
  } else if (arguments.arrival || arguments.sustained_s > 0) {
    iterate_paced(loop, arguments, Deadline(start, arguments.time_limit_s, 1.0), found);
  } else {
    iterate_within_limit(loop, arguments, Deadline(start, arguments.time_limit_s, 1.0), found);
  }
  return found;
}

} // namespace runner
