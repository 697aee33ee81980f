/* What the process tells Valgrind about itself, where it runs under Valgrind (opcheck-c run --tool memcheck);
 * everywhere else these do nothing.
 *
 * Threads: any; begin and end are the calling thread's. Fork: the child goes on as its parent was. */
#ifndef OPC_MEMORY_VALGRIND_REQUESTS_H
#define OPC_MEMORY_VALGRIND_REQUESTS_H

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* False: Valgrind's headers were missing when this was built, and nothing below can be done. */
bool opc_valgrind_known(void);
/* This process runs under Valgrind. */
bool opc_valgrind_active(void);

/* From now on errors count between begin and end only: the harness may read what an operator left uninitialised, and
 * tell of it in its own way. */
void opc_valgrind_only_operators(void);
void opc_valgrind_operator_begin(void);
void opc_valgrind_operator_end(void);
/* With XML Valgrind searches for leaks at the end of every process, which takes 2 s each with libtorch. No more, unless
 * VALGRIND_OPTS has --leak-check. */
void opc_valgrind_leave_leaks(void);
/* How many errors this process has seen. */
uint64_t opc_valgrind_errors(void);

/* Words between the errors in Valgrind's XML. supervise/tools/memcheck_xml.h reads them. */
#define OPC_VALGRIND_CASE_WORDS "opcheck-c case "
#define OPC_VALGRIND_TENSOR_WORDS "opcheck-c tensor "
void opc_valgrind_announce_case(uint64_t number);
void opc_valgrind_announce_tensor(const char *path, const void *data, size_t bytes);
/* Valgrind shows an error once a process and place, and counts it from then on: this makes it list all places with
 * their counts in its log. */
void opc_valgrind_list_errors(void);

/* Memory: may not be touched; holds nothing sensible until it is written; may be touched and holds what it holds. */
void opc_valgrind_forbid(const void *data, size_t bytes);
void opc_valgrind_forget(const void *data, size_t bytes);
void opc_valgrind_allow(const void *data, size_t bytes);

#endif
