/* A clock that is a day ahead as soon as somebody has set it: preloaded into the programs of a stand-in phone. */
#include <sys/syscall.h>
#include <sys/time.h>
#include <time.h>
#include <unistd.h>

int gettimeofday(struct timeval *restrict time, void *restrict zone) {
  struct timespec now;
  (void)zone;
  syscall(SYS_clock_gettime, CLOCK_REALTIME, &now);
  time->tv_sec = now.tv_sec + (access("/data/local/tmp/clock-was-set", F_OK) == 0 ? 86400 : 0);
  time->tv_usec = now.tv_nsec / 1000;
  return 0;
}
