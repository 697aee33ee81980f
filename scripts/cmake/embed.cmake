# cmake -DOUTPUT=FILE.c -DNAMES=NAME;… -DFILES=FILE;… -P embed.cmake: a C source with each file as `const unsigned char NAME[]`, with a zero at its end.
set(source "/* Made by scripts/cmake/embed.cmake. */\n")
foreach(name file IN ZIP_LISTS NAMES FILES)
  file(READ "${file}" bytes HEX)
  string(REGEX REPLACE "([0-9a-f][0-9a-f])" "0x\\1," bytes "${bytes}")
  string(APPEND source "extern const unsigned char ${name}[];\nconst unsigned char ${name}[] = {${bytes}0};\n")
endforeach()
file(WRITE "${OUTPUT}" "${source}")
