/* Tensors out of a file that torch.save wrote: a zip file with a pickle that says what the tensors are, and their
 * bytes. No libtorch, and no Python: of the pickle only the words are known that tensors, tuples, lists and
 * dictionaries are written with; nothing that it names is run.
 *
 * Ownership: the array is the caller's. Threads: any. Source: torch/serialization.py, torch/_utils.py; Python,
 * Lib/pickletools.py. */
#ifndef OPC_MODEL_PACKAGE_TORCH_SAVED_H
#define OPC_MODEL_PACKAGE_TORCH_SAVED_H

#include <jansson.h>
#include <stddef.h>

#include "base/status.h"

/* *out: VALUEs of the sample format, one a tensor, in the order in which torch.utils._pytree flattens them: lists and
 * tuples by place, dictionaries as they were filled. Numbers, strings and None are passed over. Where all tensors
 * together have more elements than an image of 224 by 224, some have no fill. OPC_ERR_UNSUPPORTED: something else is in
 * the file. OPC_ERR_INPUT: it is broken. */
opc_status_t opc_torch_saved_read(const char *bytes, size_t size, json_t **out, opc_error_t *error) OPC_CHECKED;

#endif
