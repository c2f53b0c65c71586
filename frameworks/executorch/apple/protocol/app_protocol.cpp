#include "app_protocol.h"

#include <fcntl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/time.h>
#include <unistd.h>

#include <cerrno>
#include <cmath>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>

#include "json.h"
#include "sha256.h"

namespace app {
namespace {

constexpr const char* kResult = "EDGE_HARNESS_RESULT";
constexpr const char* kLinks = "EDGE_HARNESS_LINKS";
constexpr const char* kMark = "EDGE_HARNESS_MARK";
constexpr int kSchema = 1;
constexpr std::streamsize kLargestList = 16 << 20; // bytes of the list of links
constexpr std::streamsize kLargestOutput = 4 << 20; // bytes of an output that the result repeats

std::string variable(const char* name) {
  const char* const value = std::getenv(name);
  return value == nullptr ? "" : value;
}

std::string reason() {
  return std::strerror(errno);
}

// Whether a path stays in the container, and can be the name of a file.
bool is_inside(const std::string& path) {
  if (path.empty() || path.front() == '/' || path.back() == '/' || path.find('\0') != std::string::npos) {
    return false;
  }
  std::istringstream parts(path);
  for (std::string part; std::getline(parts, part, '/');) {
    if (part.empty() || part == "." || part == "..") {
      return false;
    }
  }
  return true;
}

void make_parents(const std::string& path) {
  for (size_t slash = path.find('/'); slash != std::string::npos; slash = path.find('/', slash + 1)) {
    if (slash > 0) {
      mkdir(path.substr(0, slash).c_str(), 0755);
    }
  }
}

struct FileLink {
  std::string path;
  std::string content;
  int64_t size_bytes;
};

// What the result says beside times.
struct Outcome {
  std::optional<int> exit_code;
  std::string problem;
  std::vector<std::string> incomplete;
};

std::vector<FileLink> read_links(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : -1;
  if (size < 0 || size > kLargestList) {
    throw JsonError(size < 0 ? "it cannot be read" : "it is too large");
  }
  std::string text(static_cast<size_t>(size), '\0');
  file.seekg(0).read(text.data(), size);
  const Json list = parse_json(text);
  if (list.kind != Json::Kind::kList) {
    throw JsonError("it is no list");
  }
  std::vector<FileLink> links;
  for (const Json& item : list.list) {
    const auto name = item["path"].as_text();
    const auto content = item["content"].as_text();
    const auto bytes = item["size_bytes"].as_size();
    if (!name || !content || !bytes || !is_inside(*name) || !is_inside(*content)) {
      throw JsonError("a link has no path, content and size_bytes inside of the container");
    }
    links.push_back({*name, *content, *bytes});
  }
  return links;
}

bool is_complete(const FileLink& link) {
  struct stat status;
  return lstat(link.content.c_str(), &status) == 0 && S_ISREG(status.st_mode) && status.st_size == link.size_bytes;
}

// Makes all links, or none where a content is not complete.
void make_links(const std::string& list, Outcome& outcome) {
  std::vector<FileLink> links;
  try {
    links = read_links(list);
  } catch (const JsonError& error) {
    outcome.problem = "the list of links " + list + ": " + error.what();
    return;
  }
  for (const FileLink& link : links) {
    if (!is_complete(link)) {
      outcome.incomplete.push_back(link.content);
    }
  }
  if (!outcome.incomplete.empty()) {
    outcome.problem = "missing, or of another size: " + std::to_string(outcome.incomplete.size()) + " of " +
        std::to_string(links.size()) + " files, the first is " + outcome.incomplete.front();
    return;
  }
  for (const FileLink& link : links) {
    make_parents(link.path);
    unlink(link.path.c_str());
    if (::link(link.content.c_str(), link.path.c_str()) != 0) {
      outcome.problem = "cannot link " + link.path + " to " + link.content + ": " + reason();
      return;
    }
  }
}

void redirect(const std::string& path, int flags, int descriptor) {
  const int file = open(path.c_str(), flags | O_CLOEXEC, 0644);
  if (file >= 0) {
    dup2(file, descriptor); // without O_CLOEXEC: programs that the app starts have it too
    close(file);
  }
}

void redirect_streams(const std::string& result) {
  std::fflush(nullptr);
  const int flags = O_WRONLY | O_CREAT | O_TRUNC | O_APPEND;
  redirect("/dev/null", O_RDONLY, STDIN_FILENO);
  redirect(result + ".out", flags, STDOUT_FILENO);
  redirect(result + ".err", flags, STDERR_FILENO);
}

// What a file holds, as a JSON string: a look less for whoever reads the result. Nothing where it is large.
std::optional<std::string> read_output(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamsize size = file ? static_cast<std::streamsize>(file.tellg()) : -1;
  if (size < 0 || size > kLargestOutput) {
    return std::nullopt;
  }
  std::string text(static_cast<size_t>(size), '\0');
  file.seekg(0);
  if (!file.read(text.data(), size)) {
    return std::nullopt;
  }
  return text;
}

double seconds_now() {
  timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

// Of the process and of those that it waited for.
double cpu_seconds() {
  double sum = 0;
  for (const int who : {RUSAGE_SELF, RUSAGE_CHILDREN}) {
    rusage usage;
    if (getrusage(who, &usage) == 0) {
      for (const timeval& time : {usage.ru_utime, usage.ru_stime}) {
        sum += static_cast<double>(time.tv_sec) + static_cast<double>(time.tv_usec) * 1e-6;
      }
    }
  }
  return sum;
}

std::string format(double number) {
  if (!std::isfinite(number)) {
    return "null";
  }
  char text[40];
  std::snprintf(text, sizeof text, "%.9g", number);
  return text;
}

std::string format_seconds(double seconds) {
  char text[40];
  std::snprintf(text, sizeof text, "%.6f", seconds);
  return text;
}

std::string format(bool value) {
  return value ? "true" : "false";
}

std::string format(int64_t number) {
  return std::to_string(number);
}

std::string format(const std::string& text) {
  return quote(text);
}

template <typename Value>
std::string member(const char* name, const std::optional<Value>& value) {
  return std::string(", \"") + name + "\": " + (value ? format(*value) : "null");
}

std::string format_state(const State& state, double time) {
  return "{\"time\": " + format_seconds(time) + member("thermal_state", state.thermal_state) +
      member("low_power_mode", state.low_power_mode) + member("brightness", state.brightness) +
      member("battery_percent", state.battery_percent) + member("battery_state", state.battery_state) +
      member("memory_available_bytes", state.memory_available_bytes) + member("uptime_s", state.uptime_s) +
      member("awake_s", state.awake_s) + "}";
}

// Writes a whole file or none.
bool write_file(const std::string& path, const std::string& text) {
  const std::string partial = path + ".partial";
  const int file = open(partial.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);
  if (file < 0) {
    return false;
  }
  size_t written = 0;
  while (written < text.size()) {
    const ssize_t count = write(file, text.data() + written, text.size() - written);
    if (count < 0 && errno == EINTR) {
      continue;
    }
    if (count <= 0) {
      break;
    }
    written += static_cast<size_t>(count);
  }
  const bool is_whole = written == text.size() && fsync(file) == 0;
  return (close(file) == 0) && is_whole && std::rename(partial.c_str(), path.c_str()) == 0;
}

// One launch, from the links to the result.
class AppLaunch final {
 public:
  AppLaunch(const Surroundings& surroundings, std::string result)
      : surroundings_(surroundings),
        result_(std::move(result)),
        mark_(variable(kMark)),
        executable_sha256_(sha256_of_file(surroundings.executable)) {}

  bool run(const std::string& links) {
    Outcome outcome;
    if (!links.empty()) {
      make_links(links, outcome);
    }
    before_ = describe_state();
    begin_s_ = seconds_now();
    begin_cpu_s_ = cpu_seconds();
    if (outcome.problem.empty()) {
      outcome.exit_code = surroundings_.run();
    }
    return write(outcome);
  }

  bool write(const Outcome& outcome) {
    const double wall_s = seconds_now() - begin_s_;
    const double cpu_s = cpu_seconds() - begin_cpu_s_;
    std::fflush(nullptr);
    std::string incomplete;
    for (const std::string& content : outcome.incomplete) {
      incomplete += (incomplete.empty() ? "" : ", ") + quote(content);
    }
    const std::optional<int64_t> exit_code =
        outcome.exit_code ? std::optional<int64_t>(*outcome.exit_code) : std::nullopt;
    const std::string text = "{\"schema_version\": " + std::to_string(kSchema) + ", \"mark\": " + quote(mark_) +
        member("exit_code", exit_code) + ", \"problem\": " + quote(outcome.problem) + ", \"incomplete\": [" +
        incomplete + "], \"wall_s\": " + format_seconds(wall_s) + ", \"cpu_s\": " + format_seconds(cpu_s) +
        member("peak_memory_bytes", surroundings_.peak_memory_bytes()) +
        ", \"executable_sha256\": " + quote(executable_sha256_) + ", \"version\": " + quote(surroundings_.version) +
        member("stdout", read_output(result_ + ".out")) + member("stderr", read_output(result_ + ".err")) +
        member("foreground", surroundings_.was_in_foreground()) + ", \"before\": " + before_ +
        ", \"after\": " + describe_state() + "}\n";
    if (!write_file(result_, text)) {
      std::fprintf(stderr, "error: cannot write %s: %s\n", result_.c_str(), reason().c_str());
      return false;
    }
    return true;
  }

 private:
  std::string describe_state() const {
    timespec now;
    clock_gettime(CLOCK_REALTIME, &now);
    return format_state(
        surroundings_.read_state(), static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9);
  }

  const Surroundings& surroundings_;
  std::string result_;
  std::string mark_;
  std::string executable_sha256_;
  std::string before_;
  double begin_s_ = 0;
  double begin_cpu_s_ = 0;
};

AppLaunch* current = nullptr;

} // namespace

bool is_started_by_harness() {
  return std::getenv(kResult) != nullptr;
}

bool serve(const Surroundings& surroundings) {
  if (chdir(surroundings.container.c_str()) != 0) {
    std::fprintf(stderr, "error: cannot enter %s: %s\n", surroundings.container.c_str(), reason().c_str());
    return false;
  }
  const std::string result = variable(kResult);
  const std::string links = variable(kLinks);
  if (!is_inside(result) || (!links.empty() && !is_inside(links))) {
    std::fprintf(stderr, "error: %s or %s is no path inside of the container\n", kResult, kLinks);
    return false;
  }
  make_parents(result);
  unlink(result.c_str());
  redirect_streams(result);
  AppLaunch launch(surroundings, result);
  for (const char* const name : {kResult, kLinks, kMark}) {
    unsetenv(name); // the runner sees what it would see without an app
  }
  current = &launch;
  const bool is_written = launch.run(links);
  current = nullptr;
  return is_written;
}

void finish_early(int exit_code) {
  if (current != nullptr) {
    Outcome outcome;
    outcome.exit_code = exit_code;
    current->write(outcome);
    current = nullptr;
  }
}

} // namespace app
