/* Shared by the bridge's tests. */
#ifndef OPC_TESTS_BRIDGE_TEST_H
#define OPC_TESTS_BRIDGE_TEST_H

/* cmocka needs these first. */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>
#include <string.h>

#include "bridge/api/bridge.h"

/* Fails with the error's message unless the expression, which must use `&error`, is OPC_OK. */
#define assert_ok(expression)                             \
  do {                                                    \
    opc_error_t error = {0};                              \
    const opc_status_t status_ = (expression);            \
    if (status_ != OPC_OK) fail_msg("%s", error.message); \
  } while (0)

#endif
