#include "runner.h"

#include <cstdio>
#include <exception>
#include <new>
#include <optional>
#include <string>
#include <vector>

#if defined(HARNESS_FOREIGN_LIBC)
#include <gnu/libc-version.h>
#endif

#include "arguments.h"
#include "clocks.h"
#include "etdump.h"
#include "examples.h"
#include "failure.h"
#include "generate.h"
#include "machine.h"
#include "measure.h"
#include "openvino.h"
#include "operators.h"
#include "pacing.h"
#include "page_cache.h"
#include "phases.h"
#include "program.h"
#include "runtime_log.h"
#include "thread_pool.h"

namespace runner {
namespace {

void print_number(const char* type, const char* metric, const char* unit, int64_t value) {
  std::printf(
      "PyTorchObserver {\"type\": \"%s\", \"metric\": \"%s\", \"unit\": \"%s\", \"value\": \"%lld\"}\n",
      type,
      metric,
      unit,
      static_cast<long long>(value));
}

void print_bytes(const char* metric, std::optional<int64_t> bytes) {
  if (bytes) {
    print_number("RUN", metric, "bytes", *bytes);
  }
}

void print_text(const char* metric, const char* text) {
  std::printf(
      "PyTorchObserver {\"type\": \"RUN\", \"metric\": \"%s\", \"unit\": \"\", \"info_string\": \"%s\"}\n",
      metric,
      text);
}

// Iterations with their own times. Of a generation the stamps of its tokens tell more, but are too many in a long run.
void print_paced(const KeptSamples& paced, const Arguments& arguments) {
  const bool is_long = arguments.sustained_s > 0;
  const std::vector<PacedSample>& samples = paced.samples();
  for (const PacedSample& sample : samples) {
    if (is_long && sample.tokens_per_s > 0) {
      std::printf(
          "PyTorchObserver {\"type\": \"NET\", \"metric\": \"decode_rate\", \"unit\": \"tokens/s\", \"value\": \"%.9g\"}\n",
          sample.tokens_per_s);
    }
  }
  for (const PacedSample& sample : samples) {
    if (is_long || !arguments.generate) {
      print_number("NET", "latency", "ns", sample.wall_ns);
    }
  }
  for (const PacedSample& sample : samples) {
    print_number("NET", "cpu_time", "ns", sample.cpu_ns);
  }
  for (const PacedSample& sample : samples) {
    print_number("NET", "start_time", "ns", sample.start_ns);
  }
  for (const PacedSample& sample : samples) {
    if (arguments.arrival) {
      print_number("NET", "response_time", "ns", sample.response_ns);
    }
  }
  if (paced.stride() > 1) {
    print_number("RUN", "samples_thinned", "", paced.stride());
  }
}

// Of a generation the time stamps of its tokens are printed instead of its latency.
void print_samples(
    const Measurement& measurement, const std::optional<Generation>& generation, const Arguments& arguments) {
  if (generation && arguments.sustained_s == 0) {
    generation->print();
  }
  if (arguments.arrival || arguments.sustained_s > 0) {
    print_paced(measurement.paced, arguments);
  } else if (!generation) {
    for (const Sample& sample : measurement.samples) {
      print_number("NET", "latency", "ns", sample.wall_ns);
    }
  }
  for (const Sample& sample : measurement.samples) {
    print_number("NET", "cpu_time", "ns", sample.cpu_ns);
  }
}

std::string quoted(const std::string& name) {
  std::string text = "\"";
  for (const char c : name) {
    if (c == '"' || c == '\\') {
      text += '\\';
    }
    text += static_cast<unsigned char>(c) < 0x20 ? '?' : c;
  }
  return text + '"';
}

// Microseconds with what is behind the point as far as it is not zero: delegates tell of whole ones.
void print_microseconds(int64_t time_ns) {
  std::printf("%lld", static_cast<long long>(time_ns / 1000));
  if (int64_t rest = time_ns % 1000; rest != 0) {
    int digits = 3;
    for (; rest % 10 == 0; rest /= 10) {
      --digits;
    }
    std::printf(".%0*lld", digits, static_cast<long long>(rest));
  }
}

void print_operators(const std::vector<Operator>& operators) {
  for (const Operator& one : operators) {
    std::printf(
        "PyTorchObserver {\"type\": %s, \"metric\": \"latency\", \"unit\": \"us\", \"values\": [",
        quoted(one.name).c_str());
    const char* before = "";
    for (const int64_t time_ns : one.times_ns) {
      std::fputs(before, stdout);
      print_microseconds(time_ns);
      before = ",";
    }
    std::fputs("]}\n", stdout);
  }
  std::string places; // in the order of the lines above
  for (const Operator& one : operators) {
    places += places.empty() ? one.place : " " + one.place;
  }
  if (operators.empty()) {
    print_text("operators_unavailable", "this ExecuTorch library was built without its event tracer");
  } else {
    print_text("operator_places", places.c_str());
  }
}

void print_openvino(const std::vector<OpenVinoModel>& models) {
  for (const OpenVinoModel& model : models) {
    print_text("openvino_device", model.device.c_str());
    print_text("openvino_precision", model.precision.c_str());
    print_number("RUN", "openvino_threads", "", model.threads);
  }
  if (!models.empty()) {
    print_text("openvino", openvino_version().c_str());
  }
}

// What both kinds of launches tell of themselves.
void print_launch(
    const executorch::runtime::Method& method,
    const std::vector<OpenVinoModel>& openvino,
    const PrintMore& print_more) {
  print_text("runtime", "executorch " EXECUTORCH_VERSION " native");
#if defined(HARNESS_FOREIGN_LIBC) // the device has another one, which its apps use
  print_text("libc", (std::string("glibc ") + gnu_get_libc_version()).c_str());
#endif
  print_openvino(openvino);
  if (print_more) {
    print_more(method.method_meta());
  }
}

struct LoadTimes {
  int64_t program_ns; // until the program was loaded
  int64_t load_ns; // until the method was
  int64_t first_iteration_ns;
};

void print_cold(const CachedPages& pages, const LoadTimes& times) {
  if (!pages.is_cold()) {
    const std::string left = std::to_string(pages.cached) + " of " + std::to_string(pages.pages) +
        " pages of the program stayed in the page cache";
    print_text("cold_load_unavailable", (pages.problem.empty() ? left : pages.problem).c_str());
    return;
  }
  print_number("RUN", "cold_load_time", "ns", times.load_ns);
  print_number("RUN", "cold_program_load_time", "ns", times.program_ns);
  print_number("RUN", "cold_first_iteration", "ns", times.first_iteration_ns);
}

void print_phases(const Phases& phases, const std::vector<int64_t>& planned) {
  for (const auto& [metric, bytes] : phases.metrics()) {
    print_number("RUN", metric.c_str(), "bytes", bytes);
  }
  int64_t sum = 0;
  for (const int64_t bytes : planned) {
    sum += bytes;
  }
  print_number("RUN", "planned_memory", "bytes", sum);
  for (size_t i = 0; planned.size() > 1 && i < planned.size(); ++i) {
    print_number("RUN", ("planned_memory_" + std::to_string(i)).c_str(), "bytes", planned[i]);
  }
  if (!phases.has_peaks()) {
    print_text("peak_memory_unavailable", "this system does not let a process reset its peak between phases");
  }
}

void flush_output() {
  if (std::fflush(stdout) != 0) {
    throw Failure(ExitStatus::kNotExecuted, "cannot write to standard output");
  }
}

void execute_examples(const Arguments& arguments, const PrintMore& print_more) {
  const int64_t threads = use_threads(arguments.threads);
  set_openvino({arguments.threads, arguments.openvino_precision});
  LoadedMethod loaded(arguments.model, arguments.method);
  const auto& openvino = openvino_models();
  const std::vector<std::string> outputs = run_examples(loaded.method(), arguments);
  for (size_t i = 0; i < outputs.size(); ++i) {
    print_text(("output_" + std::to_string(i)).c_str(), outputs[i].c_str());
  }
  print_bytes("peak_memory", memory().peak_bytes);
  print_number("RUN", "examples_done", "", *arguments.examples);
  print_number("RUN", "threads", "", threads);
  print_launch(loaded.method(), openvino, print_more);
  flush_output();
}

void run(const Arguments& arguments, const PrintMore& print_more) {
  OperatorTimes times;
  OperatorTimes* const operators = arguments.operators ? &times : nullptr;
  const int64_t threads = use_threads(arguments.threads);
  set_openvino({arguments.threads, arguments.openvino_precision});
  const Memory before = memory();
  Phases phases(arguments.phases);
  const CachedPages pages = arguments.cold ? drop_from_page_cache(arguments.model) : CachedPages{};
  int64_t program_loaded = 0;
  const int64_t begin = now_ns(CLOCK_MONOTONIC);
  LoadedMethod loaded(arguments.model, arguments.method, operators, [&] {
    program_loaded = now_ns(CLOCK_MONOTONIC);
    phases.end("program_load", "program_load");
  });
  const int64_t end = now_ns(CLOCK_MONOTONIC);
  const Memory after = memory();
  phases.end("method_load", "load");

  const auto& openvino = openvino_models();
  // With one thread everything happens on ours; with more, the work of the whole pool counts. OpenVINO has its own pool.
  const bool is_alone = threads == 1 && openvino.empty();
  if (arguments.own_time && !is_alone) {
    throw Failure(ExitStatus::kUsage, "argument --own-time: needs a runtime with one thread");
  }
  const WallClock wall_clock(arguments.own_time);
  CpuClock cpu_clock(!is_alone);
  const Clocks clocks{wall_clock, cpu_clock};
  std::optional<Inputs> inputs;
  std::optional<Execution> execution;
  std::optional<Generation> generation;
  if (arguments.generate) {
    generation.emplace(loaded, arguments, clocks, operators);
  } else {
    inputs.emplace(loaded.method(), arguments.inputs);
    execution.emplace(loaded.method(), *inputs, clocks, operators);
  }
  Work& work = generation ? static_cast<Work&>(*generation) : *execution;
  const Measurement measurement = measure(work, arguments);
  const Memory finally = memory();
  phases.end("first_execution", "first_execution");
  const std::optional<int64_t> peak = phases.whole_peak(finally.peak_bytes);
  if (generation) {
    generation->finish();
  } else if (!arguments.outputs.empty()) {
    write_outputs(loaded.method(), arguments.outputs);
  }
  if (!arguments.etdump.empty()) {
    write_etdump(arguments);
  }

  print_samples(measurement, generation, arguments);
  if (arguments.cold) {
    print_cold(pages, {program_loaded - begin, end - begin, measurement.first_iteration_ns});
  } else {
    print_number("RUN", "load_time", "ns", end - begin);
    print_number("RUN", "first_iteration", "ns", measurement.first_iteration_ns);
  }
  print_bytes("memory_before_load", before.resident_bytes);
  print_bytes("memory_after_load", after.resident_bytes);
  print_bytes("peak_memory", peak);
  if (arguments.phases) {
    print_phases(phases, loaded.planned_bytes());
  }
  print_number("RUN", "threads", "", threads);
  print_number("RUN", "warmup_done", "", measurement.warmup_done);
  print_number("RUN", "iterations_done", "", measurement.iterations_done);
  print_launch(loaded.method(), openvino, print_more);
  if (measurement.stopped_by_time_limit) {
    print_text("stopped_early", "time_limit");
  }
  if (operators != nullptr) {
    print_operators(operators->operators());
  }
  flush_output();
}

int fail(ExitStatus status, const char* sentence) {
  std::fprintf(stderr, "error: %s\n", sentence);
  return static_cast<int>(status);
}

} // namespace

int run_program(int argc, const char* const* argv, const PrintMore& print_more) {
  try {
    const Arguments arguments = parse_arguments(argc, argv);
    if (arguments.help) {
      std::fputs(kUsage, stdout);
      return 0;
    }
    listen_to_runtime();
    arguments.examples ? execute_examples(arguments, print_more) : run(arguments, print_more);
    return 0;
  } catch (const Failure& failure) {
    return fail(failure.status(), failure.what());
  } catch (const std::bad_alloc&) {
    return fail(ExitStatus::kOutOfMemory, "out of memory: an allocation by the runner itself failed");
  } catch (const std::exception& error) {
    return fail(ExitStatus::kNotExecuted, error.what());
  }
}

} // namespace runner
