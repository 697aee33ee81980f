# opc_add_operator_library(<name> <source>… [OUTPUT_DIRECTORY <folder>])
#   A library of operators, lib<name>.so, in build/lib or the folder given. Links opc_torch (with a .cu source: opc_torch_cuda) and
#   uses the precompiled torch headers. Without CUDA its .cu sources are left out.
# opc_use_torch_pch(<target>)
#   The same precompiled headers and flags for another C++ library target (not for an executable: -fPIE is another set of flags).

if(NOT OPC_TORCH_FOUND)
  return()
endif()

# torch/library.h costs some 9 s a source; one header for all targets with the same flags costs that once.
file(CONFIGURE OUTPUT "${PROJECT_BINARY_DIR}/opc_torch_pch.cpp" CONTENT "// Exists to own the precompiled header.\n")
add_library(opc_torch_pch OBJECT EXCLUDE_FROM_ALL "${PROJECT_BINARY_DIR}/opc_torch_pch.cpp")
target_link_libraries(opc_torch_pch PRIVATE opc_torch)
target_precompile_headers(opc_torch_pch PRIVATE <ATen/ATen.h> <torch/library.h> <torch/custom_class.h>)

set(OPC_TORCH_COMPILE_OPTIONS -O1 -g -fpch-preprocess) # -O1: half the compile time, and no operator here is about speed
target_compile_options(opc_torch_pch PRIVATE ${OPC_TORCH_COMPILE_OPTIONS})

function(opc_use_torch_pch target)
  target_link_libraries(${target} PRIVATE opc_torch)
  target_compile_options(${target} PRIVATE "$<$<COMPILE_LANGUAGE:CXX>:${OPC_TORCH_COMPILE_OPTIONS}>")
  set_target_properties(${target} PROPERTIES DEFINE_SYMBOL "") # -D<target>_EXPORTS would differ from target to target
  target_precompile_headers(${target} REUSE_FROM opc_torch_pch)
endfunction()

function(opc_add_operator_library name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "OUTPUT_DIRECTORY" "")
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
  if(cuda_sources AND OPC_CUDA_ENABLED)
    target_link_libraries(${name} PRIVATE opc_torch_cuda)
    target_compile_definitions(${name} PRIVATE OPC_WITH_CUDA=1)
  endif()
  if(NOT OPC_SANITIZED)
    # A missing symbol is found here and not by the loader; what lies in libtorch's own needs is found through its RUNPATH.
    target_link_options(${name} PRIVATE "LINKER:-z,defs")
  endif()
  if(arg_OUTPUT_DIRECTORY)
    set_target_properties(${name} PROPERTIES LIBRARY_OUTPUT_DIRECTORY "${arg_OUTPUT_DIRECTORY}")
  endif()
endfunction()
