# Settings that every target of the tree shares.

get_property(opc_multi_config GLOBAL PROPERTY GENERATOR_IS_MULTI_CONFIG)
if(NOT opc_multi_config AND NOT CMAKE_BUILD_TYPE)
  set(CMAKE_BUILD_TYPE RelWithDebInfo CACHE STRING "Build type" FORCE)
endif()

set(CMAKE_C_STANDARD 17)
set(CMAKE_C_STANDARD_REQUIRED ON)
set(CMAKE_C_EXTENSIONS ON) # gnu17: pidfd, dladdr, argp and dl_iterate_phdr need _GNU_SOURCE anyway
set(CMAKE_CXX_STANDARD 17)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)

set(CMAKE_RUNTIME_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/bin")
set(CMAKE_LIBRARY_OUTPUT_DIRECTORY "${PROJECT_BINARY_DIR}/lib")

# The dependencies that scripts/setup installs. The environment wins, so that checkouts can share one.
if(DEFINED ENV{OPC_DEPS} AND NOT "$ENV{OPC_DEPS}" STREQUAL "")
  set(opc_default_deps "$ENV{OPC_DEPS}")
else()
  set(opc_default_deps "${PROJECT_SOURCE_DIR}/build/deps")
endif()
set(OPC_DEPS "${opc_default_deps}" CACHE PATH "Folder that scripts/setup fills")
set(OPC_PYTHON "" CACHE FILEPATH "A Python that imports the torch of TORCH_ROOT (tests only; empty: none)")

# Asserts stay on: this is a test tool, and none of them is on a hot path.
foreach(lang C CXX)
  foreach(type RELEASE RELWITHDEBINFO)
    string(REGEX REPLACE "[/-]D *NDEBUG" "" CMAKE_${lang}_FLAGS_${type} "${CMAKE_${lang}_FLAGS_${type}}")
  endforeach()
endforeach()

# Other compilers have other warnings, so that only CI and the preset dev stop at them.
option(OPC_WERROR "Treat warnings of our own targets as errors" OFF)
add_library(opc_warnings INTERFACE)
target_compile_options(opc_warnings INTERFACE
  $<$<COMPILE_LANGUAGE:C,CXX>:-Wall;-Wextra;-Wconversion;-Wshadow>
  $<$<COMPILE_LANGUAGE:C>:-Wpedantic> # for C++ it changes a predefined macro, and with that no precompiled header fits
  $<$<AND:$<BOOL:${OPC_WERROR}>,$<COMPILE_LANGUAGE:C,CXX>>:-Werror>)

# The harness, its reports and its tests under sanitizers; the operators that they check stay as everybody builds them. Whatever links opc_base takes part.
option(OPC_SANITIZE "Build the harness with AddressSanitizer and UndefinedBehaviorSanitizer" OFF)
add_library(opc_sanitizers INTERFACE)
if(OPC_SANITIZE)
  set(opc_sanitizers_on -fsanitize=address,undefined,float-cast-overflow -fno-sanitize-recover=all)
  target_compile_options(opc_sanitizers INTERFACE "$<$<COMPILE_LANGUAGE:C,CXX>:${opc_sanitizers_on};-fno-omit-frame-pointer>")
  target_link_options(opc_sanitizers INTERFACE ${opc_sanitizers_on})
  # A program has its options in it: a worker has them however it was started.
  set(opc_is_program "$<STREQUAL:$<TARGET_PROPERTY:TYPE>,EXECUTABLE>")
  target_sources(opc_sanitizers INTERFACE "$<${opc_is_program}:${PROJECT_SOURCE_DIR}/scripts/sanitize/program.c>")
  target_compile_definitions(opc_sanitizers INTERFACE "$<${opc_is_program}:OPC_SANITIZER_REPORTS=\"${PROJECT_BINARY_DIR}/sanitizer\">")
endif()

# Includes read "base/status.h", "bridge/api/bridge.h", "reports/format/report.h".
include_directories("${PROJECT_SOURCE_DIR}/harness" "${PROJECT_SOURCE_DIR}")

# The sloppiness lets ccache hit on files that use a precompiled header; without it each of them is a miss.
# Files are named absolutely: where a compiler was started does not matter, and a build folder of the same sources takes what another one made.
find_program(OPC_CCACHE ccache)
mark_as_advanced(OPC_CCACHE)
if(OPC_CCACHE AND NOT DEFINED CMAKE_C_COMPILER_LAUNCHER)
  set(opc_launcher "${CMAKE_COMMAND}" -E env
      "CCACHE_SLOPPINESS=pch_defines,time_macros,include_file_mtime,include_file_ctime" CCACHE_NOHASHDIR=1 "${OPC_CCACHE}")
  set(CMAKE_C_COMPILER_LAUNCHER "${opc_launcher}")
  set(CMAKE_CXX_COMPILER_LAUNCHER "${opc_launcher}")
  set(CMAKE_CUDA_COMPILER_LAUNCHER "${opc_launcher}")
endif()
