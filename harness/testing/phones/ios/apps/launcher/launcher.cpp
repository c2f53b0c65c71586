// Program of the stand-in's apps: speaks the protocol of runner apps around a program of this machine.
//
// Its last line tells which program: `@edge-harness-stand-in@ KIND VERSION DIGEST`. KIND is `shell` for an app that
// executes its arguments as a command, else the name of a program beside it, which gets the arguments. The digest is
// of that program, so that two apps around different programs have different executables, as on a phone.
#include <fcntl.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <ctime>
#include <fstream>
#include <sstream>
#include <string>
#include <vector>

#include "app_protocol.h"
#include "json.h"

namespace {

constexpr const char* kPlate = "\n@edge-harness-stand-in@ ";
constexpr int kLongestPlate = 512; // bytes

struct Plate {
  std::string kind = "shell";
  std::string version;
};

std::string own_path() {
  char path[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", path, sizeof path);
  return length > 0 ? std::string(path, static_cast<size_t>(length)) : "";
}

Plate read_plate(const std::string& path) {
  std::ifstream file(path, std::ios::binary | std::ios::ate);
  const std::streamoff size = file ? static_cast<std::streamoff>(file.tellg()) : 0;
  const std::streamoff begin = size > kLongestPlate ? size - kLongestPlate : 0;
  std::string tail(static_cast<size_t>(size - begin), '\0');
  file.seekg(begin).read(tail.data(), size - begin);
  Plate plate;
  if (const size_t at = tail.rfind(kPlate); at != std::string::npos) {
    std::istringstream(tail.substr(at + std::strlen(kPlate))) >> plate.kind >> plate.version;
  }
  return plate;
}

app::Json read_conditions() {
  const char* const path = std::getenv("STAND_IN_CONDITIONS");
  std::ifstream file(path == nullptr ? "" : path);
  std::stringstream text;
  text << file.rdbuf();
  try {
    return app::parse_json(text.str());
  } catch (const app::JsonError&) {
    return {};
  }
}

double clock_seconds(clockid_t clock) {
  timespec now{};
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
}

std::optional<int64_t> available_memory() {
  std::ifstream information("/proc/meminfo");
  for (std::string word; information >> word;) {
    int64_t kibibytes = 0;
    if (word == "MemAvailable:" && information >> kibibytes) {
      return kibibytes * 1024;
    }
  }
  return std::nullopt;
}

bool was_in_foreground = true;

app::State read_state() {
  const app::Json conditions = read_conditions();
  app::State state;
  state.thermal_state = conditions["thermal_state"].as_text();
  state.low_power_mode = conditions["low_power_mode"].as_boolean();
  state.brightness = conditions["brightness"].as_number();
  state.battery_percent = conditions["battery_percent"].as_number();
  if (const auto charging = conditions["charging"].as_boolean()) {
    const bool full = state.battery_percent.value_or(0) >= 100;
    state.battery_state = !*charging ? "unplugged" : full ? "full" : "charging";
  }
  state.memory_available_bytes = available_memory();
  state.uptime_s = clock_seconds(CLOCK_BOOTTIME);
  state.awake_s = clock_seconds(CLOCK_MONOTONIC);
  was_in_foreground = was_in_foreground && !conditions["locked"].as_boolean().value_or(false);
  return state;
}

// Files that were pushed have no executable bit, as on a phone.
void make_executable(const std::string& path) {
  struct stat status;
  if (path.find('/') != std::string::npos && stat(path.c_str(), &status) == 0 && S_ISREG(status.st_mode)) {
    chmod(path.c_str(), status.st_mode | S_IXUSR);
  }
}

[[noreturn]] void execute(const std::vector<std::string>& words, pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) {
    raise(SIGKILL);
  }
  std::vector<char*> argv;
  for (const std::string& word : words) {
    argv.push_back(const_cast<char*>(word.c_str()));
  }
  argv.push_back(nullptr);
  execvp(argv[0], argv.data());
  std::fprintf(stderr, "error: cannot start %s: %s\n", argv[0], std::strerror(errno));
  std::fflush(stderr);
  _exit(errno == ENOENT ? 127 : 126);
}

// An app has one process, so that it dies as its runner does.
[[noreturn]] void die_by(int number) {
  const rlimit none{0, 0};
  setrlimit(RLIMIT_CORE, &none);
  std::signal(number, SIG_DFL);
  sigset_t set;
  sigemptyset(&set);
  sigaddset(&set, number);
  sigprocmask(SIG_UNBLOCK, &set, nullptr);
  raise(number);
  _exit(128 + number);
}

// Kills a process group as soon as this process has ended or lets go of it. On a phone an app is one process, and
// nothing of it is left when that ends, however it ends.
class GroupGuardian final {
 public:
  explicit GroupGuardian(pid_t group) {
    int ends[2];
    if (pipe2(ends, O_CLOEXEC) != 0) {
      return;
    }
    guardian_ = fork();
    if (guardian_ == 0) {
      setpgid(0, 0); // whoever kills the group of the app does not kill this
      for (const int descriptor : {ends[1], STDIN_FILENO, STDOUT_FILENO, STDERR_FILENO}) {
        close(descriptor);
      }
      char nothing;
      while (read(ends[0], &nothing, 1) < 0 && errno == EINTR) {
      }
      kill(-group, SIGKILL);
      _exit(0);
    }
    close(ends[0]);
    held_ = ends[1];
  }

