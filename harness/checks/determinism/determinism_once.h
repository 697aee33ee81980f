/* Inside check determinism: its aggregate case.
 *
 * Ownership: see below. Threads: one. */
#pragma once

#include "checks/determinism/determinism_subprocess.h"

/* Frees the subprocess; NULL: there is none. */
void opc_determinism_run_once(opc_case_context_t *context, opc_subprocess_t *subprocess, opc_finding_t *finding);
