// A program that is loaded and ready to be executed, with its inputs and everything they point to.
#pragma once

#include <executorch/extension/data_loader/mmap_data_loader.h>
#include <executorch/extension/memory_allocator/malloc_memory_allocator.h>
#include <executorch/extension/tensor/tensor_ptr.h>
#include <executorch/runtime/core/event_tracer.h>
#include <executorch/runtime/executor/method.h>
#include <executorch/runtime/executor/program.h>

#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "failure.h"

namespace runner {

// One method of one file. Immovable: the runtime keeps pointers into it.
class LoadedMethod final {
 public:
  // Maps the file, checks it, loads the method and initialises its delegates.
  // `program_loaded` is called between the program and the method.
  // Throws Failure(kNotLoaded) or Failure(kOutOfMemory).
  LoadedMethod(
      const std::string& file,
      const std::string& method,
      executorch::runtime::EventTracer* tracer = nullptr,
      const std::function<void()>& program_loaded = {});
  LoadedMethod(const LoadedMethod&) = delete;
  LoadedMethod& operator=(const LoadedMethod&) = delete;

  executorch::runtime::Method& method() {
    return *method_;
  }

  // Sizes of the buffers for inputs, outputs and intermediate values, as the memory plan of the program has them.
  const std::vector<int64_t>& planned_bytes() const {
    return planned_bytes_;
  }

  // The number that another method of the program has, such as `get_max_seq_len`; absent where there is no such method,
  // or it gives no number. Throws Failure(kNotLoaded) where it cannot be executed.
  std::optional<int64_t> constant(const std::string& method);

 private:
  void map(const std::string& file);
  void plan_memory(const executorch::runtime::MethodMeta& meta);
  void give_outputs_memory();

  executorch::extension::MallocMemoryAllocator method_memory_;
  executorch::extension::MallocMemoryAllocator temporary_memory_;
  std::vector<int64_t> planned_bytes_;
  std::vector<std::unique_ptr<uint8_t[]>> buffers_;
  std::vector<executorch::runtime::Span<uint8_t>> planned_;
  std::optional<executorch::runtime::HierarchicalAllocator> planned_memory_;
  std::optional<executorch::runtime::MemoryManager> memory_;
  std::optional<executorch::extension::MmapDataLoader> loader_;
  std::optional<executorch::runtime::Program> program_;
  std::optional<executorch::runtime::Method> method_;
};

// Throws a Failure with this status where there is no such file.
void check_file(const std::string& file, ExitStatus status);

// Throws Failure(kUsage) where --inputs has another number of files than the method has inputs.
void check_input_count(const std::vector<std::string>& files, size_t count);

// Describes an input. Throws Failure(kNotLoaded) where it is not a tensor.
executorch::runtime::TensorInfo input_info(const executorch::runtime::MethodMeta& meta, size_t index);

// An output of the last execution. Throws Failure(kNotExecuted) where it is not a tensor.
executorch::aten::Tensor output_tensor(const executorch::runtime::Method& method, size_t index);

// The inputs of a method: from raw little-endian files in the input's own memory layout, or ones.
class Inputs final {
 public:
  // Throws Failure(kUsage) where the files do not fit the method, naming file, expected and actual bytes.
  Inputs(executorch::runtime::Method& method, const std::vector<std::string>& files);

  // Hands over every input. Needed once, and when their bytes were changed.
  void set_all();

  // The memory of an input, in its own layout.
  std::vector<uint8_t>& bytes(size_t index) {
    return bytes_[index];
  }

  // Hands over the inputs that executing may have overwritten. Needed before each further execution: the memory of
  // a planned input is free for intermediate values as soon as the input was last read.
  void refresh() {
    if (!planned_.empty()) {
      set(planned_);
    }
  }

 private:
  void set(const std::vector<size_t>& indices);

  executorch::runtime::Method& method_;
  std::vector<std::vector<uint8_t>> bytes_;
  std::vector<executorch::extension::TensorPtr> tensors_;
  std::vector<size_t> planned_;
};

// Writes BASE-0.bin, BASE-1.bin, ...: raw little-endian, in the output's own memory layout.
// Throws Failure(kNotExecuted) where a file cannot be written.
void write_outputs(const executorch::runtime::Method& method, const std::string& base);

} // namespace runner
