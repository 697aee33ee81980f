/* Requests to Valgrind if this process runs under it (opcheck-c run --tool memcheck); otherwise these do nothing.
 *
 * Threads: any; begin and end apply to the calling thread. Fork: the child inherits the parent's state. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False: Valgrind's headers were missing at build time; nothing below has an effect. */
bool opc_valgrind_known(void);
/* This process runs under Valgrind. */
bool opc_valgrind_active(void);

/* From now on errors count only between begin and end: the harness may read what an operator left uninitialised, and
 * reports that itself. */
void opc_valgrind_only_operators(void);
void opc_valgrind_operator_begin(void);
void opc_valgrind_operator_end(void);
/* With XML output Valgrind searches for leaks at the end of every process, which takes 2 s each with libtorch. This
 * disables it, unless VALGRIND_OPTS has --leak-check. */
void opc_valgrind_leave_leaks(void);
/* Number of errors in this process so far. */
uint64_t opc_valgrind_errors(void);

/* Text between the errors in Valgrind's XML. supervise/tools/memcheck.h reads it. */
#define OPC_VALGRIND_CASE_WORDS "opcheck-c case "
#define OPC_VALGRIND_TENSOR_WORDS "opcheck-c tensor "
void opc_valgrind_announce_case(uint64_t number);
void opc_valgrind_announce_tensor(const char *path, const void *data, size_t bytes);
/* Valgrind prints an error only once per process and location, and then counts it: this makes it list all locations
 * with their counts in its log. */
void opc_valgrind_list_errors(void);

/* Mark memory as: inaccessible; accessible but undefined until written; accessible and defined. */
void opc_valgrind_forbid(const void *data, size_t bytes);
void opc_valgrind_forget(const void *data, size_t bytes);
void opc_valgrind_allow(const void *data, size_t bytes);
