# A folder that runs where there is no glibc, such as on an Android phone: the runner, the libraries that it is linked
# against, glibc with its loader from the cross compiler, and a static launcher called `program`.

# bundle_runner(RUNNER LIBRARY...): leaves all of it in ${CMAKE_BINARY_DIR}/bundle.
function(bundle_runner runner)
  set(bundle ${CMAKE_BINARY_DIR}/bundle)
  if(CMAKE_SYSTEM_PROCESSOR STREQUAL "x86_64")
    set(loader ld-linux-x86-64.so.2)
  else()
    set(loader ld-linux-${CMAKE_SYSTEM_PROCESSOR}.so.1)
  endif()
  # The wheels' libraries name these (readelf -d); the compiler's own ones are what the runner was linked against.
  set(names ${loader} libc.so.6 libm.so.6 libdl.so.2 libpthread.so.0 libstdc++.so.6 libgcc_s.so.1)
  set(files ${ARGN})
  foreach(name IN LISTS names)
    execute_process(
      COMMAND ${CMAKE_CXX_COMPILER} -print-file-name=${name}
      OUTPUT_VARIABLE file
      OUTPUT_STRIP_TRAILING_WHITESPACE
    )
    if(NOT IS_ABSOLUTE "${file}")
      message(FATAL_ERROR "error: ${CMAKE_CXX_COMPILER} has no ${name}: is the C library for ${CMAKE_SYSTEM_PROCESSOR} installed?")
    endif()
    list(APPEND files ${file})
  endforeach()

  add_executable(launcher ${CMAKE_CURRENT_FUNCTION_LIST_DIR}/launcher.cpp)
  target_compile_definitions(launcher PRIVATE LOADER="${loader}")
  target_link_options(launcher PRIVATE -static -s)
  set_target_properties(launcher PROPERTIES OUTPUT_NAME program RUNTIME_OUTPUT_DIRECTORY ${bundle})
  set_target_properties(${runner} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${bundle} SKIP_BUILD_RPATH ON)
  target_compile_definitions(${runner} PRIVATE HARNESS_FOREIGN_LIBC)
  file(MAKE_DIRECTORY ${bundle})
  foreach(file IN LISTS files)
    get_filename_component(name ${file} NAME)
    configure_file(${file} ${bundle}/${name} COPYONLY)
    file(CHMOD ${bundle}/${name} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  endforeach()
endfunction()
