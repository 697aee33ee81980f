/* The few words of the pickle language that tensors in tuples, lists and dictionaries are written with. Nothing that a
 * pickle names is run.
 *
 * A value becomes JSON: numbers, strings, true, false and null as such, tuples and lists as arrays, and {"dict": [key,
 * value, …]}, {"global": "module name"},
 * {"call": "module name", "args": […]}, {"persistent": id}. Ownership: the value is the caller's. Threads: any. Source:
 * Python, Lib/pickletools.py. */
#ifndef OPC_MODEL_PACKAGE_PICKLE_H
#define OPC_MODEL_PACKAGE_PICKLE_H

#include <jansson.h>
#include <stddef.h>

#include "base/status.h"

/* OPC_ERR_UNSUPPORTED: a word that is not known, or too many. OPC_ERR_INPUT: it is broken. */
opc_status_t opc_pickle_read(const char *bytes, size_t size, json_t **out, opc_error_t *error) OPC_CHECKED;

#endif
