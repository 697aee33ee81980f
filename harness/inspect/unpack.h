#pragma once

#include <stdbool.h>

#include "base/status.h"

bool opc_is_zip(const char *path);
/* Unpacks a wheel's shared libraries and metadata into folder, which must exist. */
opc_status_t opc_unpack(const char *path, const char *folder, opc_error_t *error) OPC_CHECKED;
