/* Loads a package, after the libraries of operators: checks its dependencies, loads it once in a subprocess, and makes
 * its models operators.
 *
 * Threads: before any is started. Fork: forks. */
#pragma once

#include <stdbool.h>

#include "model/package/model_package.h"

typedef struct opc_package_failure {
  const char *kind; /* of the "load_failed" message */
  char message[OPC_ERROR_MESSAGE_SIZE];
} opc_package_failure_t;

/* cuda: the process is for a CUDA device. False: *failure says why. *out (freed by opc_package_clear): the package's
 * description of itself; its operators are "package::NAME". */
bool opc_package_load(const char *path, bool cuda, opc_package_t *out, opc_package_failure_t *failure);
