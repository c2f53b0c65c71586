#include "examples.h"

#include <cerrno>
#include <cstdio>
#include <cstring>
#include <fstream>
#include <memory>

#include "failure.h"
#include "program.h"
#include "runtime_log.h"

namespace runner {
namespace {

using executorch::aten::ScalarType;
using executorch::aten::Tensor;
using executorch::runtime::Error;
using executorch::runtime::Method;

// Shape of a tensor, and the order in which its elements lie in memory.
struct Layout {
  ScalarType type;
  std::vector<int64_t> sizes;
  std::vector<int64_t> order; // dimensions from the outermost to the innermost

  bool operator==(const Layout& other) const {
    return type == other.type && sizes == other.sizes && order == other.order;
  }

  bool is_row_major() const {
    for (size_t i = 0; i < order.size(); ++i) {
      if (order[i] != static_cast<int64_t>(i)) {
        return false;
      }
    }
    return true;
  }
};

template <typename Description>
Layout layout_of(const Description& tensor) {
  const auto sizes = tensor.sizes();
  const auto order = tensor.dim_order();
  return {tensor.scalar_type(), {sizes.begin(), sizes.end()}, {order.begin(), order.end()}};
}

enum class To { kRowMajor, kOwnLayout };

// Copies a tensor of `size` bytes between row-major order and its own layout.
void reorder(const uint8_t* from, uint8_t* to, const Layout& layout, size_t size, To direction) {
  if (layout.is_row_major()) {
    std::memcpy(to, from, size);
    return;
  }
  const size_t dimensions = layout.sizes.size();
  std::vector<size_t> strides(dimensions);
  size_t step = executorch::runtime::elementSize(layout.type);
  for (size_t place = dimensions; place-- > 0;) {
    strides[layout.order[place]] = step;
    step *= static_cast<size_t>(layout.sizes[layout.order[place]]);
  }
  const size_t element = executorch::runtime::elementSize(layout.type);
  std::vector<int64_t> index(dimensions);
  for (size_t row_major = 0; row_major < size; row_major += element) {
    size_t own = 0;
    for (size_t i = 0; i < dimensions; ++i) {
      own += static_cast<size_t>(index[i]) * strides[i];
    }
    const bool back = direction == To::kRowMajor;
    std::memcpy(to + (back ? row_major : own), from + (back ? own : row_major), element);
    for (size_t i = dimensions; i-- > 0 && ++index[i] == layout.sizes[i];) {
      index[i] = 0;
    }
  }
}

const char* name_of(ScalarType type) {
  switch (type) {
    case ScalarType::Byte:
      return "uint8";
    case ScalarType::Char:
      return "int8";
    case ScalarType::Short:
      return "int16";
    case ScalarType::Int:
      return "int32";
    case ScalarType::Long:
      return "int64";
    case ScalarType::Half:
      return "float16";
    case ScalarType::Float:
      return "float32";
    case ScalarType::Double:
      return "float64";
    case ScalarType::Bool:
      return "bool";
    case ScalarType::BFloat16:
      return "bfloat16";
    case ScalarType::UInt16:
      return "uint16";
    case ScalarType::UInt32:
      return "uint32";
    case ScalarType::UInt64:
      return "uint64";
    default:
      return executorch::runtime::toString(type);
  }
}

std::string list(const std::vector<int64_t>& numbers) {
  std::string text;
  for (const int64_t number : numbers) {
    text += (text.empty() ? "" : ", ") + std::to_string(number);
  }
  return "[" + text + "]";
}

std::string shape_of(const Layout& layout) {
  return name_of(layout.type) + std::string(" ") + list(layout.sizes);
}

// One input of all examples.
class InputFile final {
 public:
  InputFile(const std::string& file, const Layout& layout, size_t size, size_t input, int64_t examples)
      : file_(file), layout_(layout), row_major_(size), stream_(file, std::ios::binary | std::ios::ate) {
    check_file(file, ExitStatus::kUsage);
    const std::streamoff actual = stream_ ? static_cast<std::streamoff>(stream_.tellg()) : -1;
    const uint64_t expected = static_cast<uint64_t>(size) * static_cast<uint64_t>(examples);
    if (actual < 0) {
      throw Failure(ExitStatus::kUsage, "cannot read " + file);
    }
    if (static_cast<uint64_t>(actual) != expected) {
      throw Failure(
          ExitStatus::kUsage,
          file + " has " + std::to_string(actual) + " bytes; " + std::to_string(examples) + " examples of input " +
              std::to_string(input) + " (" + shape_of(layout) + ") need " + std::to_string(expected));
    }
    stream_.seekg(0);
  }

