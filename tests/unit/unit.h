/* Shared by the unit tests: cmocka with the headers that it needs, and assertions with a message. */
#ifndef OPC_TESTS_UNIT_H
#define OPC_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Fails with the error's message if the status is not OPC_OK. */
#define assert_ok(status, error)                             \
  do {                                                       \
    if ((status) != OPC_OK) fail_msg("%s", (error).message); \
  } while (0)

#endif
