# cmake -DTREE=… -DLIBRARIES=… -P link_wrappers.cmake: the wrappers of the CUDA runtime that the build tree TREE has, as links in LIBRARIES/opcheck-c, unless
# that tree has some of the same major version itself.
file(GLOB wrappers RELATIVE "${TREE}/lib/opcheck-c" "${TREE}/lib/opcheck-c/libopcheck-cudart.so.*")
file(MAKE_DIRECTORY "${LIBRARIES}/opcheck-c")
foreach(name IN LISTS wrappers)
  set(here "${LIBRARIES}/opcheck-c/${name}")
  if(NOT EXISTS "${here}" OR IS_SYMLINK "${here}")
    file(RELATIVE_PATH target "${LIBRARIES}/opcheck-c" "${TREE}/lib/opcheck-c/${name}")
    file(CREATE_LINK "${target}" "${here}" SYMBOLIC)
  endif()
endforeach()
