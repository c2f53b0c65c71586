/* A program of three operators that times itself and each of them, and says so in observer lines. Compiled for both
 * sides of a comparison, with other ROUNDS of one operator: there the work is really more. */
#include <stdio.h>
#include <time.h>

#ifndef ROUNDS
#define ROUNDS 30000
#endif
#define ITERATIONS 30
#define OPERATORS 3

static double now_us(void) {
  struct timespec time;
  clock_gettime(CLOCK_MONOTONIC, &time);
  return time.tv_sec * 1e6 + time.tv_nsec / 1e3;
}

static volatile unsigned result;

static void work(unsigned rounds) {
  unsigned state = result + 1;
  for (unsigned i = 0; i < rounds; ++i) {
    state = state * 1664525u + 1013904223u;
  }
  result = state;
}

int main(void) {
  static const char *const names[OPERATORS] = {"resize", "scan", "sort"};
  static const unsigned rounds[OPERATORS] = {20000, ROUNDS, 40000};
  static double taken[OPERATORS][ITERATIONS], whole[ITERATIONS];
  for (int i = -5; i < ITERATIONS; ++i) {
    const double begin = now_us();
    double before = begin;
    for (int one = 0; one < OPERATORS; ++one) {
      work(rounds[one]);
      const double after = now_us();
      taken[one][i < 0 ? 0 : i] = after - before;
      before = after;
    }
    whole[i < 0 ? 0 : i] = before - begin;
  }
  for (int one = 0; one < OPERATORS; ++one) {
    printf("PyTorchObserver {\"type\": \"%s\", \"metric\": \"latency\", \"unit\": \"us\", \"values\": [", names[one]);
    for (int i = 0; i < ITERATIONS; ++i) {
      printf("%s%.3f", i ? "," : "", taken[one][i]);
    }
    printf("]}\n");
  }
  for (int i = 0; i < ITERATIONS; ++i) {
    printf("PyTorchObserver {\"type\": \"NET\", \"metric\": \"latency\", \"unit\": \"us\", \"value\": \"%.3f\"}\n", whole[i]);
  }
  return 0;
}
