#include "arguments.h"

#include <algorithm>
#include <functional>
#include <map>
#include <set>

#include "failure.h"

namespace runner {

const char* const kUsage =
    "usage: runner --model PATH [--method NAME] [--threads N] [--warmup N] [--iter N] [--min-iter N]\n"
    "              [--time-limit SECONDS] [--inputs FILE,...] [--outputs BASE] [--turns [--own-time]] [--operators]\n"
    "              [--phases] [--cold] [--etdump FILE] [--openvino-precision f32|bf16]\n"
    "       runner --model PATH --examples N --inputs FILE,... --outputs BASE [--method NAME] [--threads N]\n"
    "              [--openvino-precision f32|bf16]\n"
    "       runner --model PATH --generate N (--prompt FILE | --prompt-tokens N) [--depth N] [--perplexity FILE]\n"
    "              [--method NAME] [--threads N] [--warmup N] [--iter N] [--min-iter N] [--time-limit SECONDS]\n"
    "              [--outputs BASE] [--turns [--own-time]] [--phases] [--cold]\n"
    "       runner ... [--arrival periodic:SECONDS|poisson:SECONDS:SEED] [--sustained SECONDS]\n"
    "\n"
    "Measures one ExecuTorch program, or executes it once for each example, and prints observer lines.\n"
    "python/arguments.py explains every flag.\n";

namespace {

constexpr int64_t kMostThreads = 1024;

// More than any context holds; time stamps of so many tokens are 8 MB.
constexpr int64_t kMostTokens = 1000000;

// Nothing is measured where examples are executed.
const char* const kNotWithExamples[] = {
    "--warmup", "--iter", "--min-iter", "--time-limit", "--operators", "--turns", "--phases", "--cold", "--etdump",
    "--generate", "--arrival", "--sustained"};

// What paces iterations by itself, or makes one only.
const char* const kOfPacing[] = {"--arrival", "--sustained"};
const char* const kNotWithPacing[] = {"--turns", "--operators", "--phases", "--cold", "--etdump"};

// A generation has inputs of its own, and many executions.
const char* const kNotWithGeneration[] = {"--inputs", "--etdump"};
const char* const kOfGeneration[] = {"--prompt", "--prompt-tokens", "--depth", "--perplexity"};

// These are figures of loading and of the first execution.
const char* const kOfFirstExecution[] = {"--phases", "--cold"};
const char* const kNotWithFirstExecution[] = {"--operators", "--turns", "--etdump"};

[[noreturn]] void refuse(const std::string& flag, const std::string& text, const std::string& wanted) {
  throw Failure(ExitStatus::kUsage, "argument " + flag + ": '" + text + "' is not " + wanted);
}

bool all_digits(const std::string& text) {
  return !text.empty() &&
      std::all_of(text.begin(), text.end(), [](unsigned char c) { return c >= '0' && c <= '9'; });
}

double seconds(const std::string& flag, const std::string& text) {
  const std::string wanted = "a number of seconds from 0 to " + std::to_string(kLargest);
  const size_t dot = text.find('.');
  const std::string before = text.substr(0, dot);
  if (!all_digits(before) || (dot != std::string::npos && !all_digits(text.substr(dot + 1)))) {
    refuse(flag, text, wanted);
  }
  // "C" locale: setlocale is never called.
  const double value = std::stod(text);
  if (value > static_cast<double>(kLargest)) {
    refuse(flag, text, wanted);
  }
  return value;
}

std::vector<std::string> file_list(const std::string& flag, const std::string& text) {
  std::vector<std::string> files;
  size_t begin = 0;
  while (true) {
    const size_t comma = text.find(',', begin);
    files.push_back(text.substr(begin, comma - begin));
    if (files.back().empty()) {
      refuse(flag, text, "a list of files with commas between them");
    }
    if (comma == std::string::npos) {
      return files;
    }
    begin = comma + 1;
  }
}

std::string openvino_precision(const std::string& flag, const std::string& text) {
  if (text != "f32" && text != "bf16") {
    refuse(flag, text, "f32 or bf16; OpenVINO turns to f16 only what it compiles itself, not ExecuTorch's programs");
  }
  return text;
}

using Setter = std::function<void(Arguments&, const std::string& flag, const std::string& text)>;

const std::map<std::string, Setter>& setters() {
  static const std::map<std::string, Setter> table = {
      {"--model", [](Arguments& a, auto&, auto& text) { a.model = text; }},
      {"--method", [](Arguments& a, auto&, auto& text) { a.method = text; }},
      {"--threads", [](Arguments& a, auto& flag, auto& text) { a.threads = whole(flag, text, 1, kMostThreads); }},
      {"--warmup", [](Arguments& a, auto& flag, auto& text) { a.warmup = whole(flag, text, 0, kLargest); }},
      {"--iter", [](Arguments& a, auto& flag, auto& text) { a.iterations = whole(flag, text, 1, kLargest); }},
      {"--min-iter", [](Arguments& a, auto& flag, auto& text) { a.min_iterations = whole(flag, text, 1, kLargest); }},
      {"--time-limit", [](Arguments& a, auto& flag, auto& text) { a.time_limit_s = seconds(flag, text); }},
      {"--inputs", [](Arguments& a, auto& flag, auto& text) { a.inputs = file_list(flag, text); }},
      {"--outputs", [](Arguments& a, auto&, auto& text) { a.outputs = text; }},
      {"--openvino-precision",
       [](Arguments& a, auto& flag, auto& text) { a.openvino_precision = openvino_precision(flag, text); }},
      {"--examples", [](Arguments& a, auto& flag, auto& text) { a.examples = whole(flag, text, 1, kLargest); }},
      {"--generate", [](Arguments& a, auto& flag, auto& text) { a.generate = whole(flag, text, 1, kMostTokens); }},
      {"--prompt", [](Arguments& a, auto&, auto& text) { a.prompt = text; }},
      {"--prompt-tokens",
       [](Arguments& a, auto& flag, auto& text) { a.prompt_tokens = whole(flag, text, 1, kMostTokens); }},
      {"--depth", [](Arguments& a, auto& flag, auto& text) { a.depth = whole(flag, text, 0, kMostTokens); }},
      {"--perplexity", [](Arguments& a, auto&, auto& text) { a.perplexity = text; }},
      {"--etdump", [](Arguments& a, auto&, auto& text) { a.etdump = text; }},
      {"--arrival", [](Arguments& a, auto& flag, auto& text) { a.arrival = parse_arrival(flag, text); }},
      {"--sustained", [](Arguments& a, auto& flag, auto& text) { a.sustained_s = seconds(flag, text); }},
  };
  return table;
}

const std::map<std::string, bool Arguments::*>& switches() {
  static const std::map<std::string, bool Arguments::*> table = {
      {"--turns", &Arguments::turns},
      {"--own-time", &Arguments::own_time},
      {"--operators", &Arguments::operators},
      {"--phases", &Arguments::phases},
      {"--cold", &Arguments::cold},
  };
  return table;
}

void check_examples(const Arguments& arguments, const std::set<std::string>& given) {
  if (!arguments.examples) {
    return;
  }
  for (const char* const flag : kNotWithExamples) {
    if (given.count(flag) != 0) {
      throw Failure(ExitStatus::kUsage, std::string("argument --examples: not allowed with ") + flag);
    }
  }
  if (arguments.inputs.empty() || arguments.outputs.empty()) {
    throw Failure(ExitStatus::kUsage, "argument --examples: needs --inputs and --outputs");
  }
}

void check_generation(const Arguments& arguments, const std::set<std::string>& given) {
  if (!arguments.generate) {
    for (const char* const flag : kOfGeneration) {
      if (given.count(flag) != 0) {
        throw Failure(ExitStatus::kUsage, std::string("argument ") + flag + ": needs --generate");
      }
    }
    return;
  }
  for (const char* const flag : kNotWithGeneration) {
    if (given.count(flag) != 0) {
      throw Failure(ExitStatus::kUsage, std::string("argument --generate: not allowed with ") + flag);
    }
  }
  if ((given.count("--prompt") != 0) == (given.count("--prompt-tokens") != 0)) {
    throw Failure(ExitStatus::kUsage, "argument --generate: needs either --prompt or --prompt-tokens");
  }
}

void check_pacing(const std::set<std::string>& given) {
  for (const char* const flag : kOfPacing) {
    for (const char* const other : kNotWithPacing) {
      if (given.count(flag) != 0 && given.count(other) != 0) {
        throw Failure(ExitStatus::kUsage, std::string("argument ") + flag + ": not allowed with " + other);
      }
    }
  }
}

void limit_to_first_execution(Arguments& arguments, const std::set<std::string>& given) {
  for (const char* const flag : kOfFirstExecution) {
    for (const char* const other : kNotWithFirstExecution) {
      if (given.count(flag) != 0 && given.count(other) != 0) {
        throw Failure(ExitStatus::kUsage, std::string("argument ") + flag + ": not allowed with " + other);
      }
    }
  }
  if (arguments.phases || arguments.cold) {
    arguments.warmup = 0;
    arguments.iterations = 1;
  }
}

} // namespace

int64_t whole(const std::string& flag, const std::string& text, int64_t least, int64_t most) {
  const std::string wanted = "a whole number from " + std::to_string(least) + " to " + std::to_string(most);
  if (!all_digits(text) || text.size() > 10) {
    refuse(flag, text, wanted);
  }
  const int64_t value = std::stoll(text);
  if (value < least || value > most) {
    refuse(flag, text, wanted);
  }
  return value;
}

Arguments parse_arguments(int argc, const char* const* argv) {
  Arguments arguments;
  std::set<std::string> given;
  for (int i = 1; i < argc; ++i) {
    const std::string word = argv[i];
    if (word == "--help" || word == "-h") {
      arguments.help = true;
      return arguments;
    }
    const size_t equals = word.find('=');
    const std::string flag = word.substr(0, equals);
    given.insert(flag);
    if (const auto found = switches().find(flag); found != switches().end()) {
      if (equals != std::string::npos) {
        throw Failure(
            ExitStatus::kUsage, "argument " + flag + ": ignored explicit argument '" + word.substr(equals + 1) + "'");
      }
      arguments.*found->second = true;
      continue;
    }
    const auto setter = setters().find(flag);
    if (setter == setters().end()) {
      throw Failure(ExitStatus::kUsage, "unknown argument " + word);
    }
    if (equals != std::string::npos) {
      setter->second(arguments, flag, word.substr(equals + 1));
    } else if (i + 1 < argc && std::string(argv[i + 1]).compare(0, 2, "--") != 0) {
      setter->second(arguments, flag, argv[++i]);
    } else {
      throw Failure(ExitStatus::kUsage, "argument " + flag + ": expected one argument");
    }
  }
  if (arguments.model.empty()) {
    throw Failure(ExitStatus::kUsage, "the following arguments are required: --model");
  }
  check_examples(arguments, given);
  check_generation(arguments, given);
  check_pacing(given);
  limit_to_first_execution(arguments, given);
  if (arguments.own_time && !arguments.turns) {
    throw Failure(ExitStatus::kUsage, "argument --own-time: needs --turns");
  }
  return arguments;
}

} // namespace runner
