# Installs opcheck-c into a folder of its own, then builds and tests fixtures/consumer against it, as an operator author would.
# In: BUILD (our build folder), SOURCE (our sources), TORCH_ROOT, TORCH_CXX11_ABI (its string ABI, 0 or 1), WORK (a folder to use), PYTHON (one that imports that torch; empty: none).
cmake_minimum_required(VERSION 3.25)

file(REMOVE_RECURSE "${WORK}/prefix" "${WORK}/build")

# run(<what it is for> EXPECT ok|fail COMMAND …): the output appears only where the expectation fails.
function(run what)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "EXPECT" "COMMAND")
  execute_process(COMMAND ${arg_COMMAND} RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
  if((arg_EXPECT STREQUAL "ok" AND NOT status EQUAL 0) OR (arg_EXPECT STREQUAL "fail" AND status EQUAL 0))
    message(FATAL_ERROR "${what}: exit status ${status}, wanted ${arg_EXPECT}\n${text}")
  endif()
  set(text "${text}" PARENT_SCOPE)
  message(STATUS "${what}: as wanted")
endfunction()

run("install" EXPECT ok COMMAND "${CMAKE_COMMAND}" --install "${BUILD}" --prefix "${WORK}/prefix")
run("configure" EXPECT ok COMMAND "${CMAKE_COMMAND}" -S "${SOURCE}/fixtures/consumer" -B "${WORK}/build" -G Ninja
    "-DCMAKE_PREFIX_PATH=${WORK}/prefix" "-DTORCH_ROOT=${TORCH_ROOT}" "-DTORCH_CXX11_ABI=${TORCH_CXX11_ABI}" "-DCONSUMER_PYTHON=${PYTHON}")
run("build" EXPECT ok COMMAND "${CMAKE_COMMAND}" --build "${WORK}/build")

set(ctest "${CMAKE_CTEST_COMMAND}" --test-dir "${WORK}/build" --no-tests=error --output-on-failure)
run("the operators pass" EXPECT ok COMMAND ${ctest} -R "^opcheck\\.consumer_ops$")
file(READ "${WORK}/build/consumer.xml" junit)
if(NOT junit MATCHES "<testcase")
  message(FATAL_ERROR "the JUnit file has no test case:\n${junit}")
endif()
file(READ "${WORK}/build/consumer.json" json)
if(NOT json MATCHES "opcheck-c/report/1")
  message(FATAL_ERROR "this is no JSON report:\n${json}")
endif()

if(PYTHON)
  run("the operators from Python pass" EXPECT ok COMMAND ${ctest} -R "^opcheck\\.consumer_python$" --verbose)
  if(NOT text MATCHES "PASSED: 2 of 2" OR NOT text MATCHES "--reference")
    message(FATAL_ERROR "the test of operators from Python checks others:\n${text}")
  endif()
endif()

# The libraries that record puts into a program are installed where it looks for them.
execute_process(COMMAND "${WORK}/prefix/bin/opcheck-c" record --output "${WORK}/recorded.samples.json" -- "${CMAKE_COMMAND}" --version
                RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(NOT status EQUAL 5 OR NOT text MATCHES "no process of the program had libtorch" OR NOT EXISTS "${WORK}/prefix/lib/opcheck-c/libopcheck-observer.so")
  message(FATAL_ERROR "record of the installed program: exit status ${status}, wanted 5, and the observer beside the shim\n${text}")
endif()

run("an empty selection fails" EXPECT fail COMMAND ${ctest} -R "^must_fail\\.empty$")
run("a broken promise fails" EXPECT fail COMMAND ${ctest} -R "^must_fail\\.broken_promise$")
if(NOT text MATCHES "bitwise")
  message(FATAL_ERROR "the failed test does not name the check:\n${text}")
endif()
# CTest ran it in the build folder; the place is that of the source.
foreach(report IN ITEMS broken.sarif broken.quality.json)
  file(READ "${WORK}/build/${report}" text)
  if(NOT text MATCHES "\"(uri|path)\": *\"consumer_ops\\.cpp\"" OR text MATCHES "\"(uri|path)\": *\"[^\"]*\\.so\"|\"(startLine|begin)\": *1[,}]")
    message(FATAL_ERROR "${report} does not name the line in the source:\n${text}")
  endif()
endforeach()
run("a broken promise that the baseline lists passes" EXPECT ok COMMAND ${ctest} -R "^known_problem$")

# The GPU that CTest gives a test is the one that opcheck-c sees: a made-up machine with one, the eighth.
file(WRITE "${WORK}/resources.json" [[{"version": {"major": 1, "minor": 0}, "local": [{"gpus": [{"id": "7", "slots": 1}]}]}]])
run("CTest's GPU is the visible one" EXPECT ok COMMAND "${CMAKE_COMMAND}" -E env --unset=CUDA_VISIBLE_DEVICES ${ctest} -R "^sees_its_gpu$" --resource-spec-file
    "${WORK}/resources.json")
run("a test for a GPU asks for one" EXPECT ok COMMAND ${ctest} -R "^on_gpu$" -L gpu --show-only=json-v1)
if(NOT text MATCHES "RESOURCE_GROUPS" OR NOT text MATCHES "gpus")
  message(FATAL_ERROR "the test for a GPU takes no resource:\n${text}")
endif()

# Exit status 5 and nothing else: the test must not fail because, say, the program was not found.
execute_process(COMMAND "${WORK}/prefix/bin/opcheck-c" run --device cpu --op "no_such_namespace::*" "${WORK}/build/libconsumer_ops.so"
                RESULT_VARIABLE status OUTPUT_VARIABLE text ERROR_VARIABLE text)
if(NOT status EQUAL 5)
  message(FATAL_ERROR "an empty selection: exit status ${status}, wanted 5\n${text}")
endif()
