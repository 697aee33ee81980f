/* What results depend on besides the libraries and the cases themselves: written to the journal, so that a later run
 * can take results over (--since).
 *
 * Ownership: the session's. Threads: one. */
#pragma once

#include "supervise/session/session.h"

/* Notes what a file of samples or recipes says of each operator, and the files of values that it names. lookup: gets
 * the session. */
opc_status_t opc_basis_note_file(opc_session_t *session, const char *file, opc_operator_lookup_t *lookup,
                                 opc_error_t *error) OPC_CHECKED;
/* Digest of what such files say of this operator; "": nothing. */
const char *opc_basis_inputs(const opc_session_t *session, const char *operator_name);
/* Sets session->basis, an object: versions, options, digests of files that count for every operator. Call after the
 * files were read. Writes {"t":"basis"}. */
opc_status_t opc_basis_make(opc_session_t *session, opc_error_t *error) OPC_CHECKED;
/* Writes {"t":"finished"}: all cases of the operator have their results. */
opc_status_t opc_basis_finished(const opc_session_t *session, const char *operator_name,
                                opc_error_t *error) OPC_CHECKED;
