#include "worker/process/fork_server.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <unistd.h>

#include "bridge/api/replaced.h"
#include "memory/cpu_memory.h"
#include "memory/growth.h"
#include "memory/valgrind_requests.h"
#include "worker/child/batch.h"
#include "worker/child/try.h"
#include "worker/process/confine.h"

enum { SANDBOX_FILE_LIMIT = 64 << 20, SANDBOX_STACK_LIMIT = 64 << 20, SANDBOX_FILES_LIMIT = 4096 };
/* Valgrind's own files belong to this process, and so does its data about each byte: whether it is defined, and its
 * origin. */
enum { VALGRIND_FILE_LIMIT = 1 << 30, VALGRIND_OWN = 1 << 30, VALGRIND_SHARE = 4 };

static void sandbox_limit_set(int resource, rlim_t value) {
  struct rlimit limit;
  if (getrlimit(resource, &limit) != 0) return;
  if (limit.rlim_max != RLIM_INFINITY && limit.rlim_max < value) value = limit.rlim_max;
  limit.rlim_cur = value;
  setrlimit(resource, &limit);
}

static rlim_t mapped_bytes(void) {
  unsigned long long pages = 0;
  FILE *file = fopen("/proc/self/statm", "re");
  if (!file) return 0;
  if (fscanf(file, "%llu", &pages) != 1) pages = 0;
  fclose(file);
  return (rlim_t)pages * (rlim_t)sysconf(_SC_PAGESIZE);
}

/* Each child that runs a package unpacks it. */
static rlim_t file_bytes(const json_t *operators) {
  const char *name;
  json_t *op;
  json_int_t most = 0;
  json_object_foreach((json_t *)operators, name, op) {
    json_int_t bytes = json_integer_value(json_object_get(op, "package_bytes"));
    if (bytes > most) most = bytes;
  }
  return SANDBOX_FILE_LIMIT + (rlim_t)most;
}

static void limits_set(long long memory_mib, rlim_t file_limit) {
  /* 1, not 0: a core pattern that is a pipe ignores 0 and starts a program for every crash (core(5), fs/coredump.c). */
  struct rlimit none = {1, 1};
  setrlimit(RLIMIT_CORE, &none);
  sandbox_limit_set(RLIMIT_FSIZE, opc_valgrind_active() ? VALGRIND_FILE_LIMIT : file_limit);
  /* An infinite recursion on an unlimited stack would use up all memory before it faults. */
  struct rlimit stack;
  if (getrlimit(RLIMIT_STACK, &stack) == 0 && stack.rlim_cur > SANDBOX_STACK_LIMIT)
    sandbox_limit_set(RLIMIT_STACK, SANDBOX_STACK_LIMIT);
  sandbox_limit_set(RLIMIT_NOFILE, SANDBOX_FILES_LIMIT);
  if (memory_mib <= 0) return;
  rlim_t bytes = (rlim_t)memory_mib << 20;
  opc_peak_limit((size_t)bytes);
  if (opc_valgrind_active()) opc_red_zone_limit((size_t)bytes);
  sandbox_limit_set(RLIMIT_AS,
                    mapped_bytes() + (opc_valgrind_active() ? VALGRIND_SHARE * bytes + VALGRIND_OWN : bytes));
}

/* A library's initialiser may have changed settings that a fresh process expects. */
static void signals_reset(void) {
  sigset_t none;
  sigemptyset(&none);
  sigprocmask(SIG_SETMASK, &none, NULL);
  signal(SIGCHLD, SIG_DFL);
  signal(SIGPIPE, SIG_DFL);
  /* Over the file limit a write fails; a verbose operator is not killed for that. */
  signal(SIGXFSZ, SIG_IGN);
}

static opc_status_t streams_set(int output, opc_error_t *error) {
  int null = open("/dev/null", O_RDONLY | O_CLOEXEC);
  if (null < 0 || dup2(null, STDIN_FILENO) < 0 || dup2(output, STDOUT_FILENO) < 0 || dup2(output, STDERR_FILENO) < 0)
    return opc_error_set(error, OPC_ERR_SYSTEM, "cannot redirect the standard streams: %s", strerror(errno));
  if (null > STDERR_FILENO) close(null);
  if (output > STDERR_FILENO) close(output);
  /* Line-buffered, so that text printed before a crash is seen. */
  setvbuf(stdout, NULL, _IOLBF, 0);
  return OPC_OK;
}

void opc_sandbox_prepare(void) {
  static bool prepared; /* before the fork: otherwise libtorch would recreate its thread pools */
  if (prepared) return;
  prepared = true;
  /* More threads make results depend on the machine, and the first parallel kernel costs each child 4-13 ms. */
  opc_bridge_threads(1);
  opc_bridge_seed(0);
  opc_bridge_no_backtraces();
  opc_bridge_replace_kernels();
}

static opc_status_t sandbox_set_up(const opc_sandbox_t *sandbox, opc_crash_record_t **out_record, opc_error_t *error) {
  static const opc_cpu_allocator_t memory = {.allocate = opc_cpu_memory_allocate, .release = opc_cpu_memory_release};
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != sandbox->parent) _exit(OPC_SANDBOX_BROKEN); /* the parent died before the line above */
  signals_reset();
  OPC_RETURN_IF_ERROR(streams_set(sandbox->output, error));
  OPC_RETURN_IF_ERROR(opc_crash_map(sandbox->crash_record, out_record, error));
  OPC_RETURN_IF_ERROR(opc_crash_install(*out_record, error));
  if (chdir(sandbox->directory) != 0)
    return opc_error_set(error, OPC_ERR_SYSTEM, "cannot enter %s: %s", sandbox->directory, strerror(errno));
  opc_try_folder_reset(); /* a searched sample may name the file in it */
  opc_sandbox_prepare();
  opc_bridge_set_allocator(&memory);
  opc_scratch_memory_plain();
  opc_bridge_before_call(opc_scratch_memory_before_call);
  limits_set(sandbox->memory_mib, file_bytes(sandbox->operators));
  opc_refusals_watch(&(*out_record)->refusals);
  OPC_RETURN_IF_ERROR(opc_confine_enter(sandbox->crash_record, error));
  close(sandbox->crash_record);
  return OPC_OK;
}

static opc_status_t sandbox_serve(const opc_sandbox_t *sandbox, opc_crash_record_t **out_record, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(sandbox_set_up(sandbox, out_record, error));
  return opc_batch_serve(sandbox->batch, *out_record, sandbox->operators, error);
}

_Noreturn void opc_sandbox_run(const opc_sandbox_t *sandbox) {
  opc_error_t error = {0};
  opc_crash_record_t *record = NULL;
  const opc_status_t status = sandbox_serve(sandbox, &record, &error);
  if (status != OPC_OK) fprintf(stderr, "opcheck-worker: %s\n", error.message);
  if (status != OPC_OK && record) snprintf(record->terminate_text, sizeof record->terminate_text, "%s", error.message);
  fflush(NULL);
  /* Not exit: static destructors of libraries under test must not run as part of a batch. */
  _exit(status != OPC_OK ? OPC_SANDBOX_BROKEN : 0);
}
