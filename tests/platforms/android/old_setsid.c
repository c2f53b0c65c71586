/* setsid as phones had it. By default as in toybox 0.8.3 and 0.8.4 (Android 11 and 12): it makes a process group first,
   so that it cannot begin a session itself, forks always, and ends with 0 unless `-w` lets it wait.
   With -DWITHOUT_WAIT as in toybox 0.8.0 (Android 10): it forks only if it leads a group, and knows no `-w`. */
#define _GNU_SOURCE
#include <stdio.h>
#include <string.h>
#include <sys/wait.h>
#include <unistd.h>

int main(int argc, char **argv)
{
  int waits = argc > 1 && !strcmp(argv[1], "-w"), status;
  pid_t child;

#ifdef WITHOUT_WAIT
  if (waits) {
    fprintf(stderr, "setsid: Unknown option w\n");
    return 1;
  }
#else
  setpgid(0, 0);
#endif
  while (setsid() < 0) {
    if ((child = fork())) {
      if (!waits) _exit(0);
      waitpid(child, &status, 0);
      _exit(WIFEXITED(status) ? WEXITSTATUS(status) : WTERMSIG(status) + 128);
    }
  }
  execvp(argv[1 + waits], argv + 1 + waits);
  perror(argv[1 + waits]);
  return 127;
}
