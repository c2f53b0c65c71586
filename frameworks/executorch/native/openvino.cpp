#include "openvino.h"

#include <dlfcn.h>

#include <cstdlib>
#include <utility>

#include "failure.h"

namespace {

// Of OpenVINO's C API (openvino/c/ov_core.h, ov_compiled_model.h, ov_common.h): pointers to opaque types, 0 is success.
using ImportModel = int(const void* core, const char* content, size_t size, const char* device, void** model);
using SetProperty = int(const void* core, const char* device, ...);
using GetProperty = int(const void* model, const char* key, char** value);
using Free = void(const char* text);

struct Version {
  const char* build;
  const char* description;
};
using GetVersion = int(Version* version);
using FreeVersion = void(Version* version);

// Of the first release that uses the weights of a model where the delegate has freed them (docs/decisions/0037).
constexpr long kFirstUnusableYear = 2026;

// OpenVINO turns models to this precision while it compiles them, not while it imports them.
constexpr const char* kOnlyWhereCompiled = "f16";

struct Library {
  void* handle = nullptr;
  runner::OpenVinoSettings settings;
  std::vector<runner::OpenVinoModel> models;
};

// The delegate calls plain functions, so what they need has to be kept here.
Library& library() {
  static Library instance;
  return instance;
}

template <typename Function>
Function* symbol(const char* name) {
  return reinterpret_cast<Function*>(dlsym(library().handle, name));
}

bool set(const void* core, const char* device, const char* key, const std::string& value) {
  auto* set_property = symbol<SetProperty>("ov_core_set_property");
  return set_property != nullptr && set_property(core, device, key, value.c_str()) == 0;
}

std::string get(const void* model, const char* key) {
  auto* get_property = symbol<GetProperty>("ov_compiled_model_get_property");
  auto* release = symbol<Free>("ov_free");
  char* value = nullptr;
  if (get_property == nullptr || release == nullptr || get_property(model, key, &value) != 0 || value == nullptr) {
    return "unknown";
  }
  const std::string text = value;
  release(value);
  return text;
}

// An imported model says f16 and computes in what it was compiled for (docs/decisions/0037).
std::string precision(const void* model) {
  const std::string told = get(model, "INFERENCE_PRECISION_HINT");
  return told == kOnlyWhereCompiled ? "unknown" : told;
}

} // namespace

// In place of OpenVINO's function of this name: the delegate looks it up in this program first, see open_openvino.
extern "C" __attribute__((visibility("default"))) int
ov_core_import_model(const void* core, const char* content, size_t size, const char* device, void** model) {
  auto* import_model = symbol<ImportModel>("ov_core_import_model");
  if (import_model == nullptr) {
    return -1;
  }
  // Whether they are obeyed is read from the model.
  const runner::OpenVinoSettings& settings = library().settings;
  if (settings.threads) {
    set(core, device, "INFERENCE_NUM_THREADS", std::to_string(*settings.threads));
  }
  if (!settings.precision.empty()) {
    set(core, device, "INFERENCE_PRECISION_HINT", settings.precision);
  }
  const int status = import_model(core, content, size, device, model);
  if (status == 0) {
    const std::string threads = get(*model, "INFERENCE_NUM_THREADS");
    library().models.push_back({device, precision(*model), std::strtoll(threads.c_str(), nullptr, 10)});
  }
  return status;
}

namespace runner {

namespace {

// Release and build: "2026.4.1-22982-...". Empty where the library does not say.
void check_release(const std::string& version) {
  if (std::strtol(version.c_str(), nullptr, 10) >= kFirstUnusableYear) {
    throw Failure(
        ExitStatus::kNotLoaded,
        "OpenVINO " + version.substr(0, version.find('-')) +
            " reads the model's weights from memory that ExecuTorch's delegate has freed: install the extra "
            "`openvino`, whose command `harness doctor` shows, or name the library of an older release in "
            "OPENVINO_LIB_PATH");
  }
}

} // namespace

void set_openvino(OpenVinoSettings settings) {
  library().settings = std::move(settings);
}

void open_openvino() {
  if (library().handle != nullptr) {
    return;
  }
  const char* path = std::getenv("OPENVINO_LIB_PATH");
  void* handle = dlopen(path != nullptr && *path != '\0' ? path : "libopenvino_c.so", RTLD_NOW | RTLD_GLOBAL);
  if (handle == nullptr) {
    return;
  }
  library().handle = handle;
  check_release(openvino_version());
  // The delegate opens the library that this variable names. The empty name is this program: functions are looked up in
  // it first, and then in what it loaded globally.
  setenv("OPENVINO_LIB_PATH", "", 1);
}

const std::vector<OpenVinoModel>& openvino_models() {
  const std::vector<OpenVinoModel>& models = library().models;
  const std::string& precision = library().settings.precision;
  if (!precision.empty() && models.empty()) {
    throw Failure(
        ExitStatus::kNotLoaded, "argument --openvino-precision: the program has no OpenVINO delegate to set it for");
  }
  for (const OpenVinoModel& model : models) {
    if (!precision.empty() && model.precision != precision) {
      throw Failure(
          ExitStatus::kNotLoaded,
          "argument --openvino-precision: OpenVINO computes in " + model.precision + " on " + model.device +
              ", not in " + precision);
    }
  }
  return models;
}

std::string openvino_version() {
  auto* get_version = library().handle == nullptr ? nullptr : symbol<GetVersion>("ov_get_openvino_version");
  auto* release = library().handle == nullptr ? nullptr : symbol<FreeVersion>("ov_version_free");
  Version version = {};
  if (get_version == nullptr || release == nullptr || get_version(&version) != 0) {
    return "";
  }
  const std::string text = version.build;
  release(&version);
  return text;
}

} // namespace runner
