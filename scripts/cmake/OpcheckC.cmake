# opcheck_add_test(<target, file or Python module>
#                  [NAME name]            the test's name, default opcheck.<target or file stem>
#                  [SAMPLES file…]        default: what opcheck-c finds beside the library
#                  [CHECKS check…]        default: all
#                  [DEVICES device…]      cpu, cuda, cuda-sim or all; one test a device where there are several. Default: opcheck-c's
#                  [OPERATORS glob]       only the operators whose name matches
#                  [PYTHON]               the first argument is a Python module that registers operators: my_package.ops, or its file
#                  [PYTHON_EXECUTABLE file] the Python that imports it; default: opcheck-c's
#                  [REFERENCES pair…]     my_ops::fast_*=my_ops::slow_*: the second computes what is right for the first
#                  [PRELOAD library…]     libraries (targets or files) that are loaded first
#                  [BASELINE file]        problems that do not fail the test: opcheck-c run --write-baseline writes it
#                  [XFAIL file] [JUNIT file] [JSON file] [HTML file] [SARIF file] [GITLAB file] [STRICT]
#                  [REQUIRE_CHECKED percent] the test fails where fewer of the operators and classes were called and judged
#                  [TIMEOUT seconds]      of the whole test
#                  [CASE_TIMEOUT seconds] of one case, default 10
#                  [ARGUMENTS argument…]) anything else that `opcheck-c run` takes
#
# A test of device cuda has the label gpu and takes one GPU of CTest's resources (`ctest --resource-spec-file`; `opcheck-c devices --format ctest-resources`
# writes the file): it sees the GPU that CTest gives it and no other. cuda-sim needs none.
#
# Adds a CTest test that runs every operator of the library or module through opcheck-c. It fails where the contract is broken, an operator
# crashes, the library does not load, and also where nothing ran at all (opcheck-c's exit status 5): a test of nothing is no success.
# With several devices the device stands in the test's name and in the names of its reports, so that none overwrites another.
# Relative files are taken from the current source folder, those of reports from the current binary folder. SARIF and GITLAB name the sources relative to
# CMAKE_SOURCE_DIR, because CTest's current folder is not that of the sources.

# A target gives its file when the build system is generated; anything else is a file.
function(_opcheck_library_file out library)
  if(TARGET "${library}")
    set(file "$<TARGET_FILE:${library}>")
  elseif(library MATCHES "\\$<")
    set(file "${library}")
  else()
    get_filename_component(file "${library}" ABSOLUTE)
  endif()
  set(${out} "${file}" PARENT_SCOPE)
endfunction()

function(opcheck_add_test library)
  cmake_parse_arguments(PARSE_ARGV 1 arg "STRICT;PYTHON" "NAME;OPERATORS;XFAIL;BASELINE;JUNIT;JSON;HTML;SARIF;GITLAB;TIMEOUT;CASE_TIMEOUT;REQUIRE_CHECKED;PYTHON_EXECUTABLE"
                        "SAMPLES;CHECKS;DEVICES;PRELOAD;REFERENCES;ARGUMENTS")
  if(arg_UNPARSED_ARGUMENTS)
    message(FATAL_ERROR "opcheck_add_test(${library}): what is \"${arg_UNPARSED_ARGUMENTS}\"?")
  endif()
  if(arg_KEYWORDS_MISSING_VALUES)
    message(FATAL_ERROR "opcheck_add_test(${library}): no value after ${arg_KEYWORDS_MISSING_VALUES}")
  endif()
  if(arg_PYTHON_EXECUTABLE AND NOT arg_PYTHON)
    message(FATAL_ERROR "opcheck_add_test(${library}): PYTHON_EXECUTABLE is for Python modules: give PYTHON too")
  endif()
  if(NOT arg_NAME)
    set(stem "${library}")
    if(NOT arg_PYTHON OR library MATCHES "\\.py$")
      get_filename_component(stem "${library}" NAME_WE)
    endif()
    set(arg_NAME "opcheck.${stem}")
  endif()

  set(command "${OPCHECK_C_EXECUTABLE}" run)
  foreach(samples IN LISTS arg_SAMPLES)
    get_filename_component(samples "${samples}" ABSOLUTE)
    list(APPEND command --samples "${samples}")
  endforeach()
  if(arg_CHECKS)
    list(JOIN arg_CHECKS "," checks)
    list(APPEND command --check "${checks}")
  endif()
  if(arg_OPERATORS)
    list(APPEND command --op "${arg_OPERATORS}")
  endif()
  foreach(preload IN LISTS arg_PRELOAD)
    _opcheck_library_file(file "${preload}")
    list(APPEND command --preload "${file}")
  endforeach()
  foreach(pair IN LISTS arg_REFERENCES)
    list(APPEND command --reference "${pair}")
  endforeach()
  if(arg_XFAIL)
    get_filename_component(xfail "${arg_XFAIL}" ABSOLUTE)
    list(APPEND command --xfail "${xfail}")
  endif()
  if(arg_BASELINE)
    get_filename_component(baseline "${arg_BASELINE}" ABSOLUTE)
    list(APPEND command --baseline "${baseline}")
  endif()
  if(arg_CASE_TIMEOUT)
    list(APPEND command --timeout "${arg_CASE_TIMEOUT}")
  endif()
  if(arg_STRICT)
    list(APPEND command --strict)
  endif()
  if(DEFINED arg_REQUIRE_CHECKED)
    list(APPEND command --require-checked "${arg_REQUIRE_CHECKED}")
  endif()
  if(arg_SARIF OR arg_GITLAB)
    list(APPEND command --source-root "${CMAKE_SOURCE_DIR}")
  endif()
  list(APPEND command ${arg_ARGUMENTS})
  if(arg_PYTHON_EXECUTABLE)
    list(APPEND command --python-executable "${arg_PYTHON_EXECUTABLE}")
  endif()
  if(arg_PYTHON AND NOT library MATCHES "\\.py$")
    set(operators --python "${library}")
  elseif(arg_PYTHON)
    get_filename_component(file "${library}" ABSOLUTE)
    set(operators --python "${file}")
  else()
    _opcheck_library_file(operators "${library}")
  endif()

  list(LENGTH arg_DEVICES device_count)
  if(device_count EQUAL 0)
    set(arg_DEVICES "default")
  endif()
  foreach(device IN LISTS arg_DEVICES)
    set(name "${arg_NAME}")
    set(options "")
    if(NOT device STREQUAL "default")
      list(APPEND options --device "${device}")
    endif()
    if(device_count GREATER 1)
      string(APPEND name ".${device}")
    endif()
    foreach(report IN ITEMS JUNIT JSON HTML SARIF GITLAB)
      if(arg_${report})
        get_filename_component(file "${arg_${report}}" ABSOLUTE BASE_DIR "${CMAKE_CURRENT_BINARY_DIR}")
        if(device_count GREATER 1)
          string(REGEX REPLACE "(\\.[^./]*)?$" ".${device}\\1" file "${file}")
        endif()
        string(TOLOWER "--${report}" option)
        list(APPEND options "${option}" "${file}")
      endif()
    endforeach()
    add_test(NAME "${name}" COMMAND ${command} ${options} ${operators})
    set_tests_properties("${name}" PROPERTIES LABELS opcheck)
    if(device STREQUAL "cuda")
      set_tests_properties("${name}" PROPERTIES LABELS "opcheck;gpu" RESOURCE_GROUPS "gpus:1")
    endif()
    if(arg_TIMEOUT)
      set_tests_properties("${name}" PROPERTIES TIMEOUT "${arg_TIMEOUT}")
    endif()
  endforeach()
endfunction()
