// The command line. Kept identical to that of python/arguments.py, which documents it.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "pacing.h"

namespace runner {

// More is a typing error, and nanoseconds of so many seconds still fit into 64 bits.
constexpr int64_t kLargest = 1000000000;

struct Arguments {
  std::string model;
  std::string method = "forward";
  std::optional<int64_t> threads; // absent: the runtime's own default
  int64_t warmup = 10;
  int64_t iterations = 50;
  int64_t min_iterations = 1;
  double time_limit_s = 0; // 0: none
  std::vector<std::string> inputs; // empty: every element is one
  std::string outputs; // empty: outputs are not written
  std::optional<int64_t> examples; // absent: the same inputs each time
  bool turns = false; // iterate on request of standard input
  bool own_time = false; // times leave out when the thread waited for a CPU
  bool phases = false; // report the memory of each phase; execute once
  bool cold = false; // load from the disk; execute once
  bool operators = false; // time each operator too
  std::string openvino_precision; // empty: OpenVINO's own choice
  std::string etdump; // empty: none is written
  std::optional<int64_t> generate; // new tokens of each generation; absent: nothing is generated
  std::string prompt; // file with tokens; empty: a made-up prompt
  int64_t prompt_tokens = 0; // of a made-up prompt
  int64_t depth = 0; // tokens in the context before the prompt
  std::string perplexity; // file with tokens; empty: none is computed
  std::optional<Arrival> arrival; // absent: iterations follow each other back to back
  double sustained_s = 0; // 0: no long run
  bool help = false;
};

extern const char* const kUsage;

// The text as a number. Throws Failure(kUsage) with a sentence that names the flag.
int64_t whole(const std::string& flag, const std::string& text, int64_t least, int64_t most);

// Throws Failure(kUsage) with a sentence that names the flag.
Arguments parse_arguments(int argc, const char* const* argv);

} // namespace runner
