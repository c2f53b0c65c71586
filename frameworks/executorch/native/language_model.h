// A program that predicts the next token, by the convention of ExecuTorch's exports of language models: its method takes
// tokens [1, S] and the position of the first of them [1], keeps what it computed of tokens before, and gives logits
// [1, V] of the last token, or [1, S, V] of each.
#pragma once

#include <algorithm>
#include <cstdint>
#include <map>
#include <optional>
#include <vector>

#include "program.h"

namespace runner {

class LanguageModel final {
 public:
  // Throws Failure(kUsage) where the method has another form, or the program keeps nothing of tokens before.
  explicit LanguageModel(LoadedMethod& loaded);
  LanguageModel(const LanguageModel&) = delete;
  LanguageModel& operator=(const LanguageModel&) = delete;

  // Tokens have numbers from 0 to below this.
  int64_t vocabulary() const {
    return vocabulary_;
  }

  // Tokens that the context holds; absent where the program does not tell.
  std::optional<int64_t> context() const {
    return context_;
  }

  // Processes tokens from a position on, in as few executions as the program allows. `executed` is called after each
  // execution with the number of tokens that it processed.
  // Throws Failure(kNotExecuted) or Failure(kOutOfMemory).
  template <typename Executed>
  void process(const int64_t* tokens, int64_t count, int64_t position, Executed executed) {
    for (int64_t done = 0; done < count;) {
      const int64_t step = std::min(most_, count - done);
      execute(tokens + done, step, position + done);
      executed(step);
      done += step;
    }
  }

  void process(const int64_t* tokens, int64_t count, int64_t position) {
    process(tokens, count, position, [](int64_t) {});
  }

  // The token that is likeliest to come next; of several the first. Throws Failure(kNotExecuted) where it is none.
  int64_t likeliest() const;

  // Whether an execution gives logits of each of its tokens, not only of the last.
  bool gives_each_row() const {
    return gives_each_row_;
  }

  // Rows of logits of the last execution: 1, or one for each of its tokens.
  int64_t rows() const {
    return rows_;
  }

  // Natural logarithm of the probability of a token, by one of these rows.
  double log_probability(int64_t row, int64_t token) const;

 private:
  void read_inputs(executorch::runtime::Method& method);
  void read_output(executorch::runtime::Method& method);
  void execute(const int64_t* tokens, int64_t count, int64_t position);

  executorch::runtime::Method& method_;
  int64_t most_ = 1; // tokens of one execution
  int64_t vocabulary_ = 0;
  int64_t columns_ = 0; // of a row of logits; some vocabularies are padded
  std::optional<int64_t> context_;
  executorch::aten::ScalarType token_type_{};
  executorch::aten::ScalarType position_type_{};
  executorch::aten::ScalarType logit_type_{};
  std::vector<int64_t> tokens_; // memory of the inputs, whatever their type
  std::vector<int64_t> position_;
  executorch::extension::TensorPtr position_tensor_;
  std::map<int64_t, executorch::extension::TensorPtr> token_tensors_; // by number of tokens
  bool gives_each_row_ = false;
  int64_t rows_ = 0;
  const void* logits_ = nullptr;
};

} // namespace runner
