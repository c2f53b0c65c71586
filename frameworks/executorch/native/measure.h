// Measured loop.
#pragma once

#include <executorch/runtime/executor/method.h>

#include <cstdint>
#include <functional>
#include <vector>

#include "arguments.h"
#include "clocks.h"
#include "operators.h"
#include "pacing.h"
#include "program.h"
#include "turns.h"

namespace runner {

struct Sample {
  int64_t wall_ns;
  int64_t cpu_ns;
};

struct Measurement {
  int64_t first_iteration_ns = 0; // the very first execution after loading, warm-up or not
  int64_t warmup_done = 0;
  std::vector<Sample> samples; // none where iterations are paced or go on for long
  KeptSamples paced; // those of them
  int64_t iterations_done = 0;
  bool stopped_by_time_limit = false; // before all requested iterations
};

// What an iteration does.
class Work {
 public:
  virtual ~Work() = default;

  // Gets ready for the next iteration. Not timed.
  virtual void prepare() {}

  // Iterates once. `timed`: whether the sample is kept. Throws Failure(kNotExecuted) or Failure(kOutOfMemory).
  virtual Sample iterate(bool timed) = 0;

  // Calls a function between tokens, whose time does not count: after the first one of an iteration, and after every
  // so many (`turn.tokens`); 0 calls it no longer. So often as `turn.prompts` says an iteration processes its prompt
  // beforehand, and calls it after each. Nothing happens where nothing is generated.
  virtual void pause_between(const Turn& /*turn*/, std::function<void()> /*pause*/) {}

  // Tokens per second of the last iteration; 0 where nothing is generated.
  virtual double tokens_per_s() const {
    return 0;
  }
};

// Executes a method with fresh inputs.
class Execution final : public Work {
 public:
  // `operators` is the tracer that the method was loaded with, or null.
  Execution(executorch::runtime::Method& method, Inputs& inputs, Clocks clocks, OperatorTimes* operators)
      : method_(method), inputs_(inputs), clocks_(clocks), operators_(operators) {
    inputs_.set_all();
  }

  void prepare() override;
  Sample iterate(bool timed) override;

 private:
  executorch::runtime::Method& method_;
  Inputs& inputs_;
  Clocks clocks_;
  OperatorTimes* operators_;
  bool is_fresh_ = true;
};

// Warms up, then measures. The time limit covers both: warm-up ends after a quarter of it (but not before one
// iteration, if any was requested); iterations end when it is over and the minimum number of them was made.
// With turns it covers only the warm-up: the other process decides when to stop. A long run ends by its own duration.
// Throws Failure(kNotExecuted) or Failure(kOutOfMemory); with turns also Failure(kUsage).
Measurement measure(Work& work, const Arguments& arguments);

} // namespace runner
