/* Which of several workers a run gets, where --torch does not say it: the one whose libtorch the libraries under test
 * were built for.
 *
 * Two things tell, and opcheck-c itself knows no version of libtorch:
 * - its home: the libtorch that the loader would find for it by its RUNPATH, that lies in the same site-packages, or
 * that its package asks for. A library that uses libtorch's C++ symbols is for that minor version alone, because they
 * are compatible with no other; what only uses the C shim is at most better off there.
 * - symbols, where there are several workers and a home does not decide: a library that needs one which some worker's
 * libtorch has, and this worker's has not, is not for this worker. Where several fit, the first of the list is taken.
 *
 * Ownership: plain structs. Threads, fork: no shared state. Nothing is loaded or executed: files are read. */
#ifndef OPC_SUPERVISE_PROCESS_WORKER_CHOICE_H
#define OPC_SUPERVISE_PROCESS_WORKER_CHOICE_H

#include "inspect/library_error.h"
#include "supervise/process/worker_list.h"

/* errors[i].kind is "" where library i goes with workers->items[*out_index], else why not. A file that cannot be read
 * goes with any. */
opc_status_t opc_worker_choose(const opc_workers_t *workers, const char *const *libraries, size_t count,
                               size_t *out_index, opc_library_error_t *errors, opc_error_t *error) OPC_CHECKED;

#endif
