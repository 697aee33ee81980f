/* Reads tensors from a file that torch.save wrote: a zip file with a pickle that describes the tensors, and their
 * bytes. No libtorch and no Python: knows only the pickle opcodes for tensors, tuples, lists and dictionaries; nothing
 * that the pickle names is executed.
 *
 * Ownership: the array is the caller's. Threads: any. Source: torch/serialization.py, torch/_utils.py; Python,
 * Lib/pickletools.py. */
#pragma once

#include <jansson.h>
#include <stddef.h>

#include "base/status.h"

/* *out: VALUEs of the sample format, one per tensor, in the order of torch.utils._pytree: lists and tuples by index,
 * dictionaries in insertion order. Skips numbers, strings and None. If all tensors together have more elements than a
 * 224 by 224 RGB image, some have no fill. OPC_ERR_UNSUPPORTED: the file has other content. OPC_ERR_INPUT:
 * malformed. */
opc_status_t opc_torch_saved_read(const char *bytes, size_t size, json_t **out, opc_error_t *error) OPC_CHECKED;
