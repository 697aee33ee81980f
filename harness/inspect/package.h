/* Folders and wheels given in place of libraries: finds the libraries in them that register operators, and the files
 * that their names stand for.
 *
 * A library in a wheel is named as if the wheel were a folder: x.whl/pkg/_C.so. Such a name works wherever a library is
 * named. A wheel's libraries are unpacked once, into a private temporary folder; it is removed when the process that
 * unpacked it exits. Ownership: strings belong to this module. Threads: one. */
#pragma once

#include <jansson.h>

#include "inspect/library_error.h"
#include "inspect/requirement.h"

/* True for a folder or a zip file (a wheel is one). */
bool opc_package_is(const char *path);
/* Calls visit with the name of each library in it that registers operators, sorted by name. OPC_ERR_IO: it cannot be
 * unpacked. An error from visit ends the loop and is returned. */
opc_status_t opc_package_each(const char *path,
                              opc_status_t (*visit)(const char *library, void *context, opc_error_t *error),
                              void *context, opc_error_t *error) OPC_CHECKED;
/* The file that a name stands for: the unpacked file if it is in a wheel, otherwise the name itself. */
const char *opc_package_file(const char *name);

/* Everything that can be found out about a library without loading it, as JSON; `opcheck-c inspect` prints it.
 *
 * Ownership: *out is a new reference. */

typedef struct opc_inspection_place { /* the libtorch that the library would be loaded with */
  const char *folder;                 /* its lib/; NULL: unknown */
  const char *version;                /* "2.11"; "": unknown */
} opc_inspection_place_t;

/* {"path", "status":"read", "error":null, "soname", "registers":[…], "needs":[…], "torch":{…}, "python":{…}, "gpu":{…},
 * "debug":{…}, "loads":"yes|no|unknown", "verdict":TEXT, "remarks":[TEXT…]}, with requirements (may be NULL) "require":
 * what opc_requirements_judge makes. For a file that is not a library loadable here: {"path", "status":"failed",
 * "error":{"kind", "message"}}. name: the name to show. On an error *out may hold a report: the caller's as well. */
opc_status_t opc_inspection_make(const char *path, const char *name, const opc_inspection_place_t *place,
                                 const opc_requirements_t *requirements, json_t **out, opc_error_t *error) OPC_CHECKED;
