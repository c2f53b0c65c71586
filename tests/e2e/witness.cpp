// A program for tests on phones. It writes down when it began and ended, in a file that outlives the harness, and
// tells the latency of iterations that really work, so that builds with more STEPS are really slower.
//
//   witness NAME SECONDS
#include <cstdio>
#include <cstdlib>
#include <ctime>
#include <fcntl.h>
#include <unistd.h>

#ifndef STEPS
#define STEPS 20000
#endif
#ifndef LABEL
#define LABEL "plain"
#endif

static double seconds(clockid_t clock) {
  timespec now;
  clock_gettime(clock, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}

// One write of one line: lines of programs that run at the same time do not mix.
static void write_down(const char* what, const char* name) {
  char line[256];
  const int size = snprintf(line, sizeof line, "%s %s %.6f\n", what, name, seconds(CLOCK_REALTIME));
  const int file = open("/data/local/tmp/witness", O_WRONLY | O_CREAT | O_APPEND, 0666);
  if (file < 0 || write(file, line, static_cast<size_t>(size)) != size) {
    perror("/data/local/tmp/witness");
    exit(3);
  }
  close(file);
}

int main(int count, char** words) {
  const char* name = count > 1 ? words[1] : LABEL;
  write_down("began", name);
  usleep(static_cast<useconds_t>(1e6 * (count > 2 ? atof(words[2]) : 0.0)));
  volatile unsigned value = 1;
  for (int iteration = 0; iteration < 12; ++iteration) {
    const double start = seconds(CLOCK_MONOTONIC);
    for (int step = 0; step < STEPS; ++step) value = value * 1664525u + 1013904223u;
    const double spent_us = 1e6 * (seconds(CLOCK_MONOTONIC) - start);
    printf("PyTorchObserver {\"type\": \"NET\", \"metric\": \"latency\", \"unit\": \"us\", \"value\": \"%.3f\"}\n", spent_us);
  }
  fflush(stdout);
  write_down("ended", name);
  return 0;
}
