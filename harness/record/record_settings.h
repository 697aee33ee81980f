/* What is to be recorded, as opcheck-c writes it into the folder and the observer reads it: a line "KEY VALUE" each.
 *
 * Ownership: opc_record_settings_clear frees what reading made; a writer's strings are its own. Threads: none of their
 * own. */
#ifndef OPC_RECORD_RECORD_SETTINGS_H
#define OPC_RECORD_RECORD_SETTINGS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

typedef struct opc_record_settings {
  const char *observers;     /* the folder with the observers */
  const char *values_folder; /* how a sample names the folder of its .npy files; "" without --values */
  const char **namespaces;   /* none: all but those of libtorch itself */
  size_t namespace_count;
  const char **globs;
  size_t glob_count;
  int64_t calls;    /* distinct calls of an operator */
  int64_t total;    /* of all operators */
  int64_t size_mib; /* of what is written, a process */
  int64_t elements; /* a floating tensor of no more keeps its values; an integer one of 16 times as many */
  char *owned;
} opc_record_settings_t;

void opc_record_settings_default(opc_record_settings_t *settings);
opc_status_t opc_record_settings_write(const opc_record_settings_t *settings, const char *folder,
                                       opc_error_t *error) OPC_CHECKED;
opc_status_t opc_record_settings_read(const char *folder, opc_record_settings_t *out, opc_error_t *error) OPC_CHECKED;
void opc_record_settings_clear(opc_record_settings_t *settings);
/* Whether an operator's calls are wanted: "ns::op" and its overload, "" where it has none. */
bool opc_record_settings_want(const opc_record_settings_t *settings, const char *name, const char *overload);

#ifdef __cplusplus
}
#endif
#endif
