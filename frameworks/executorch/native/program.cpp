#include "program.h"

#include <executorch/runtime/backend/interface.h>
#include <sys/stat.h>

#include <fstream>

#include "failure.h"
#include "openvino.h"
#include "runtime_log.h"

namespace runner {
namespace {

using executorch::aten::ScalarType;
using executorch::extension::MmapDataLoader;
using executorch::runtime::Error;
using executorch::runtime::EValue;
using executorch::runtime::EventTracer;
using executorch::runtime::Method;
using executorch::runtime::MethodMeta;
using executorch::runtime::Program;
using executorch::runtime::Span;
using executorch::runtime::Tag;
using executorch::runtime::TensorInfo;

bool has_method(const Program& program, const std::string& name) {
  for (size_t i = 0; i < program.num_methods(); ++i) {
    const auto method = program.get_method_name(i);
    if (method.ok() && name == method.get()) {
      return true;
    }
  }
  return false;
}

void check_method(const Program& program, const std::string& name) {
  std::string others;
  for (size_t i = 0; i < program.num_methods(); ++i) {
    const auto other = program.get_method_name(i);
    if (!other.ok()) {
      continue;
    }
    if (name == other.get()) {
      return;
    }
    others += (others.empty() ? "" : ", ") + std::string(other.get());
  }
  throw Failure(ExitStatus::kNotLoaded, "the program has no method " + name + "; it has: " + others);
}

// What brings a backend that loads its library when the program starts.
std::string remedy(const std::string& backend) {
  return backend == kOpenVinoBackend
      ? ": the library cannot be loaded (install the extra `openvino`, whose command `harness doctor` shows, or name "
        "the library in OPENVINO_LIB_PATH)"
      : "";
}

void check_backends(const MethodMeta& meta) {
  for (size_t i = 0; i < meta.num_backends(); ++i) {
    const auto name = meta.get_backend_name(i);
    if (!name.ok()) {
      continue; // loading the method says what is wrong
    }
    if (std::string(name.get()) == kOpenVinoBackend) {
      open_openvino();
    }
    const auto* backend = executorch::runtime::get_backend_class(name.get());
    if (backend == nullptr || !backend->is_available()) {
      throw Failure(
          ExitStatus::kNotLoaded,
          "the program uses backend " + std::string(name.get()) + ", which this runtime does not have" +
              (backend == nullptr ? "" : " on this machine") + remedy(name.get()));
    }
  }
}

std::vector<uint8_t> one(ScalarType type) {
  switch (type) {
    case ScalarType::Half:
      return {0x00, 0x3c};
    case ScalarType::BFloat16:
      return {0x80, 0x3f};
    case ScalarType::Float:
      return {0x00, 0x00, 0x80, 0x3f};
    case ScalarType::Double:
      return {0x00, 0x00, 0x00, 0x00, 0x00, 0x00, 0xf0, 0x3f};
    default: { // little-endian whole numbers, and bool
      std::vector<uint8_t> bytes(executorch::runtime::elementSize(type));
      bytes.at(0) = 1;
      return bytes;
    }
  }
}

std::vector<uint8_t> ones(const TensorInfo& info) {
  const std::vector<uint8_t> element = one(info.scalar_type());
  std::vector<uint8_t> bytes(info.nbytes());
  for (size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] = element[i % element.size()];
  }
  return bytes;
}

std::vector<uint8_t> read_input(const std::string& file, const TensorInfo& info, size_t index) {
  check_file(file, ExitStatus::kUsage);
  std::ifstream stream(file, std::ios::binary | std::ios::ate);
  const std::streamoff size = stream ? static_cast<std::streamoff>(stream.tellg()) : -1;
  if (size < 0) {
    throw Failure(ExitStatus::kUsage, "cannot read " + file);
  }
  if (static_cast<size_t>(size) != info.nbytes()) {
    throw Failure(
        ExitStatus::kUsage,
        file + " has " + std::to_string(size) + " bytes; input " + std::to_string(index) + " of the method needs " +
            std::to_string(info.nbytes()));
  }
  std::vector<uint8_t> bytes(info.nbytes());
  stream.seekg(0);
  if (!stream.read(reinterpret_cast<char*>(bytes.data()), size)) {
    throw Failure(ExitStatus::kUsage, "cannot read " + file);
  }
  return bytes;
}

} // namespace

