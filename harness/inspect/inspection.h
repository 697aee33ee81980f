/* Everything that can be found out about a library without loading it, as JSON; `opcheck-c inspect` prints it.
 *
 * Ownership: *out is a new reference. Threads, fork: no shared state. */
#pragma once

#include <jansson.h>

#include "inspect/library_error.h"

typedef struct opc_inspection_place { /* the libtorch that the library would be loaded with */
  const char *folder;                 /* its lib/; NULL: unknown */
  const char *version;                /* "2.11"; "": unknown */
} opc_inspection_place_t;

/* {"path", "status":"read", "error":null, "soname", "registers":[…], "needs":[…], "torch":{…}, "python":{…}, "gpu":{…},
 * "debug":{…}, "loads":"yes|no|unknown", "verdict":TEXT, "remarks":[TEXT…]}. For a file that is not a library loadable
 * here: {"path", "status":"failed", "error":{"kind", "message"}}. name: the name to show. */
opc_status_t opc_inspection_make(const char *path, const char *name, const opc_inspection_place_t *place, json_t **out,
                                 opc_error_t *error) OPC_CHECKED;
