# cmake --install: the program, the workers, and the CMake package that calls them.
include(CMakePackageConfigHelpers)

if(TARGET opcheck-c)
  install(TARGETS opcheck-c RUNTIME DESTINATION "${CMAKE_INSTALL_BINDIR}")
  # harness/cli makes them.
  set(opc_share "${PROJECT_BINARY_DIR}/share")
  install(FILES "${opc_share}/opcheck-c" DESTINATION "${CMAKE_INSTALL_DATADIR}/bash-completion/completions")
  install(FILES "${opc_share}/_opcheck-c" DESTINATION "${CMAKE_INSTALL_DATADIR}/zsh/site-functions")
  install(FILES "${opc_share}/opcheck-c.1" DESTINATION "${CMAKE_INSTALL_MANDIR}/man1")
endif()
if(TARGET opcheck-worker)
  install(TARGETS opcheck-worker RUNTIME DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/opcheck-c")
  install(PROGRAMS "${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/opcheck-worker" DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/opcheck-c")
endif()
# Where opcheck-c looks for them, from its own folder: not CMAKE_INSTALL_LIBDIR, which may be lib64.
foreach(opc_part IN ITEMS opcheck_worker_library opc_record_shim opc_observer opc_cudart)
  if(TARGET ${opc_part})
    install(TARGETS ${opc_part} LIBRARY DESTINATION lib/opcheck-c)
  endif()
endforeach()
if(TARGET opcheck-worker)
  file(GLOB opc_host CONFIGURE_DEPENDS "${PROJECT_SOURCE_DIR}/harness/worker/python/host*.py")
  install(FILES ${opc_host} DESTINATION lib/opcheck-c)
endif()
if(TARGET opc_cuda_driver)
  install(TARGETS opc_cuda_driver LIBRARY DESTINATION "lib/opcheck-c/simulated-${OPC_TORCH_CUDA_MAJOR}")
endif()
if(OPC_MORE_TORCH)
  set(opc_trees "${OPC_MORE_TORCH}")
  list(TRANSFORM opc_trees PREPEND "${PROJECT_BINARY_DIR}/torch-")
  set(opc_majors "")
  if(TARGET opc_cudart)
    set(opc_majors "${OPC_TORCH_CUDA_MAJOR}")
  endif()
  install(CODE "set(OPC_TREES \"${opc_trees}\")\nset(OPC_MAJORS \"${opc_majors}\")")
  install(SCRIPT "${CMAKE_CURRENT_LIST_DIR}/install_wrappers.cmake")
endif()
foreach(opc_minor IN LISTS OPC_MORE_TORCH)
  install(PROGRAMS "${PROJECT_BINARY_DIR}/torch-${opc_minor}/bin/opcheck-worker-${opc_minor}"
          DESTINATION "${CMAKE_INSTALL_LIBEXECDIR}/opcheck-c")
  install(PROGRAMS "${PROJECT_BINARY_DIR}/torch-${opc_minor}/lib/opcheck-c/libopcheck-worker-${opc_minor}.so" DESTINATION lib/opcheck-c)
  install(PROGRAMS "${PROJECT_BINARY_DIR}/torch-${opc_minor}/lib/opcheck-c/libopcheck-observer.so" DESTINATION lib/opcheck-c
          RENAME "libopcheck-observer-${opc_minor}.so")
endforeach()

set(opc_package_dir "${CMAKE_INSTALL_LIBDIR}/cmake/OpcheckC")
set(opc_bindir "${CMAKE_INSTALL_BINDIR}")
configure_package_config_file("${PROJECT_SOURCE_DIR}/scripts/cmake/OpcheckCConfig.cmake.in" "${PROJECT_BINARY_DIR}/OpcheckCConfig.cmake"
  INSTALL_DESTINATION "${opc_package_dir}" PATH_VARS opc_bindir NO_CHECK_REQUIRED_COMPONENTS_MACRO)
write_basic_package_version_file("${PROJECT_BINARY_DIR}/OpcheckCConfigVersion.cmake" COMPATIBILITY SameMinorVersion)
install(FILES "${PROJECT_BINARY_DIR}/OpcheckCConfig.cmake" "${PROJECT_BINARY_DIR}/OpcheckCConfigVersion.cmake"
              "${PROJECT_SOURCE_DIR}/scripts/cmake/OpcheckC.cmake"
        DESTINATION "${opc_package_dir}")