void check_file(const std::string& file, ExitStatus status) {
  struct stat found;
  if (stat(file.c_str(), &found) != 0) {
    throw Failure(status, "no such file: " + file);
  }
  if (!S_ISREG(found.st_mode)) {
    throw Failure(status, "not a file: " + file);
  }
}

void check_input_count(const std::vector<std::string>& files, size_t count) {
  if (files.size() != count) {
    throw Failure(
        ExitStatus::kUsage,
        "argument --inputs: " + std::to_string(files.size()) + " files given; the method has " +
            std::to_string(count) + " inputs");
  }
}

TensorInfo input_info(const MethodMeta& meta, size_t index) {
  const auto tag = meta.input_tag(index);
  if (!tag.ok() || tag.get() != Tag::Tensor) {
    throw Failure(
        ExitStatus::kNotLoaded,
        "input " + std::to_string(index) + " of the method is not a tensor; the runner feeds tensors only");
  }
  const auto info = meta.input_tensor_meta(index);
  if (!info.ok()) {
    throw explain(ExitStatus::kNotLoaded, "input " + std::to_string(index) + " cannot be described", info.error());
  }
  return info.get();
}

executorch::aten::Tensor output_tensor(const Method& method, size_t index) {
  const EValue& output = method.get_output(index);
  if (!output.isTensor()) {
    throw Failure(
        ExitStatus::kNotExecuted, "output " + std::to_string(index) + " is not a tensor and cannot be written");
  }
  return output.toTensor();
}

LoadedMethod::LoadedMethod(
    const std::string& file,
    const std::string& method,
    EventTracer* tracer,
    const std::function<void()>& program_loaded) {
  map(file);
  if (program_loaded) {
    program_loaded();
  }
  check_method(*program_, method);
  const auto meta = program_->method_meta(method.c_str());
  if (!meta.ok()) {
    throw explain(ExitStatus::kNotLoaded, "method " + method + " cannot be described", meta.error());
  }
  check_backends(meta.get());
  plan_memory(meta.get());
  auto loaded = program_->load_method(method.c_str(), &*memory_, tracer);
  if (!loaded.ok()) {
    throw explain(ExitStatus::kNotLoaded, "method " + method + " cannot be loaded", loaded.error());
  }
  method_.emplace(std::move(loaded.get()));
  give_outputs_memory();
}

void LoadedMethod::map(const std::string& file) {
  check_file(file, ExitStatus::kNotLoaded);
  // Without mlock: locking costs time in proportion to the file, and a limit on locked memory would decide about it.
  auto loader = MmapDataLoader::from(file.c_str(), MmapDataLoader::MlockConfig::NoMlock);
  if (!loader.ok()) {
    throw explain(ExitStatus::kNotLoaded, "cannot read " + file, loader.error());
  }
  loader_.emplace(std::move(loader.get()));
  auto program = Program::load(&*loader_, Program::Verification::InternalConsistency);
  if (!program.ok()) {
    throw explain(
        ExitStatus::kNotLoaded,
        file + " is not an ExecuTorch program, or is of a version this runtime cannot read",
        program.error());
  }
  program_.emplace(std::move(program.get()));
}

void LoadedMethod::plan_memory(const MethodMeta& meta) {
  for (size_t i = 0; i < meta.num_memory_planned_buffers(); ++i) {
    const auto size = meta.memory_planned_buffer_size(i);
    if (!size.ok()) {
      throw explain(ExitStatus::kNotLoaded, "planned buffer " + std::to_string(i) + " is not described", size.error());
    }
    planned_bytes_.push_back(size.get());
    // Zeroed: mutable state of a program may begin here.
    buffers_.push_back(std::make_unique<uint8_t[]>(static_cast<size_t>(size.get())));
    planned_.push_back({buffers_.back().get(), static_cast<size_t>(size.get())});
  }
  planned_memory_.emplace(Span<Span<uint8_t>>(planned_.data(), planned_.size()));
  memory_.emplace(&method_memory_, &*planned_memory_, &temporary_memory_);
}

