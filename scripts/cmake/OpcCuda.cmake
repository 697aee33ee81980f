# Enables the language CUDA where a fitting nvcc is, and makes opc_torch_cuda (libc10_cuda and the shared runtime, not libtorch_cuda:
# such a library loads where only the small set of dependencies is) of opc_cuda_runtime, which has no libtorch in it, and opc_cuda_architectures.
#
# In:  OPC_CUDA AUTO (use what is there) | ON (an error where nothing fits) | OFF.
# Out: OPC_CUDA_ENABLED; OPC_CUDA_WHY_NOT, in words, where it is OFF.
#      OPC_CUDA_INCLUDE_DIRS (nvcc's headers).
#      OPC_CUDART (the shared runtime's path; empty: none), OPC_CUDA_FETCHED_HEADERS (its headers, where scripts/setup fetched them): these are all that the
#      simulated device needs, so that it is built without an nvcc too.

set(OPC_CUDA AUTO CACHE STRING "Build CUDA parts: AUTO, ON or OFF")
set_property(CACHE OPC_CUDA PROPERTY STRINGS AUTO ON OFF)
set(OPC_CUDA_ENABLED OFF)
unset(OPC_CUDART)

# Of CUDA 12 there is one set of headers for all libtorches (scripts/setup). They are of its last minor version, so that the wrappers cover the functions of all.
set(OPC_CUDA_FETCHED_HEADERS "")
if(OPC_TORCH_CUDA_MAJOR AND EXISTS "${OPC_DEPS}/cuda-${OPC_TORCH_CUDA_MAJOR}/include/cuda_runtime_api.h")
  set(OPC_CUDA_FETCHED_HEADERS "${OPC_DEPS}/cuda-${OPC_TORCH_CUDA_MAJOR}/include")
endif()

set(opc_cuda_why_not "")
if(NOT OPC_CUDA)
  set(opc_cuda_why_not "OPC_CUDA is OFF")
elseif(NOT OPC_TORCH_FOUND)
  set(opc_cuda_why_not "there is no libtorch")
elseif(NOT OPC_TORCH_CUDA_MAJOR)
  set(opc_cuda_why_not "this libtorch is CPU only")
endif()

if(NOT opc_cuda_why_not)
  # The first nvcc of libtorch's own major version: that of the machine, else that of the wheels.
  set(opc_nvcc "")
  find_program(opc_nvcc_on_path nvcc NO_CACHE)
  file(GLOB opc_nvcc_wheels "${OPC_DEPS}/venv/lib/python3*/site-packages/nvidia/cu*/bin/nvcc")
  foreach(opc_candidate "${CMAKE_CUDA_COMPILER}" "$ENV{CUDACXX}" "${opc_nvcc_on_path}" /usr/local/cuda/bin/nvcc ${opc_nvcc_wheels})
    if(opc_candidate AND EXISTS "${opc_candidate}")
      execute_process(COMMAND "${opc_candidate}" --version OUTPUT_VARIABLE opc_nvcc_text ERROR_QUIET RESULT_VARIABLE opc_status)
      if(opc_status EQUAL 0 AND opc_nvcc_text MATCHES "release ${OPC_TORCH_CUDA_MAJOR}\\.")
        set(opc_nvcc "${opc_candidate}")
        break()
      endif()
    endif()
  endforeach()
  if(NOT opc_nvcc)
    set(opc_cuda_why_not "no nvcc of CUDA ${OPC_TORCH_CUDA_MAJOR} on PATH, in /usr/local/cuda or in ${OPC_DEPS}")
  endif()
endif()

if(opc_cuda_why_not)
  if(OPC_CUDA AND NOT OPC_CUDA STREQUAL "AUTO")
    message(FATAL_ERROR "opcheck-c: OPC_CUDA is ON, but ${opc_cuda_why_not}")
  endif()
  message(STATUS "opcheck-c: CUDA parts are left out: ${opc_cuda_why_not}")
  set(OPC_CUDA_WHY_NOT "${opc_cuda_why_not}")
  if(OPC_CUDA AND OPC_CUDA_FETCHED_HEADERS)
    find_library(OPC_CUDART NAMES "libcudart.so.${OPC_TORCH_CUDA_MAJOR}" HINTS ${OPC_TORCH_RUNPATH} NO_DEFAULT_PATH NO_CACHE)
    if(OPC_CUDART)
      message(STATUS "opcheck-c: the simulated device of CUDA ${OPC_TORCH_CUDA_MAJOR} is built all the same")
    endif()
  endif()
  return()
