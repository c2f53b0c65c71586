// Generation of tokens: a prompt is processed, then tokens follow one by one, always the likeliest.
#pragma once

#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <vector>

#include "arguments.h"
#include "clocks.h"
#include "language_model.h"
#include "measure.h"
#include "operators.h"

namespace runner {

// Time stamps of a prompt, since it was handed over.
struct Prompt {
  int64_t prefill_ns;
  int64_t first_token_ns;
};

// Time stamps of one generation, since its prompt was handed over.
struct TokenStream {
  std::vector<Prompt> earlier; // the same prompt, processed before
  int64_t prefill_ns = 0;
  std::vector<int64_t> times_ns;
  std::vector<int64_t> tokens;
};

// One iteration is one generation from an empty context.
class Generation final : public Work {
 public:
  // Throws Failure(kUsage) where the program cannot generate, a token is none of its vocabulary, or the context is too
  // small, naming the numbers. `operators` is the tracer that the method was loaded with, or null: it hears of the
  // prompt and of the tokens after it as phases.
  Generation(LoadedMethod& loaded, const Arguments& arguments, Clocks clocks, OperatorTimes* operators);

  // Fills the context up to the depth.
  void prepare() override;
  Sample iterate(bool timed) override;
  void pause_between(const Turn& turn, std::function<void()> pause) override;
  double tokens_per_s() const override;

  // Computes the perplexity of the text, if one is wanted, and writes the tokens of the last generation to
  // BASE-0.bin, raw little-endian int64. Throws as iterate; Failure(kNotExecuted) where the file cannot be written.
  void finish();

  // Prints a line for each timed generation, and what else is known.
  void print() const;

 private:
  void process(const int64_t* tokens, int64_t count, int64_t position, const std::string& phase);
  Prompt process_prompt();
  void keep();
  double compute_perplexity(const std::vector<int64_t>& text);

  LanguageModel model_;
  const Arguments& arguments_;
  Clocks clocks_;
  OperatorTimes* operators_;
  std::vector<int64_t> context_tokens_;
  std::vector<int64_t> prompt_;
  std::vector<int64_t> text_;
  Turn turn_{};
  std::function<void()> pause_;
  TokenStream last_;
  std::vector<TokenStream> streams_; // every stride_-th timed one
  int64_t stride_ = 1;
  int64_t timed_ = 0;
  std::optional<int64_t> memory_after_prefill_;
  std::optional<double> perplexity_;
};

} // namespace runner
