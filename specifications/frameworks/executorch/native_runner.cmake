# Adds our native runner to ExecuTorch's own build, so that it is compiled against the libraries of the commit, with the
# commit's flags. Upstream's files stay as they are: CMake includes this file at their `project(executorch)`.
#
#   cmake -S executorch -DCMAKE_PROJECT_executorch_INCLUDE=<this file> -DHARNESS_RUNNER_SOURCE=<folder> \
#     -DHARNESS_EXECUTORCH_VERSION=<text>
#
# The target is added when upstream's top folder is finished, because only then all libraries are known.
cmake_language(EVAL CODE "cmake_language(DEFER CALL include \"${CMAKE_CURRENT_LIST_DIR}/native_runner_target.cmake\")")