endif()

if(NOT CMAKE_CUDA_COMPILER)
  set(CMAKE_CUDA_COMPILER "${opc_nvcc}")
endif()
# A static runtime would be a second one beside libtorch's, and invisible to our wrappers.
set(CMAKE_CUDA_RUNTIME_LIBRARY Shared)
# Those that libtorch's own kernels are compiled for, and PTX for what is newer. Named by an option and not by CMAKE_CUDA_ARCHITECTURES, which would compile
# the source once for each: it is compiled once, for the oldest, and that result is translated for all of them.
set(opc_cuda_code "")
if(NOT CMAKE_CUDA_ARCHITECTURES)
  execute_process(COMMAND "${CMAKE_CUDA_COMPILER}" --list-gpu-code OUTPUT_VARIABLE opc_cuda_known COMMAND_ERROR_IS_FATAL ANY)
  foreach(opc_architecture 75 80 86 90 100 120)
    if(opc_cuda_known MATCHES "sm_${opc_architecture}[^0-9a-z]")
      string(APPEND opc_cuda_code "sm_${opc_architecture},")
    endif()
  endforeach()
  string(APPEND opc_cuda_code "compute_75")
  set(CMAKE_CUDA_ARCHITECTURES OFF)
endif()
enable_language(CUDA)
if(CMAKE_VERSION VERSION_LESS 3.26) # which does not know that nvcc knows it
  set(CMAKE_CUDA20_STANDARD_COMPILE_OPTION "-std=c++20")
  set(CMAKE_CUDA20_EXTENSION_COMPILE_OPTION "-std=c++20")
endif()
set(CMAKE_CUDA_STANDARD "${OPC_TORCH_CXX_STANDARD}")
set(CMAKE_CUDA_STANDARD_REQUIRED ON)

set(OPC_CUDA_INCLUDE_DIRS ${CMAKE_CUDA_TOOLKIT_INCLUDE_DIRECTORIES})
# libtorch's own copy of the runtime first: it is the one that will be loaded. Not cached, because TORCH_ROOT may change.
find_library(OPC_CUDART NAMES "libcudart.so.${OPC_TORCH_CUDA_MAJOR}" HINTS ${OPC_TORCH_RUNPATH} NO_DEFAULT_PATH NO_CACHE)
if(NOT OPC_CUDART)
  find_library(OPC_CUDART NAMES cudart HINTS ${CMAKE_CUDA_IMPLICIT_LINK_DIRECTORIES} REQUIRED NO_CACHE)
endif()

# The headers and the shared runtime; for which architectures, a target says itself.
add_library(opc_cuda_runtime INTERFACE IMPORTED GLOBAL)
target_include_directories(opc_cuda_runtime SYSTEM INTERFACE ${OPC_CUDA_INCLUDE_DIRS})
target_link_libraries(opc_cuda_runtime INTERFACE "${OPC_CUDART}")

add_library(opc_cuda_architectures INTERFACE IMPORTED GLOBAL)
if(opc_cuda_code)
  target_compile_options(opc_cuda_architectures INTERFACE "$<$<COMPILE_LANGUAGE:CUDA>:--generate-code=arch=compute_75$<COMMA>code=[${opc_cuda_code}]>")
endif()

add_library(opc_torch_cuda INTERFACE IMPORTED GLOBAL)
target_compile_options(opc_torch_cuda INTERFACE
  $<$<COMPILE_LANGUAGE:CUDA>:--expt-relaxed-constexpr;--expt-extended-lambda;-lineinfo>)
target_link_libraries(opc_torch_cuda INTERFACE opc_torch opc_cuda_architectures "${TORCH_ROOT}/lib/libc10_cuda.so" opc_cuda_runtime)

set(OPC_CUDA_ENABLED ON)
if(NOT opc_cuda_code)
  set(opc_cuda_code "${CMAKE_CUDA_ARCHITECTURES}")
endif()
message(STATUS "opcheck-c: CUDA ${CMAKE_CUDA_COMPILER_VERSION} (${CMAKE_CUDA_COMPILER}), architectures ${opc_cuda_code}")
