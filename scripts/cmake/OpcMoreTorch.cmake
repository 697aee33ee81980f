# A worker for each further libtorch, beside the one for TORCH_ROOT: build/bin/opcheck-worker-2.15, and the observer of `opcheck-c record`. Each is built
# from these sources in a build tree of its own, build/torch-2.15, because a tree has one libtorch; so are the reference operators, in that tree's lib/, and
# the wrappers of its CUDA runtime, where they are of another major version than those for TORCH_ROOT.
#
# In:  OPC_MORE_TORCH_ROOTS, a list of folders like TORCH_ROOT.
#      OPC_MORE_TORCH_OPERATORS, OFF: only the workers and such wrappers, without the reference operators (scripts/package).
#      OPC_CXX20_COMPILER, for those that need C++20 where the compiler in use is too old for it.
# Out: OPC_MORE_TORCH (list of 2.15), a target torch-2.15 for each.

set(OPC_MORE_TORCH_ROOTS "" CACHE STRING "More folders with libtorch's include/ and lib/: a worker is built for each")
set(OPC_MORE_TORCH "")
option(OPC_MORE_TORCH_OPERATORS "Build the reference operators for these versions too" ON)
set(OPC_CXX20_COMPILER "" CACHE FILEPATH "C++ compiler for versions that need C++20; empty: the usual one")
if(NOT OPC_TORCH_FOUND OR NOT OPC_MORE_TORCH_ROOTS)
  return()
endif()

include(ExternalProject)
foreach(opc_root IN LISTS OPC_MORE_TORCH_ROOTS)
  opc_read_torch_version("${opc_root}" opc_version)
  string(REGEX REPLACE "\\.[0-9]+$" "" opc_minor "${opc_version}")
  if(opc_minor IN_LIST OPC_MORE_TORCH OR opc_minor STREQUAL OPC_TORCH_MINOR)
    message(FATAL_ERROR "opcheck-c: OPC_MORE_TORCH_ROOTS has ${opc_root}, a second libtorch ${opc_minor}")
  endif()
  list(APPEND OPC_MORE_TORCH "${opc_minor}")

  set(opc_tree "${PROJECT_BINARY_DIR}/torch-${opc_minor}")
  set(opc_more_settings "-DOPC_CUDA=${OPC_CUDA}")
  set(opc_more_targets opcheck-worker identity_conv_ops)
  if(NOT OPC_MORE_TORCH_OPERATORS)
    opc_read_torch_cuda_major("${opc_root}" opc_cuda_major)
    if(opc_cuda_major STREQUAL OPC_TORCH_CUDA_MAJOR)
      set(opc_more_settings -DOPC_CUDA=OFF)
    endif()
    set(opc_more_targets opcheck-worker)
  endif()
  opc_read_torch_cxx_standard("${opc_root}" opc_cxx_standard)
  if(opc_cxx_standard EQUAL 20 AND OPC_CXX20_COMPILER)
    list(APPEND opc_more_settings "-DCMAKE_CXX_COMPILER=${OPC_CXX20_COMPILER}")
  endif()
  ExternalProject_Add(torch-${opc_minor}
    SOURCE_DIR "${PROJECT_SOURCE_DIR}"
    BINARY_DIR "${opc_tree}"
    PREFIX "${opc_tree}/external"
    CMAKE_ARGS "-DTORCH_ROOT=${opc_root}" "-DOPC_DEPS=${OPC_DEPS}" "-DCMAKE_BUILD_TYPE=${CMAKE_BUILD_TYPE}" "-DOPC_WERROR=${OPC_WERROR}"
               "-DOPC_SANITIZE=${OPC_SANITIZE}" ${opc_more_settings}
    BUILD_COMMAND "${CMAKE_COMMAND}" --build "${opc_tree}" --target ${opc_more_targets}
    BUILD_ALWAYS ON # what has changed is known there
    USES_TERMINAL_BUILD ON
    INSTALL_COMMAND "${CMAKE_COMMAND}" -E create_symlink "../torch-${opc_minor}/bin/opcheck-worker-${opc_minor}"
                    "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/opcheck-worker-${opc_minor}"
    COMMAND "${CMAKE_COMMAND}" -E make_directory "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/opcheck-c"
    COMMAND "${CMAKE_COMMAND}" -E create_symlink "../../torch-${opc_minor}/lib/opcheck-c/libopcheck-observer.so"
            "${CMAKE_LIBRARY_OUTPUT_DIRECTORY}/opcheck-c/libopcheck-observer-${opc_minor}.so"
    COMMAND "${CMAKE_COMMAND}" "-DTREE=${opc_tree}" "-DLIBRARIES=${CMAKE_LIBRARY_OUTPUT_DIRECTORY}" -P "${CMAKE_CURRENT_LIST_DIR}/link_wrappers.cmake")
  message(STATUS "opcheck-c: libtorch ${opc_version} too, in ${opc_root}")
endforeach()
