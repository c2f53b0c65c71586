# In wheels before 1.5 the runtime, its kernels and XNNPACK are inside the Python extension `_portable_lib`, and the
# registry of backends is in the library for Qualcomm's. The extension needs libpython and torch's libraries, which are
# those of PYTHON, used where they are.
if(NOT PYTHON)
  message(FATAL_ERROR "executorch ${VERSION} needs -DPYTHON=<an interpreter that has torch>")
endif()
execute_process(
  COMMAND ${PYTHON} ${CMAKE_CURRENT_LIST_DIR}/python_libraries.py
  OUTPUT_VARIABLE elsewhere
  OUTPUT_STRIP_TRAILING_WHITESPACE
  RESULT_VARIABLE status
)
if(NOT status EQUAL 0)
  message(FATAL_ERROR "executorch ${VERSION} cannot be linked: see the error above")
endif()
set(elsewhere_folders ${elsewhere})
list(TRANSFORM elsewhere_folders REPLACE "/[^/]*$" "")
list(REMOVE_DUPLICATES elsewhere_folders)

file(GLOB extension ${WHEEL}/extension/pybindings/_portable_lib.*.so)
file(GLOB backends ${WHEEL}/backends/qualcomm/libqnn_executorch_backend.so)
if(NOT extension OR NOT EXISTS ${WHEEL}/include)
  message(FATAL_ERROR "executorch ${VERSION}: the wheel has neither a C++ SDK nor a usable Python extension with headers")
endif()
set(libraries ${extension} ${backends})

target_compile_features(runner PRIVATE cxx_std_20) # its headers need it
list(PREPEND headers ${CMAKE_CURRENT_LIST_DIR}/before_1_5)
