# opc_add_operator_library(<name> <source>… [CUDA] [OUTPUT_DIRECTORY <folder>])
#   A library of operators, lib<name>.so, in build/lib or the folder given. Links opc_torch (with a .cu source, or CUDA, where its C++ sources
#   call the runtime: opc_torch_cuda) and uses the precompiled torch headers. Without CUDA its .cu sources are left out.
# opc_use_torch_pch(<target> [OWNER <object library>])
#   The same precompiled headers and flags for another C++ library target (not for an executable: -fPIE is another set of flags). OWNER:
#   opc_torch_pch_harness for a part of the harness, which may be built with sanitizers (OPC_SANITIZE).

if(NOT OPC_TORCH_FOUND)
  return()
endif()

# torch/library.h costs some 9 s a source; one header for all targets with the same flags costs that once.
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/opc_torch_pch.cpp" CONTENT "// Exists to own the precompiled header.\n")
set(OPC_TORCH_COMPILE_OPTIONS -O1 -g -fpch-preprocess) # -O1: half the compile time, and no operator here is about speed
function(opc_add_torch_pch name)
  add_library(${name} OBJECT EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/opc_torch_pch.cpp")
  target_link_libraries(${name} PRIVATE opc_torch)
  target_compile_options(${name} PRIVATE ${OPC_TORCH_COMPILE_OPTIONS})
  target_precompile_headers(${name} PRIVATE <ATen/ATen.h> <torch/library.h> <torch/custom_class.h>)
endfunction()
opc_add_torch_pch(opc_torch_pch)
if(OPC_SANITIZE) # one with other flags cannot be shared
  opc_add_torch_pch(opc_torch_pch_harness)
  target_link_libraries(opc_torch_pch_harness PRIVATE opc_sanitizers)
else()
  add_library(opc_torch_pch_harness ALIAS opc_torch_pch)
endif()

function(opc_use_torch_pch target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OWNER" "")
  if(NOT arg_OWNER)
    set(arg_OWNER opc_torch_pch)
  endif()
  target_link_libraries(${target} PRIVATE opc_torch)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${OPC_TORCH_COMPILE_OPTIONS}>")
  set_target_properties(${target} PROPERTIES DEFINE_SYMBOL "") # -D<target>_EXPORTS would differ from target to target
  target_precompile_headers(${target} REUSE_FROM ${arg_OWNER})
endfunction()

function(opc_add_operator_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "CUDA" "OUTPUT_DIRECTORY" "")
  set(sources ${arg_UNPARSED_ARGUMENTS})
  set(cuda_sources ${sources})
  list(FILTER cuda_sources INCLUDE REGEX "\\.cu$")
  if(NOT OPC_CUDA_ENABLED)
    list(FILTER sources EXCLUDE REGEX "\\.cu$")
  endif()
  if(NOT sources)
    return()
  endif()

  add_library(${name} MODULE ${sources})
  opc_use_torch_pch(${name})
  if((cuda_sources OR arg_CUDA) AND OPC_CUDA_ENABLED)
    target_link_libraries(${name} PRIVATE opc_torch_cuda)
    target_compile_definitions(${name} PRIVATE OPC_WITH_CUDA=1)
  endif()
  # A missing symbol is found here and not by the loader; what lies in libtorch's own needs is found through its RUNPATH.
  target_link_options(${name} PRIVATE "LINKER:-z,defs")
  if(arg_OUTPUT_DIRECTORY)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${arg_OUTPUT_DIRECTORY}")
  endif()
endfunction()
