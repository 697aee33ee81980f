# opc_torch: libtorch's CPU half, linked by path. find_package(Torch) is not used: it is fatal where no CUDA toolkit is, enables
# CUDA for the whole project, and adds architectures that nvcc 13 rejects.
#
# In:  TORCH_ROOT (cache or environment), else $OPC_DEPS/venv.
# Out: OPC_TORCH_FOUND, OPC_TORCH_VERSION (2.11.0), OPC_TORCH_MINOR (2.11), OPC_TORCH_RUNPATH (list), OPC_TORCH_CUDA_MAJOR (empty: CPU only),
#      OPC_TORCH_CXX_STANDARD (17, 20).
# opc_read_torch_version(<folder> <variable>): the version (2.11.0) of another libtorch.

function(opc_read_torch_version root out)
  # The numbers moved from the API header to headeronly in 2.8.
  foreach(file IN ITEMS torch/headeronly/version.h torch/csrc/api/include/torch/version.h)
    if(EXISTS "${root}/include/${file}")
      file(STRINGS "${root}/include/${file}" lines REGEX "define TORCH_VERSION_(MAJOR|MINOR|PATCH) +[0-9]+")
      if(lines MATCHES "_MAJOR +([0-9]+).*_MINOR +([0-9]+).*_PATCH +([0-9]+)")
        set(${out} "${CMAKE_MATCH_1}.${CMAKE_MATCH_2}.${CMAKE_MATCH_3}" PARENT_SCOPE)
        return()
      endif()
    endif()
  endforeach()
  message(FATAL_ERROR "opcheck-c: cannot read the version of the libtorch in ${root} from its headers")
endfunction()

# opc_read_torch_cxx_standard(<folder> <variable>): 17 or 20.
function(opc_read_torch_cxx_standard root out)
  file(STRINGS "${root}/include/ATen/ATen.h" line REGEX "error C\\+\\+20 " LIMIT_COUNT 1)
  if(line)
    set(${out} 20 PARENT_SCOPE)
  else()
    set(${out} 17 PARENT_SCOPE)
  endif()
endfunction()

# opc_read_torch_cuda_major(<folder> <variable>): which CUDA it was built with, from the runtime that its libc10_cuda asks for. Empty: CPU only.
function(opc_read_torch_cuda_major root out)
  set(${out} "" PARENT_SCOPE)
  if(EXISTS "${root}/lib/libc10_cuda.so")
    file(STRINGS "${root}/lib/libc10_cuda.so" line REGEX "^libcudart[-.0-9a-f]*\\.so\\.[0-9]+" LIMIT_COUNT 1)
    if(line MATCHES "\\.so\\.([0-9]+)")
      set(${out} "${CMAKE_MATCH_1}" PARENT_SCOPE)
    endif()
  endif()
endfunction()

set(OPC_TORCH_FOUND OFF)
set(OPC_TORCH_CUDA_MAJOR "")

if(NOT TORCH_ROOT AND DEFINED ENV{TORCH_ROOT})
  set(TORCH_ROOT "$ENV{TORCH_ROOT}")
endif()
if(NOT TORCH_ROOT)
  file(GLOB opc_torch_candidates "${OPC_DEPS}/venv/lib/python3*/site-packages/torch")
  list(POP_FRONT opc_torch_candidates TORCH_ROOT)
endif()
set(TORCH_ROOT "${TORCH_ROOT}" CACHE PATH "Folder with libtorch's include/ and lib/")

if(NOT TORCH_ROOT)
  message(STATUS "opcheck-c: no libtorch (set TORCH_ROOT or run scripts/setup): only the C core and its tests are built")
  return()
endif()

foreach(opc_file lib/libtorch_cpu.so lib/libc10.so include/torch/library.h)
  if(NOT EXISTS "${TORCH_ROOT}/${opc_file}")
    message(FATAL_ERROR "opcheck-c: TORCH_ROOT is ${TORCH_ROOT}, which has no ${opc_file}. "
                        "Give the folder with libtorch's include/ and lib/, or none for the C core alone.")
  endif()
endforeach()

opc_read_torch_version("${TORCH_ROOT}" OPC_TORCH_VERSION)
string(REGEX REPLACE "\\.[0-9]+$" "" OPC_TORCH_MINOR "${OPC_TORCH_VERSION}")

# The language that its headers need. Its programs and libraries are built as that, ours with it.
opc_read_torch_cxx_standard("${TORCH_ROOT}" OPC_TORCH_CXX_STANDARD)

set(OPC_TORCH_CXX11_ABI 1)
if(EXISTS "${TORCH_ROOT}/share/cmake/Torch/TorchConfig.cmake")
  file(STRINGS "${TORCH_ROOT}/share/cmake/Torch/TorchConfig.cmake" opc_abi_line REGEX "_GLIBCXX_USE_CXX11_ABI=[01]")
  if(opc_abi_line MATCHES "_GLIBCXX_USE_CXX11_ABI=([01])")
    set(OPC_TORCH_CXX11_ABI "${CMAKE_MATCH_1}")
  endif()
endif()

# Wheels keep the CUDA libraries in site-packages/nvidia/*/lib; libtorch_cpu finds them by its own RUNPATH, an operator library by ours.
file(GLOB opc_nvidia_folders "${TORCH_ROOT}/../nvidia/*/lib")
set(OPC_TORCH_RUNPATH "${TORCH_ROOT}/lib")
foreach(opc_folder IN LISTS opc_nvidia_folders)
  get_filename_component(opc_folder "${opc_folder}" ABSOLUTE)
  list(APPEND OPC_TORCH_RUNPATH "${opc_folder}")
endforeach()

add_library(opc_torch INTERFACE IMPORTED GLOBAL)
target_include_directories(opc_torch SYSTEM INTERFACE "${TORCH_ROOT}/include" "${TORCH_ROOT}/include/torch/csrc/api/include")
target_compile_definitions(opc_torch INTERFACE _GLIBCXX_USE_CXX11_ABI=${OPC_TORCH_CXX11_ABI})
target_compile_features(opc_torch INTERFACE cxx_std_${OPC_TORCH_CXX_STANDARD})
# --no-as-needed: libtorch_cpu registers aten when it loads, whether or not a symbol of it is used.
# --allow-shlib-undefined: the small set lacks most of the CUDA libraries that libtorch_cpu may name.
target_link_options(opc_torch INTERFACE "LINKER:--allow-shlib-undefined" "LINKER:--enable-new-dtags")
foreach(opc_folder IN LISTS OPC_TORCH_RUNPATH)
  target_link_options(opc_torch INTERFACE "LINKER:-rpath,${opc_folder}")
endforeach()
target_link_libraries(opc_torch INTERFACE
  "-Wl,--push-state,--no-as-needed" "${TORCH_ROOT}/lib/libtorch_cpu.so" "${TORCH_ROOT}/lib/libc10.so" "-Wl,--pop-state")

opc_read_torch_cuda_major("${TORCH_ROOT}" OPC_TORCH_CUDA_MAJOR)

set(OPC_TORCH_FOUND ON)
message(STATUS "opcheck-c: libtorch ${OPC_TORCH_VERSION} (CUDA: ${OPC_TORCH_CUDA_MAJOR}) in ${TORCH_ROOT}")
