/* Compares what a package calls by name with what is registered: operators with their arguments, and classes.
 *
 * Threads: one, after the libraries were loaded. */
#pragma once

#include "model/package/model_package.h"

typedef struct opc_package_lack {
  const char *kind; /* "missing_operator", "missing_class", "schema"; NULL: nothing is missing */
  char message[OPC_ERROR_MESSAGE_SIZE];
} opc_package_lack_t;

/* `path`: the package. The libraries next to it are searched for a candidate. */
void opc_package_needs_check(const char *path, const opc_package_model_t *model, opc_package_lack_t *out);
