/* Loads the libraries under test and tells what they registered (protocol.h, control channel, up to "ready").
 *
 * Threads: before any. Fork: before any. A library may end this process at any point: whatever it is about was sent
 * before. */
#ifndef OPC_WORKER_LOADING_LOADING_H
#define OPC_WORKER_LOADING_LOADING_H

#include <jansson.h>

#include "wire/channel.h"

/* Descriptors of the worker's own are out of the way of a library that closes or takes the low ones. */
enum { OPC_OWN_FD_AT_LEAST = 200 };

typedef struct opc_loading {
  const char *const *preloads;
  size_t preload_count;
  const char *const *libraries;
  size_t library_count;
  const char *const *namespaces; /* listed whole */
  size_t namespace_count;
  const char *package; /* loaded after the libraries; may be NULL */
  bool cuda;           /* for a CUDA device */
  opc_channel_t *control;
} opc_loading_t;

/* *out_operators: an object of operators by name (new reference), as they were told. */
opc_status_t opc_loading_run(const opc_loading_t *loading, json_t **out_operators, opc_error_t *error) OPC_CHECKED;

#endif