  ~GroupGuardian() {
    close(held_);
    if (guardian_ > 0) {
      waitpid(guardian_, nullptr, 0);
    }
  }

  GroupGuardian(const GroupGuardian&) = delete;
  GroupGuardian& operator=(const GroupGuardian&) = delete;

 private:
  int held_ = -1;
  pid_t guardian_ = -1;
};

int run_program(const std::vector<std::string>& words) {
  if (words.empty()) {
    std::fputs("error: no command to execute\n", stderr);
    return 127;
  }
  make_executable(words.front());
  const pid_t parent = getpid();
  const pid_t child = fork();
  if (child < 0) {
    std::fprintf(stderr, "error: cannot start a process: %s\n", std::strerror(errno));
    return 126;
  }
  if (child == 0) {
    setpgid(0, 0);
    execute(words, parent);
  }
  setpgid(child, child); // here too, since nobody knows which of both comes first
  int status = 0;
  {
    const GroupGuardian guardian(child);
    while (waitpid(child, &status, 0) < 0 && errno == EINTR) {
    }
  }
  if (WIFSIGNALED(status)) {
    die_by(WTERMSIG(status));
  }
  return WEXITSTATUS(status);
}

std::optional<int64_t> peak_memory() {
  rusage usage;
  if (getrusage(RUSAGE_CHILDREN, &usage) != 0 || usage.ru_maxrss == 0) {
    return std::nullopt;
  }
  return static_cast<int64_t>(usage.ru_maxrss) * 1024;
}

} // namespace

int main(int argc, char** argv) {
  if (!app::is_started_by_harness()) {
    return 0; // somebody tapped its icon
  }
  const std::string path = own_path();
  const Plate plate = read_plate(path);
  std::vector<std::string> words(argv + 1, argv + argc);
  if (plate.kind != "shell") {
    words.insert(words.begin(), path.substr(0, path.rfind('/') + 1) + plate.kind);
  }
  app::Surroundings surroundings;
  const char* const home = std::getenv("CFFIXED_USER_HOME"); // which iOS sets, and NSHomeDirectory returns
  surroundings.container = home == nullptr ? "." : home;
  surroundings.executable = path;
  surroundings.version = plate.version;
  surroundings.read_state = read_state;
  surroundings.run = [&] { return run_program(words); };
  surroundings.peak_memory_bytes = peak_memory;
  surroundings.was_in_foreground = [] { return std::optional(was_in_foreground); };
  return app::serve(surroundings) ? 0 : 1;
}
