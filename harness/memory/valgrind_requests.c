#include "memory/valgrind_requests.h"

#if __has_include(<valgrind/memcheck.h>)
#include <stdlib.h>
#include <string.h>
#include <valgrind/memcheck.h>

static bool only_operators;

bool opc_valgrind_known(void) { return true; }

bool opc_valgrind_active(void) { return RUNNING_ON_VALGRIND != 0; }

void opc_valgrind_only_operators(void) {
  only_operators = true;
  VALGRIND_DISABLE_ERROR_REPORTING;
}

void opc_valgrind_operator_begin(void) {
  if (only_operators) VALGRIND_ENABLE_ERROR_REPORTING;
}

void opc_valgrind_operator_end(void) {
  if (only_operators) VALGRIND_DISABLE_ERROR_REPORTING;
}

void opc_valgrind_leave_leaks(void) {
  const char *options = getenv("VALGRIND_OPTS");
#ifdef VALGRIND_CLO_CHANGE /* since 3.15 */
  if (!options || !strstr(options, "--leak-check")) VALGRIND_CLO_CHANGE("--leak-check=no");
#endif
}

uint64_t opc_valgrind_errors(void) { return VALGRIND_COUNT_ERRORS; }

void opc_valgrind_announce_case(uint64_t number) {
  VALGRIND_PRINTF(OPC_VALGRIND_CASE_WORDS "%llu\n", (unsigned long long)number);
}

void opc_valgrind_announce_tensor(const char *path, const void *data, size_t bytes) {
  /* Valgrind's own printf, which has fewer conversions than C's. */
  VALGRIND_PRINTF(OPC_VALGRIND_TENSOR_WORDS "0x%llx %llu %s\n", (unsigned long long)(uintptr_t)data,
                  (unsigned long long)bytes, path);
}

void opc_valgrind_list_errors(void) { VALGRIND_MONITOR_COMMAND("v.info all_errors"); }

void opc_valgrind_forbid(const void *data, size_t bytes) { VALGRIND_MAKE_MEM_NOACCESS(data, bytes); }
void opc_valgrind_forget(const void *data, size_t bytes) { VALGRIND_MAKE_MEM_UNDEFINED(data, bytes); }
void opc_valgrind_allow(const void *data, size_t bytes) { VALGRIND_MAKE_MEM_DEFINED(data, bytes); }

#else

bool opc_valgrind_known(void) { return false; }
bool opc_valgrind_active(void) { return false; }
void opc_valgrind_only_operators(void) {}
void opc_valgrind_leave_leaks(void) {}
void opc_valgrind_operator_begin(void) {}
void opc_valgrind_operator_end(void) {}
uint64_t opc_valgrind_errors(void) { return 0; }
void opc_valgrind_announce_case(uint64_t number) { (void)number; }
void opc_valgrind_announce_tensor(const char *path, const void *data, size_t bytes) {
  (void)path;
  (void)data;
  (void)bytes;
}
void opc_valgrind_list_errors(void) {}
void opc_valgrind_forbid(const void *data, size_t bytes) {
  (void)data;
  (void)bytes;
}
void opc_valgrind_forget(const void *data, size_t bytes) {
  (void)data;
  (void)bytes;
}
void opc_valgrind_allow(const void *data, size_t bytes) {
  (void)data;
  (void)bytes;
}

#endif
