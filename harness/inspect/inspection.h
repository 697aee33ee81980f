/* All that can be said of a library without loading it, as JSON; `opcheck-c inspect` prints it.
 *
 * Ownership: *out is a new reference. Threads, fork: no shared state. */
#ifndef OPC_INSPECT_INSPECTION_H
#define OPC_INSPECT_INSPECTION_H

#include <jansson.h>

#include "inspect/library_error.h"

typedef struct opc_inspection_place { /* the libtorch that the library would be loaded with */
  const char *folder;                 /* its lib/; NULL: none is known */
  const char *version;                /* "2.11"; "" when it is not known */
} opc_inspection_place_t;

/* {"path", "status":"read", "error":null, "soname", "registers":[…], "needs":[…], "torch":{…}, "python":{…}, "gpu":{…},
 * "debug":{…}, "loads":"yes|no|unknown", "verdict":TEXT, "remarks":[TEXT…]}; for a file that is no library that can be
 * loaded here
 * {"path", "status":"failed", "error":{"kind", "message"}}. name: what to call it. */
opc_status_t opc_inspection_make(const char *path, const char *name, const opc_inspection_place_t *place, json_t **out,
                                 opc_error_t *error) OPC_CHECKED;

#endif
