// Starts the runner beside it with the C library beside it, on a system that has another one.
//
// The kernel finds a program's loader by an absolute path (`/lib/ld-linux-aarch64.so.1`), which phones do not have. So
// this program, which needs no libraries, starts the loader by hand: `LOADER --library-path FOLDER FOLDER/runner ...`.
// LD_LIBRARY_PATH does not matter then: the loader looks into FOLDER after it, and it names the same folder or none.
#include <unistd.h>

#include <climits>
#include <cstdio>
#include <cstring>

int main(int, char** argv) {
  static char folder[PATH_MAX];
  const ssize_t length = readlink("/proc/self/exe", folder, sizeof folder - 1);
  char* const slash = length > 0 ? std::strrchr(folder, '/') : nullptr;
  if (slash == nullptr) {
    std::perror("error: the folder of the runner is unknown");
    return 126;
  }
  *slash = '\0';
  static char loader[PATH_MAX + sizeof LOADER + 1];
  static char runner[PATH_MAX + sizeof "/runner"];
  std::snprintf(loader, sizeof loader, "%s/" LOADER, folder);
  std::snprintf(runner, sizeof runner, "%s/runner", folder);

  int count = 0;
  while (argv[count] != nullptr) {
    ++count;
  }
  char option[] = "--library-path";
  char** const words = new char*[count + 4];
  words[0] = loader;
  words[1] = option;
  words[2] = folder;
  words[3] = runner;
  for (int index = 1; index <= count; ++index) { // with the null pointer at the end
    words[index + 3] = argv[index];
  }
  execv(loader, words);
  std::perror("error: " LOADER " beside the runner cannot be started");
  return 126;
}
