# Wheels since 1.5 carry a C++ SDK: the runtime, kernels and backends as libraries of their own, and all headers.
target_compile_features(runner PRIVATE cxx_std_17)
# The shipped libraries are compiled with it, and it changes the size of classes.
target_compile_definitions(runner PRIVATE ET_EVENT_TRACER_ENABLED)

set(suffix ${CMAKE_SHARED_LIBRARY_SUFFIX})
file(GLOB libraries ${WHEEL}/lib/libexecutorch_backend_*${suffix} ${WHEEL}/lib/libexecutorch_kernels_*${suffix})
list(PREPEND libraries ${runtime} ${WHEEL}/lib/libexecutorch_threadpool${suffix})
if(EXISTS ${WHEEL}/lib/libexecutorch_etdump${suffix})
  list(APPEND libraries ${WHEEL}/lib/libexecutorch_etdump${suffix})
  target_compile_definitions(runner PRIVATE HARNESS_HAS_ETDUMP)
endif()
set(elsewhere "")
set(elsewhere_folders "")
