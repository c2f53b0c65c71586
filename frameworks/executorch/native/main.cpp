// The runner as a program. The app for iPhones has another `main` (../apple).
#include "machine.h"
#include "runner.h"

int main(int argc, char** argv) {
  runner::die_with_parent();
  return runner::run_program(argc, argv);
}
