# The C core configures, builds and passes its tests on a machine without libtorch. In: SOURCE, WORK (a folder to use).
cmake_minimum_required(VERSION 3.25)

unset(ENV{TORCH_ROOT})
set(ENV{OPC_DEPS} "${WORK}/no-deps")

function(run what)
  execute_process(COMMAND ${ARGN} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if(NOT status EQUAL 0)
    message(FATAL_ERROR "${what}: exit status ${status}\n${text}")
  endif()
  set(text "${text}" PARENT_SCOPE)
endfunction()

run("configure" "${CMAKE_COMMAND}" -S "${SOURCE}" -B "${WORK}/build" -G Ninja "-DOPC_DEPS=${WORK}/no-deps")
if(NOT text MATCHES "no libtorch")
  message(FATAL_ERROR "the configuration does not say that libtorch is missing:\n${text}")
endif()
run("build" "${CMAKE_COMMAND}" --build "${WORK}/build")
run("test" "${CMAKE_CTEST_COMMAND}" --test-dir "${WORK}/build" --no-tests=error --output-on-failure -LE integration)
