#include "language_model.h"

#include <algorithm>
#include <cmath>

#include "failure.h"
#include "runtime_log.h"

namespace runner {
namespace {

using executorch::aten::ScalarType;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::Method;

constexpr size_t kInputs = 2; // tokens, and the position of the first

[[noreturn]] void refuse(const std::string& reason) {
  throw Failure(ExitStatus::kUsage, "argument --generate: the program cannot generate: " + reason);
}

bool is_whole(ScalarType type) {
  return type == ScalarType::Long || type == ScalarType::Int;
}

// Writes numbers with the type of an input.
void write_numbers(const int64_t* numbers, int64_t count, ScalarType type, int64_t* to) {
  if (type == ScalarType::Long) {
    std::copy_n(numbers, count, to);
    return;
  }
  auto* const narrow = reinterpret_cast<int32_t*>(to);
  for (int64_t i = 0; i < count; ++i) {
    narrow[i] = static_cast<int32_t>(numbers[i]);
  }
}

executorch::extension::TensorPtr
make_tensor(std::vector<executorch::aten::SizesType> sizes, int64_t* data, ScalarType type) {
  return executorch::extension::make_tensor_ptr(std::move(sizes), data, {}, {}, type);
}

template <typename Logit>
int64_t find_largest(const Logit* row, int64_t columns) {
  int64_t best = 0;
  float largest = static_cast<float>(row[0]);
  bool is_number = !std::isnan(largest);
  for (int64_t i = 1; i < columns; ++i) {
    const float value = static_cast<float>(row[i]);
    is_number &= value == value;
    if (value > largest) {
      largest = value;
      best = i;
    }
  }
  if (!is_number) {
    throw Failure(ExitStatus::kNotExecuted, "the program gives logits that are not numbers (NaN)");
  }
  return best;
}

template <typename Logit>
double log_softmax(const Logit* row, int64_t columns, int64_t index) {
  const double largest = static_cast<float>(row[find_largest(row, columns)]);
  double sum = 0;
  for (int64_t i = 0; i < columns; ++i) {
    sum += std::exp(static_cast<double>(static_cast<float>(row[i])) - largest);
  }
  return static_cast<double>(static_cast<float>(row[index])) - largest - std::log(sum);
}

// Calls a function with the logits by their type, which was checked.
template <typename Function>
auto with_type(const void* logits, ScalarType type, Function function) {
  switch (type) {
    case ScalarType::Half:
      return function(static_cast<const executorch::aten::Half*>(logits));
    case ScalarType::BFloat16:
      return function(static_cast<const executorch::aten::BFloat16*>(logits));
    default:
      return function(static_cast<const float*>(logits));
  }
}

} // namespace

LanguageModel::LanguageModel(LoadedMethod& loaded) : method_(loaded.method()) {
  if (loaded.constant("use_kv_cache").value_or(1) == 0) {
    refuse("it keeps nothing of the tokens before (`use_kv_cache` is false); export it with a KV cache");
  }
  read_inputs(method_);
  read_output(method_);
  context_ = loaded.constant("get_max_context_len");
  if (!context_) {
    context_ = loaded.constant("get_max_seq_len");
  }
  const int64_t told = loaded.constant("get_vocab_size").value_or(columns_);
  vocabulary_ = told > 0 ? std::min(told, columns_) : columns_;
}

void LanguageModel::read_inputs(Method& method) {
  const auto meta = method.method_meta();
  if (meta.num_inputs() != kInputs) {
    refuse(
        "its method has " + std::to_string(meta.num_inputs()) +
        " inputs, not tokens [1, S] and the position of the first of them [1]");
  }
  const auto tokens = input_info(meta, 0);
  const auto position = input_info(meta, 1);
  if (tokens.sizes().size() != 2 || tokens.sizes()[0] != 1 || tokens.sizes()[1] < 1 || !is_whole(tokens.scalar_type())) {
    refuse("its first input is not tokens [1, S], int64 or int32");
  }
  if (position.nbytes() != executorch::runtime::elementSize(position.scalar_type()) ||
      !is_whole(position.scalar_type())) {
    refuse("its second input is not one position, int64 or int32");
  }
  most_ = tokens.sizes()[1];
  token_type_ = tokens.scalar_type();
  position_type_ = position.scalar_type();
  tokens_.resize(static_cast<size_t>(most_));
  position_.resize(1);
  const auto sizes = position.sizes();
  position_tensor_ = make_tensor({sizes.begin(), sizes.end()}, position_.data(), position_type_);
  token_tensors_[1] = make_tensor({1, 1}, tokens_.data(), token_type_);
  if (method.set_input(EValue(*token_tensors_[1]), 0) != Error::Ok) {
    refuse(
        "it takes exactly " + std::to_string(most_) +
        " tokens at a time; export it with a dynamic number of tokens, or with 1");
  }
}

void LanguageModel::read_output(Method& method) {
  const auto meta = method.method_meta();
  const auto info = meta.num_outputs() == 0 ? Error::InvalidArgument : meta.output_tensor_meta(0);
  if (!info.ok() || info->sizes().size() < 2 || info->sizes().size() > 3 || info->sizes()[0] != 1) {
    refuse("its first output is not logits [1, V] or [1, S, V]");
  }
  logit_type_ = info->scalar_type();
  columns_ = info->sizes()[info->sizes().size() - 1];
  gives_each_row_ = info->sizes().size() == 3 && (most_ == 1 || info->sizes()[1] > 1);
  if (logit_type_ != ScalarType::Float && logit_type_ != ScalarType::Half && logit_type_ != ScalarType::BFloat16) {
    refuse("its logits are not float32, float16 or bfloat16");
  }
  if (columns_ < 1) {
    refuse("its logits are of no token");
  }
}

void LanguageModel::execute(const int64_t* tokens, int64_t count, int64_t position) {
  auto& tensor = token_tensors_[count];
  if (tensor == nullptr) {
    tensor = make_tensor({1, static_cast<executorch::aten::SizesType>(count)}, tokens_.data(), token_type_);
  }
  write_numbers(tokens, count, token_type_, tokens_.data());
  write_numbers(&position, 1, position_type_, position_.data());
  Error error = method_.set_input(EValue(*tensor), 0);
  if (error == Error::Ok) {
    error = method_.set_input(EValue(*position_tensor_), 1);
  }
  if (error == Error::Ok) {
    error = method_.execute();
  }
  if (error != Error::Ok) {
    throw explain(
        ExitStatus::kNotExecuted,
        "the program failed while it processed " + std::to_string(count) + " tokens from position " +
            std::to_string(position) + " on",
        error);
  }
  const auto output = output_tensor(method_, 0);
  rows_ = output.numel() / columns_;
  logits_ = output.const_data_ptr();
  if (output.scalar_type() != logit_type_ || rows_ * columns_ != output.numel() || (rows_ != 1 && rows_ != count)) {
    throw Failure(
        ExitStatus::kNotExecuted,
        "the program gives " + std::to_string(output.numel()) + " logits for " + std::to_string(count) +
            " tokens and a vocabulary of " + std::to_string(columns_));
  }
}

int64_t LanguageModel::likeliest() const {
  return with_type(logits_, logit_type_, [this](const auto* logits) {
    return find_largest(logits + (rows_ - 1) * columns_, vocabulary_);
  });
}

double LanguageModel::log_probability(int64_t row, int64_t token) const {
  return with_type(
      logits_, logit_type_, [&](const auto* logits) { return log_softmax(logits + row * columns_, vocabulary_, token); });
}

} // namespace runner
