/* .opcheck-c.json: a project's settings for `run`, found in the current folder or in one above it.
 *
 *   {"format": "opcheck-c/settings/1",            may be left out
 *    "samples": ["my.samples.json"], "recipes": ["my.recipes.json"], "xfail": "known_failures.txt",
 *    "baseline": "known_problems.txt", "checks": ["stride", "meta"], "severities": {"sync.device": "off",
 * "registration.no_meta_kernel": "error"}}
 *
 * Paths are relative to the file. An option of the command line replaces the setting of its name.
 * Ownership: opc_settings_clear; a zeroed one is empty and valid. Threads: one. */
#pragma once

#include "cli/cli.h"
#include "result/case_result.h"

#define OPC_SETTINGS_FILE ".opcheck-c.json"

typedef struct opc_settings {
  char *file; /* NULL: there is none */
  char *text; /* its content as JSON, in one line */
  opc_strings_t samples, recipes, checks;
  char *xfail, *baseline;     /* NULL: not given */
  opc_rule_choice_t *choices; /* severities, by opc_rule_id_t; NULL: not given */
} opc_settings_t;

/* OPC_ERR_INPUT: "FILE:LINE:COLUMN: FIELD: what is wrong". */
opc_status_t opc_settings_read(opc_settings_t *out, opc_error_t *error) OPC_CHECKED;
void opc_settings_clear(opc_settings_t *settings);
