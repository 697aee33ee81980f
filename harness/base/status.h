/* How every function of the harness reports failure.
 *
 * A status is about the harness, never about the operator under test: a broken operator gets a verdict
 * (model/case/case.h). The two never mix. Ownership: an opc_error_t belongs to the caller; filling it allocates
 * nothing. NULL: every function here accepts a NULL error. Threads: no shared state. Fork: safe. */
#pragma once

#include <stdarg.h>

#ifdef __cplusplus
extern "C" {
#endif

typedef enum opc_status {
  OPC_OK = 0,
  OPC_ERR_USAGE,      /* the command line is wrong: exit 2 */
  OPC_ERR_INPUT,      /* a file written by a person is wrong (a sample file): exit 2 */
  OPC_ERR_IO,         /* reading or writing failed: exit 3 */
  OPC_ERR_MEMORY,     /* the harness itself is out of memory: exit 3 */
  OPC_ERR_SYSTEM,     /* fork, exec, socket… failed: exit 3 */
  OPC_ERR_PROTOCOL,   /* the worker and opcheck-c misunderstand each other: exit 3 */
  OPC_ERR_LIBRARY,    /* a library under test could not be loaded: exit 4 */
  OPC_ERR_TORCH,      /* libtorch refused a request of the harness: exit 3 */
  OPC_ERR_NOT_FOUND,  /* the requested item does not exist */
  OPC_ERR_UNSUPPORTED /* known limitation of the harness */
} opc_status_t;

enum { OPC_ERROR_MESSAGE_SIZE = 1024 };

typedef struct opc_error {
  opc_status_t code;
  char message[OPC_ERROR_MESSAGE_SIZE]; /* UTF-8, NUL-terminated, truncated if too long */
} opc_error_t;

#define OPC_CHECKED __attribute__((warn_unused_result))
#define OPC_PRINTF(format_index, first_argument) __attribute__((format(printf, format_index, first_argument)))

/* The one way to pass an error on: returns the status of `call` from the function unless it is OPC_OK. What the
 * function owns is cleared by OPC_SCOPED (base/owned.h). */
#define OPC_RETURN_IF_ERROR(call)                                \
  do {                                                           \
    const opc_status_t opc_status_of_call = (call);              \
    if (opc_status_of_call != OPC_OK) return opc_status_of_call; \
  } while (0)

/* Fills *error (if not NULL) and returns code, for `return opc_error_set(error, …)`. */
opc_status_t opc_error_set(opc_error_t *error, opc_status_t code, const char *format, ...) OPC_PRINTF(3, 4);

/* OPC_ERR_MEMORY, "out of memory". */
opc_status_t opc_out_of_memory(opc_error_t *error);

/* Puts "prefix: " in front of the existing message; returns the error's code. */
opc_status_t opc_error_prefix(opc_error_t *error, const char *format, ...) OPC_PRINTF(2, 3);

#ifdef __cplusplus
}
#endif
