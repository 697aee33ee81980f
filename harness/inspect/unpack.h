#ifndef OPC_INSPECT_UNPACK_H
#define OPC_INSPECT_UNPACK_H

#include <stdbool.h>

#include "base/status.h"

bool opc_is_zip(const char *path);
/* Unpacks the shared libraries of a wheel, and its metadata, below folder, which exists. */
opc_status_t opc_unpack(const char *path, const char *folder, opc_error_t *error) OPC_CHECKED;

#endif
