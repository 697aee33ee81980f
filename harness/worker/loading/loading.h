/* Loads the libraries under test and reports what they registered (protocol.h, control channel, up to "ready").
 *
 * Threads: before any is started. Fork: before any. A library may end this process at any point, so the message about
 * each step is sent before it. */
#pragma once

#include <jansson.h>

#include "wire/channel.h"

/* The worker's own descriptors are high, because a library may close or use the low ones. */
enum { OPC_OWN_FD_AT_LEAST = 200 };

typedef struct opc_loading {
  const char *const *preloads;
  size_t preload_count;
  const char *const *libraries;
  size_t library_count;
  const char *const *namespaces; /* all of their operators are listed */
  size_t namespace_count;
  const char *const *modules; /* imported after the libraries */
  size_t module_count;
  const char *package; /* loaded after the libraries; may be NULL */
  bool cuda;           /* for a CUDA device */
  opc_channel_t *control;
} opc_loading_t;

/* *out_operators: an object of operators by name (new reference), as reported. */
opc_status_t opc_loading_run(const opc_loading_t *loading, json_t **out_operators, opc_error_t *error) OPC_CHECKED;
