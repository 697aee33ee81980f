/* What to record: opcheck-c writes it to the folder and the observer reads it, one line "KEY VALUE" each.
 *
 * Ownership: opc_record_settings_clear frees what opc_record_settings_read allocated; the writer owns its strings.
 * Threads: no own state. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "base/status.h"

typedef struct opc_record_settings {
  const char *observers;     /* the folder that contains the observers */
  const char *values_folder; /* name of the folder of files beside the samples; "": the output has no place for it */
  bool values;               /* --values: large tensors go there, too */
  const char **namespaces;   /* none: all namespaces except libtorch's own */
  size_t namespace_count;
  const char **globs;
  size_t glob_count;
  int64_t calls;    /* distinct calls per operator */
  int64_t total;    /* for all operators together */
  int64_t size_mib; /* written output per process */
  int64_t elements; /* floating tensors of at most this many elements keep their values; integer tensors of at most 16
                       times as many */
  char *owned;
} opc_record_settings_t;

void opc_record_settings_default(opc_record_settings_t *settings);
opc_status_t opc_record_settings_write(const opc_record_settings_t *settings, const char *folder,
                                       opc_error_t *error) OPC_CHECKED;
opc_status_t opc_record_settings_read(const char *folder, opc_record_settings_t *out, opc_error_t *error) OPC_CHECKED;
void opc_record_settings_clear(opc_record_settings_t *settings);
/* True if calls of the operator should be recorded: "ns::op" and its overload, "" if none. */
bool opc_record_settings_want(const opc_record_settings_t *settings, const char *name, const char *overload);