  // The next example, in the input's own layout.
  void read(std::vector<uint8_t>& bytes) {
    if (!stream_.read(reinterpret_cast<char*>(row_major_.data()), static_cast<std::streamsize>(row_major_.size()))) {
      throw Failure(ExitStatus::kUsage, "cannot read " + file_);
    }
    reorder(row_major_.data(), bytes.data(), layout_, bytes.size(), To::kOwnLayout);
  }

 private:
  std::string file_;
  Layout layout_;
  std::vector<uint8_t> row_major_;
  std::ifstream stream_;
};

// One output of all examples.
class OutputFile final {
 public:
  OutputFile(const std::string& base, size_t output)
      : file_(base + "-" + std::to_string(output) + ".bin"), output_(output), stream_(std::fopen(file_.c_str(), "wb")) {
    if (stream_ == nullptr) {
      fail();
    }
  }

  void write(const Tensor& tensor, int64_t example) {
    const Layout layout = layout_of(tensor);
    if (example == 0) {
      layout_ = layout;
    } else if (!(layout == layout_)) {
      throw Failure(
          ExitStatus::kNotExecuted,
          "output " + std::to_string(output_) + " of example " + std::to_string(example) + " is " + shape_of(layout) +
              ", that of example 0 " + shape_of(layout_) + ": outputs of varying shape cannot be evaluated");
    }
    row_major_.resize(tensor.nbytes());
    reorder(
        static_cast<const uint8_t*>(tensor.const_data_ptr()),
        row_major_.data(),
        layout,
        row_major_.size(),
        To::kRowMajor);
    if (std::fwrite(row_major_.data(), 1, row_major_.size(), stream_.get()) != row_major_.size()) {
      fail();
    }
  }

  // Returns the description of the output.
  std::string close() {
    if (std::fclose(stream_.release()) != 0) {
      fail();
    }
    return shape_of(layout_) + " dim_order " + list(layout_.order);
  }

 private:
  struct Close {
    void operator()(std::FILE* stream) const {
      std::fclose(stream);
    }
  };

  [[noreturn]] void fail() const {
    throw Failure(ExitStatus::kNotExecuted, "cannot write " + file_ + ": " + std::strerror(errno));
  }

  std::string file_;
  size_t output_;
  Layout layout_{};
  std::vector<uint8_t> row_major_;
  std::unique_ptr<std::FILE, Close> stream_;
};

std::vector<InputFile> open_inputs(const Method& method, const Arguments& arguments, int64_t examples) {
  const auto meta = method.method_meta();
  check_input_count(arguments.inputs, meta.num_inputs());
  std::vector<InputFile> files;
  for (size_t i = 0; i < arguments.inputs.size(); ++i) {
    const auto info = input_info(meta, i);
    files.emplace_back(arguments.inputs[i], layout_of(info), info.nbytes(), i, examples);
  }
  return files;
}

} // namespace

std::vector<std::string> run_examples(Method& method, const Arguments& arguments) {
  const int64_t examples = *arguments.examples;
  std::vector<InputFile> input_files = open_inputs(method, arguments, examples);
  Inputs inputs(method, {});
  std::vector<OutputFile> output_files;
  for (int64_t example = 0; example < examples; ++example) {
    for (size_t i = 0; i < input_files.size(); ++i) {
      input_files[i].read(inputs.bytes(i));
    }
    inputs.set_all();
    const Error error = method.execute();
    if (error != Error::Ok) {
      throw explain(
          ExitStatus::kNotExecuted, "the program failed while it executed example " + std::to_string(example), error);
    }
    for (size_t i = 0; i < method.outputs_size(); ++i) {
      if (example == 0) {
        output_files.emplace_back(arguments.outputs, i);
      }
      output_files[i].write(output_tensor(method, i), example);
    }
  }
  std::vector<std::string> descriptions;
  for (OutputFile& file : output_files) {
    descriptions.push_back(file.close());
  }
  return descriptions;
}

} // namespace runner
