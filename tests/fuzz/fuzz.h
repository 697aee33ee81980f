/* Fuzz targets: each fuzz_NAME.c defines LLVMFuzzerTestOneInput, which gets bytes that can be anything. libFuzzer calls
 * it (scripts/fuzz), and so does replay.c for each file of corpus/NAME.
 *
 * A target fails by a sanitizer's report, a signal, or fuzz_expect. Ownership: none. Threads: one. */
#ifndef OPC_TESTS_FUZZ_H
#define OPC_TESTS_FUZZ_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size);

/* The path of a file with these bytes, until the next call. It has no name in any folder, so that nothing is left
 * behind after a crash. */
const char *fuzz_file(const uint8_t *bytes, size_t size);

/* What must hold for every input. */
#define fuzz_expect(condition, message)   \
  do {                                    \
    if (!(condition)) fuzz_fail(message); \
  } while (0)
_Noreturn void fuzz_fail(const char *message);

#endif
