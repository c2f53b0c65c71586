# Sources of the runner without `main`, for the program and for the app for iPhones (../apple/CMakeLists.txt).
set(
  RUNNER_SOURCES
  arguments.cpp
  etdump.cpp
  examples.cpp
  machine.cpp
  measure.cpp
  openvino.cpp
  operators.cpp
  page_cache.cpp
  phases.cpp
  program.cpp
  runner.cpp
  runtime_log.cpp
  thread_pool.cpp
  turns.cpp
)
