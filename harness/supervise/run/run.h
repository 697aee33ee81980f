/* A run from beginning to end: starts workers, loads and lists the libraries, finds inputs, runs the cases, confirms
 * findings, writes the journal. The command line (harness/cli) fills in the options; reports are made from the journal
 * afterwards.
 *
 * Ownership: options and their strings belong to the caller and outlive the call. Threads: one run per process. The
 * call forks and executes. */
#pragma once

#include "supervise/session/session.h"

/* Runs. If this returns OPC_OK, the journal is complete (its "end" record is written), whatever the verdicts;
 * *out_exit_code is the exit code of `opcheck-c run`; the caller applies --strict, from the summary. Otherwise the
 * error says what the harness could not do, and the journal holds everything up to then. SIGINT and SIGTERM end the run
 * cleanly: children killed, journal ended as incomplete, OPC_ERR_SYSTEM "interrupted". */
opc_status_t opc_run_execute(const opc_run_options_t *options, int *out_exit_code, opc_error_t *error) OPC_CHECKED;

/* --init-samples: writes a sample file with the samples of each selected operator, and for one without any an entry
 * that is to be completed. */
opc_status_t opc_init_samples(opc_session_t *session, opc_error_t *error) OPC_CHECKED;
/* --save-samples: those of each operator, in the order of the operators. */
opc_status_t opc_save_samples(opc_session_t *session, opc_error_t *error) OPC_CHECKED;
/* The file of those that searches found, in the same order. */
opc_status_t opc_save_found(opc_session_t *session, opc_error_t *error) OPC_CHECKED;

/* --list-cases: the plan of a run, without running any of it. Samples of files, recordings, classes and packages are
 * planned as in a worker; operators without a sample are listed as to be searched first.
 *
 * Ownership: nothing is kept. */

/* Operators from index `searched` on are never searched. Passes each case to options->planned. */
opc_status_t opc_list_cases(opc_session_t *session, const opc_operator_t *const *operators, size_t count,
                            size_t searched, opc_error_t *error) OPC_CHECKED;