void LoadedMethod::give_outputs_memory() {
  const MethodMeta meta = method_->method_meta();
  for (size_t i = 0; i < meta.num_outputs(); ++i) {
    const EValue& output = method_->get_output(i);
    if (!output.isTensor() || output.toTensor().const_data_ptr() != nullptr) {
      continue; // planned, constant, or given by a delegate
    }
    const size_t size = output.toTensor().nbytes();
    buffers_.push_back(std::make_unique<uint8_t[]>(size));
    const Error error = method_->set_output_data_ptr(buffers_.back().get(), size, i);
    if (error != Error::Ok) {
      throw explain(ExitStatus::kNotLoaded, "output " + std::to_string(i) + " takes no memory", error);
    }
  }
}

std::optional<int64_t> LoadedMethod::constant(const std::string& method) {
  if (!has_method(*program_, method)) {
    return std::nullopt;
  }
  const auto fail = [&](Error error) {
    return explain(ExitStatus::kNotLoaded, "method " + method + " cannot be read", error);
  };
  const auto meta = program_->method_meta(method.c_str());
  if (!meta.ok()) {
    throw fail(meta.error());
  }
  std::vector<std::unique_ptr<uint8_t[]>> buffers;
  std::vector<Span<uint8_t>> planned;
  for (size_t i = 0; i < meta->num_memory_planned_buffers(); ++i) {
    const auto size = meta->memory_planned_buffer_size(i);
    if (!size.ok()) {
      throw fail(size.error());
    }
    buffers.push_back(std::make_unique<uint8_t[]>(static_cast<size_t>(size.get())));
    planned.push_back({buffers.back().get(), static_cast<size_t>(size.get())});
  }
  executorch::extension::MallocMemoryAllocator own;
  executorch::extension::MallocMemoryAllocator temporary;
  executorch::runtime::HierarchicalAllocator hierarchy({planned.data(), planned.size()});
  executorch::runtime::MemoryManager memory(&own, &hierarchy, &temporary);
  auto loaded = program_->load_method(method.c_str(), &memory);
  if (!loaded.ok()) {
    throw fail(loaded.error());
  }
  if (loaded->inputs_size() != 0 || loaded->outputs_size() == 0) {
    return std::nullopt;
  }
  if (const Error error = loaded->execute(); error != Error::Ok) {
    throw fail(error);
  }
  const EValue& value = loaded->get_output(0);
  if (value.isBool()) {
    return value.toBool() ? 1 : 0;
  }
  return value.isInt() ? std::optional<int64_t>(value.toInt()) : std::nullopt;
}

Inputs::Inputs(Method& method, const std::vector<std::string>& files) : method_(method) {
  const MethodMeta meta = method.method_meta();
  const size_t count = meta.num_inputs();
  if (!files.empty()) {
    check_input_count(files, count);
  }
  for (size_t i = 0; i < count; ++i) {
    const TensorInfo info = input_info(meta, i);
    bytes_.push_back(files.empty() ? ones(info) : read_input(files[i], info, i));
    const auto sizes = info.sizes();
    const auto order = info.dim_order();
    tensors_.push_back(executorch::extension::make_tensor_ptr(
        {sizes.begin(), sizes.end()}, bytes_.back().data(), {order.begin(), order.end()}, {}, info.scalar_type()));
    if (info.is_memory_planned()) {
      planned_.push_back(i);
    }
  }
}

void Inputs::set_all() {
  std::vector<size_t> all(tensors_.size());
  for (size_t i = 0; i < all.size(); ++i) {
    all[i] = i;
  }
  set(all);
}

void Inputs::set(const std::vector<size_t>& indices) {
  for (const size_t i : indices) {
    const Error error = method_.set_input(EValue(*tensors_[i]), i);
    if (error != Error::Ok) {
      throw explain(ExitStatus::kNotExecuted, "input " + std::to_string(i) + " was refused", error);
    }
  }
}

void write_outputs(const Method& method, const std::string& base) {
  for (size_t i = 0; i < method.outputs_size(); ++i) {
    const auto tensor = output_tensor(method, i);
    const std::string file = base + "-" + std::to_string(i) + ".bin";
    std::ofstream stream(file, std::ios::binary | std::ios::trunc);
    stream.write(static_cast<const char*>(tensor.const_data_ptr()), static_cast<std::streamsize>(tensor.nbytes()));
    if (!stream.flush()) {
      throw Failure(ExitStatus::kNotExecuted, "cannot write " + file);
    }
  }
}

} // namespace runner
