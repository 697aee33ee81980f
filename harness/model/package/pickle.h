/* Reads the few pickle opcodes that encode tensors in tuples, lists and dictionaries. Nothing that a pickle names is
 * executed.
 *
 * A value becomes JSON. Numbers, strings, true, false and null stay as they are; tuples and lists become arrays. Others
 * become {"dict": [key, value, …]}, {"global": "module name"}, {"call": "module name", "args": […]}, {"persistent":
 * id}. Ownership: the value is the caller's. Threads: any. Source: Python, Lib/pickletools.py. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/status.h"

/* OPC_ERR_UNSUPPORTED: an unknown opcode, or too many. OPC_ERR_INPUT: malformed. */
opc_status_t opc_pickle_read(const char *bytes, size_t size, json_t **out, opc_error_t *error) OPC_CHECKED;
