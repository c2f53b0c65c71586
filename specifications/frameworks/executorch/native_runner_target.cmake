# The target of native_runner.cmake. HARNESS_LIBRARIES are upstream's targets. Where one is missing there is no target:
# the recipe finds its name in harness_runner.missing, and builds upstream's runner instead.
foreach(library IN LISTS HARNESS_LIBRARIES)
  if(NOT TARGET ${library})
    file(WRITE "${CMAKE_BINARY_DIR}/harness_runner.missing" "${library}\n")
    message(WARNING "no native runner: this commit of ExecuTorch has no CMake target ${library}")
    return()
  endif()
endforeach()

file(GLOB sources ${HARNESS_RUNNER_SOURCE}/*.cpp)
add_executable(harness_runner ${sources})
target_compile_features(harness_runner PRIVATE cxx_std_17)
target_compile_definitions(harness_runner PRIVATE EXECUTORCH_VERSION="${HARNESS_EXECUTORCH_VERSION}")
target_link_libraries(harness_runner PRIVATE ${HARNESS_LIBRARIES})
if(HARNESS_FOREIGN_LIBC) # the runner tells it in each result
  target_compile_definitions(harness_runner PRIVATE HARNESS_FOREIGN_LIBC)
endif()
# Operators of language models, such as `llama::custom_sdpa`, with EXECUTORCH_BUILD_KERNELS_LLM. They register themselves,
# so that the linker must be told to keep them. Upstream's executorch_kernels names the library for Python instead, also
# where that is not built: an empty one stands for it.
if(TARGET custom_ops)
  target_link_libraries(harness_runner PRIVATE "$<LINK_LIBRARY:WHOLE_ARCHIVE,custom_ops>")
  if(NOT TARGET custom_ops_aot_lib)
    add_library(custom_ops_aot_lib INTERFACE)
    install(TARGETS custom_ops_aot_lib EXPORT ExecuTorchTargets)
  endif()
endif()
# ETDump is of use only where the runtime traces.
if(EXECUTORCH_ENABLE_EVENT_TRACER AND TARGET etdump)
  target_link_libraries(harness_runner PRIVATE etdump flatccrt)
  target_compile_definitions(harness_runner PRIVATE HARNESS_HAS_ETDUMP)
endif()
