/* The files of the loaded libraries as operators of kind LIBRARY: what is true of a library is found once, however many
 * operators it has.
 *
 * Ownership: opc_loaded_clear. Threads: one. */
#ifndef OPC_SUPERVISE_LOAD_LIBRARY_OPERATORS_H
#define OPC_SUPERVISE_LOAD_LIBRARY_OPERATORS_H

#include "supervise/load/load.h"

/* Fills library_operators: those libraries that have loaded and hold GPU code, "library::libmy_ops.so". Where several
 * have one file name, the second is "library::2:libmy_ops.so". */
opc_status_t opc_libraries_take(opc_loaded_t *loaded, opc_error_t *error) OPC_CHECKED;
/* The real file of an operator of kind LIBRARY; NULL: it is of another kind. */
const char *opc_library_file(const opc_loaded_t *loaded, const opc_operator_t *op);

#endif
