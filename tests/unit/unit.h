/* What the unit tests share: cmocka with the headers that it wants, and how a test states a message. */
#ifndef OPC_TESTS_UNIT_H
#define OPC_TESTS_UNIT_H

#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#define COUNT(array) (sizeof(array) / sizeof(array)[0])

/* Statuses compare as integers, with the message of a failure in the output. */
#define assert_ok(status, error)                             \
  do {                                                       \
    if ((status) != OPC_OK) fail_msg("%s", (error).message); \
  } while (0)

#endif
