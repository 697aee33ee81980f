# Part of cmake --install: the wrappers of the CUDA runtime that only trees of other libtorches have (OpcMoreTorch.cmake), each with its libcuda.
# In: OPC_TREES, those trees; OPC_MAJORS, the major versions that are installed already.
cmake_policy(SET CMP0057 NEW) # if(… IN_LIST …), which installing does not know by itself
set(opc_folder "$ENV{DESTDIR}${CMAKE_INSTALL_PREFIX}/lib/opcheck-c")
foreach(opc_tree IN LISTS OPC_TREES)
  file(GLOB opc_wrappers "${opc_tree}/lib/opcheck-c/libopcheck-cudart.so.*")
  foreach(opc_wrapper IN LISTS opc_wrappers)
    get_filename_component(opc_name "${opc_wrapper}" NAME)
    string(REGEX REPLACE ".*\\." "" opc_major "${opc_name}")
    if(NOT opc_major IN_LIST OPC_MAJORS)
      list(APPEND OPC_MAJORS "${opc_major}")
      file(INSTALL "${opc_wrapper}" DESTINATION "${opc_folder}" TYPE SHARED_LIBRARY)
      file(INSTALL "${opc_tree}/lib/opcheck-c/simulated-${opc_major}/libcuda.so.1" DESTINATION "${opc_folder}/simulated-${opc_major}" TYPE SHARED_LIBRARY)
    endif()
  endforeach()
endforeach()
