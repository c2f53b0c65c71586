#include "generate.h"

#include <algorithm>
#include <cmath>
#include <cstdio>
#include <fstream>

#include "failure.h"
#include "machine.h"

namespace runner {
namespace {

constexpr int64_t kMostStamps = 1 << 20; // 8 MB
constexpr int64_t kMostPrinted = 4096; // tokens of a generation that are printed
constexpr int64_t kMostOfText = 1 << 24; // tokens of a text, 128 MB

constexpr uint64_t kPrompt = 0;
constexpr uint64_t kDepth = 1;

// Phases of a generation, in names of operators.
const std::string kPrefill = "prefill";
const std::string kDecode = "decode";

// Tokens from splitmix64 (Steele, Lea, Flood: Fast splittable pseudorandom number generators, OOPSLA 2014), the same in
// every runner: frameworks/python_runner/made_up.py.
std::vector<int64_t> make_up_tokens(int64_t count, int64_t vocabulary, uint64_t sequence) {
  std::vector<int64_t> tokens;
  for (uint64_t i = 0; i < static_cast<uint64_t>(count); ++i) {
    uint64_t mixed = ((sequence << 32) + i + 1) * 0x9e3779b97f4a7c15;
    mixed = (mixed ^ (mixed >> 30)) * 0xbf58476d1ce4e5b9;
    mixed = (mixed ^ (mixed >> 27)) * 0x94d049bb133111eb;
    tokens.push_back(static_cast<int64_t>((mixed ^ (mixed >> 31)) % static_cast<uint64_t>(vocabulary)));
  }
  return tokens;
}

std::vector<int64_t> read_tokens(const std::string& flag, const std::string& file, int64_t least, int64_t vocabulary) {
  check_file(file, ExitStatus::kUsage);
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream ? static_cast<std::streamoff>(stream.tellg()) : -1;
  const auto wide = static_cast<std::streamoff>(sizeof(int64_t));
  if (size < 0) {
    throw Failure(ExitStatus::kUsage, "cannot read " + file);
  }
  if (size % wide != 0 || size / wide < least || size / wide > kMostOfText) {
    throw Failure(
        ExitStatus::kUsage,
        "argument " + flag + ": " + file + " has " + std::to_string(size) + " bytes, not int64 numbers of " +
            std::to_string(least) + " to " + std::to_string(kMostOfText) + " tokens");
  }
  std::vector<int64_t> tokens(static_cast<size_t>(size / wide));
  stream.seekg(0);
  if (!stream.read(reinterpret_cast<char*>(tokens.data()), size)) {
    throw Failure(ExitStatus::kUsage, "cannot read " + file);
  }
  for (size_t i = 0; i < tokens.size(); ++i) {
    if (tokens[i] < 0 || tokens[i] >= vocabulary) {
      throw Failure(
          ExitStatus::kUsage,
          "argument " + flag + ": token " + std::to_string(i) + " of " + file + " is " + std::to_string(tokens[i]) +
              "; the vocabulary of the program has tokens from 0 to " + std::to_string(vocabulary - 1));
    }
  }
  return tokens;
}

// The last new token is never processed.
void check_context(std::optional<int64_t> context, int64_t depth, int64_t prompt, int64_t new_tokens) {
  const int64_t needed = depth + prompt + new_tokens - 1;
  if (context && needed > *context) {
    throw Failure(
        ExitStatus::kUsage,
        "argument --generate: a depth of " + std::to_string(depth) + ", a prompt of " + std::to_string(prompt) +
            " tokens and " + std::to_string(new_tokens) + " new ones need a context of " + std::to_string(needed) +
            "; that of the program holds " + std::to_string(*context));
  }
}

void print_list(const char* name, const std::vector<int64_t>& numbers, size_t count) {
  std::printf(", \"%s\": [", name);
  for (size_t i = 0; i < count; ++i) {
    std::printf(i == 0 ? "%lld" : ", %lld", static_cast<long long>(numbers[i]));
  }
  std::fputs("]", stdout);
}

} // namespace

Generation::Generation(
    LoadedMethod& loaded,
    const Arguments& arguments,
    Clocks clocks,
    OperatorTimes* operators)
    : model_(loaded), arguments_(arguments), clocks_(clocks), operators_(operators) {
  const int64_t vocabulary = model_.vocabulary();
  if (arguments.prompt_tokens != 0) {
    check_context(model_.context(), arguments.depth, arguments.prompt_tokens, *arguments.generate);
    prompt_ = make_up_tokens(arguments.prompt_tokens, vocabulary, kPrompt);
  } else {
    prompt_ = read_tokens("--prompt", arguments.prompt, 1, vocabulary);
    check_context(model_.context(), arguments.depth, static_cast<int64_t>(prompt_.size()), *arguments.generate);
  }
  context_tokens_ = make_up_tokens(arguments.depth, vocabulary, kDepth);
  if (!arguments.perplexity.empty()) {
    text_ = read_tokens("--perplexity", arguments.perplexity, 2, vocabulary);
  }
  last_.times_ns.resize(static_cast<size_t>(*arguments.generate));
  last_.tokens.resize(last_.times_ns.size());
}

void Generation::prepare() {
  model_.process(context_tokens_.data(), arguments_.depth, 0);
}

Sample Generation::iterate(bool timed) {
  const auto prompt_tokens = static_cast<int64_t>(prompt_.size());
  int64_t position = arguments_.depth;
  last_.earlier.clear();
  for (int64_t i = 0; i < turn_.prompts; ++i) {
    last_.earlier.push_back(process_prompt());
    pause_();
    prepare();
  }
  if (operators_ != nullptr) {
    operators_->begin_iteration();
  }
  const int64_t cpu_begin = clocks_.cpu.now_ns();
  const int64_t begin = clocks_.wall.now_ns();
  process(prompt_.data(), prompt_tokens, position, kPrefill);
  position += prompt_tokens;
  last_.prefill_ns = clocks_.wall.now_ns() - begin;
  if (!timed && !memory_after_prefill_) {
    memory_after_prefill_ = memory().resident_bytes;
  }
  int64_t paused_ns = 0;
  for (size_t i = 0;; ++i) {
    last_.tokens[i] = model_.likeliest();
    const int64_t now = clocks_.wall.now_ns();
    last_.times_ns[i] = now - begin - paused_ns;
    if (i + 1 == last_.tokens.size()) {
      break;
    }
    if (turn_.tokens > 0 && static_cast<int64_t>(i) % turn_.tokens == 0) {
      pause_();
      paused_ns += clocks_.wall.now_ns() - now;
    }
    process(&last_.tokens[i], 1, position++, kDecode);
  }
  const int64_t cpu_end = clocks_.cpu.now_ns();
  if (operators_ != nullptr) {
    operators_->end_iteration(timed);
  }
  if (timed) {
    keep();
  }
  return {last_.times_ns.back(), cpu_end - cpu_begin};
}

void Generation::process(const int64_t* tokens, int64_t count, int64_t position, const std::string& phase) {
  if (operators_ == nullptr) {
    model_.process(tokens, count, position);
  } else {
    model_.process(tokens, count, position, [&](int64_t) { operators_->end_execution(phase); });
  }
}

Prompt Generation::process_prompt() {
  const int64_t begin = clocks_.wall.now_ns();
  model_.process(prompt_.data(), static_cast<int64_t>(prompt_.size()), arguments_.depth);
  const int64_t processed = clocks_.wall.now_ns();
  model_.likeliest();
  return {processed - begin, clocks_.wall.now_ns() - begin};
}

void Generation::pause_between(const Turn& turn, std::function<void()> pause) {
  turn_ = turn;
  pause_ = std::move(pause);
}

void Generation::keep() {
  if (timed_++ % stride_ != 0) {
    return;
  }
  const size_t most = std::max<size_t>(2, kMostStamps / last_.times_ns.size());
  if (streams_.size() == most) {
    for (size_t i = 0; 2 * i < most; ++i) {
      std::swap(streams_[i], streams_[2 * i]);
    }
    streams_.resize((most + 1) / 2);
    stride_ *= 2;
    if ((timed_ - 1) % stride_ != 0) {
      return;
    }
  }
  TokenStream stream{last_.earlier, last_.prefill_ns, last_.times_ns, {}};
  const auto end = last_.tokens.begin() + std::min<std::ptrdiff_t>(last_.tokens.size(), kMostPrinted);
  stream.tokens.assign(last_.tokens.begin(), end);
  streams_.push_back(std::move(stream));
}

double Generation::tokens_per_s() const {
  const int64_t duration_ns = last_.times_ns.back() - last_.times_ns.front();
  return duration_ns > 0 ? static_cast<double>(last_.times_ns.size() - 1) * 1e9 / static_cast<double>(duration_ns) : 0;
}

void Generation::finish() {
  if (!arguments_.outputs.empty()) {
    const std::string file = arguments_.outputs + "-0.bin";
    std::ofstream stream(file, std::ios::binary | std::ios::trunc);
    stream.write(
        reinterpret_cast<const char*>(last_.tokens.data()),
        static_cast<std::streamsize>(last_.tokens.size() * sizeof(int64_t)));
    if (!stream.flush()) {
      throw Failure(ExitStatus::kNotExecuted, "cannot write " + file);
    }
  }
  if (!text_.empty()) {
    perplexity_ = compute_perplexity(text_);
  }
}

// A text that is longer than the context is read in pieces, each from an empty context.
double Generation::compute_perplexity(const std::vector<int64_t>& text) {
  const auto total = static_cast<int64_t>(text.size());
  const int64_t piece = std::max<int64_t>(1, std::min(total - 1, model_.context().value_or(total)));
  double sum = 0;
  int64_t predicted = 0;
  for (int64_t begin = 0; begin + 1 < total; begin += piece) {
    const int64_t count = std::min(piece, total - 1 - begin);
    int64_t done = begin;
    const auto add = [&](int64_t step) {
      for (int64_t row = 0; row < model_.rows(); ++row) {
        sum -= model_.log_probability(row, text[done + step - model_.rows() + row + 1]);
        ++predicted;
      }
      done += step;
    };
    for (int64_t i = 0; i < count;) {
      const int64_t step = model_.gives_each_row() ? count - i : 1;
      model_.process(&text[begin + i], step, i, add);
      i += step;
    }
  }
  return std::exp(sum / static_cast<double>(predicted));
}

void Generation::print() const {
  for (const TokenStream& stream : streams_) {
    std::printf(
        "PyTorchObserver {\"generation\": {\"prompt_tokens\": %zu, \"depth\": %lld, \"prefill_ns\": %lld",
        prompt_.size(),
        static_cast<long long>(arguments_.depth),
        static_cast<long long>(stream.prefill_ns));
    if (!stream.earlier.empty()) {
      std::vector<int64_t> prefills;
      std::vector<int64_t> first_tokens;
      for (const Prompt& prompt : stream.earlier) {
        prefills.push_back(prompt.prefill_ns);
        first_tokens.push_back(prompt.first_token_ns);
      }
      print_list("earlier_prefills_ns", prefills, prefills.size());
      print_list("earlier_first_tokens_ns", first_tokens, first_tokens.size());
    }
    print_list("token_times_ns", stream.times_ns, stream.times_ns.size());
    print_list("tokens", stream.tokens, stream.tokens.size());
    std::fputs("}}\n", stdout);
  }
  const auto print_number = [](const char* type, const char* metric, const char* unit, const std::string& value) {
    std::printf(
        "PyTorchObserver {\"type\": \"%s\", \"metric\": \"%s\", \"unit\": \"%s\", \"value\": \"%s\"}\n",
        type,
        metric,
        unit,
        value.c_str());
  };
  if (perplexity_) {
    char text[32];
    std::snprintf(text, sizeof(text), "%.9g", *perplexity_);
    print_number("LLM", "perplexity", "", text);
  }
  if (memory_after_prefill_) {
    print_number("RUN", "memory_after_prefill", "bytes", std::to_string(*memory_after_prefill_));
  }
  if (stride_ > 1) {
    print_number("RUN", "generations_thinned", "", std::to_string(stride_));
  }
}

} // namespace runner
