/* The files of the loaded libraries as operators of kind LIBRARY, so that facts about a library are found once, however
 * many operators it has.
 *
 * Ownership: opc_loaded_clear. Threads: one. */
#pragma once

#include "supervise/load/load.h"

/* Fills library_operators with the loaded libraries that contain GPU code, "library::libmy_ops.so". If several have the
 * same file name, the second is "library::2:libmy_ops.so". */
opc_status_t opc_libraries_take(opc_loaded_t *loaded, opc_error_t *error) OPC_CHECKED;
/* The real file of an operator of kind LIBRARY; NULL: another kind. */
const char *opc_library_file(const opc_loaded_t *loaded, const opc_operator_t *op);
