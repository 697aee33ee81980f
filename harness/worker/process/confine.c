#include "worker/process/confine.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "worker/loading/loading.h"

static struct {
  int ruleset, warden;
  struct sock_fprog filter;
  opc_text_t missing;
} confine = {.ruleset = -1, .warden = -1};

static int high(int fd) {
  const int moved = fd >= 0 ? fcntl(fd, F_DUPFD_CLOEXEC, OPC_OWN_FD_AT_LEAST) : -1;
  if (fd >= 0) close(fd);
  return moved;
}

static void miss(const char *what) {
  opc_text_addf(&confine.missing, "%s%s", confine.missing.length > 0 ? "; " : "", what);
}

void opc_confine_open(const char *scratch) {
  const char *why = NULL;
  opc_places_find(scratch);
  confine.ruleset = high(opc_landlock_open());
  if (confine.ruleset < 0) miss("this kernel cannot refuse access to files (Landlock, Linux 5.13)");
  if (!opc_filter_make(&confine.filter, &why)) {
    miss(why);
    return;
  }
  confine.warden = high(opc_warden_start());
  if (confine.warden < 0) miss(strerror(errno));
  /* What children leave behind becomes this process's child: opc_strays_kill. */
  prctl(PR_SET_CHILD_SUBREAPER, 1);
}

const char *opc_confine_missing(void) { return opc_text_c(&confine.missing); }

/* Nobody else may listen to this process's calls: then it runs without. */
static opc_status_t filter_with_warden(int crash_record, opc_error_t *error) {
  OPC_SCOPED(opc_scope_close) int reports = opc_filter_enter(&confine.filter);
  if (reports < 0) return OPC_OK;
  if (opc_warden_send(confine.warden, reports, crash_record)) return OPC_OK;
  return opc_error_set(error, OPC_ERR_SYSTEM, "the sandbox's warden is gone");
}

opc_status_t opc_confine_enter(int crash_record, opc_error_t *error) {
  if (confine.ruleset < 0 && confine.warden < 0) return OPC_OK;
  prctl(PR_SET_CHILD_SUBREAPER, 1); /* it adopts the daemons that an operator starts */
#ifdef PR_SET_PTRACER
  prctl(PR_SET_PTRACER, PR_SET_PTRACER_ANY); /* the warden reads the arguments of calls */
#endif
  if (prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0)
    return opc_error_set(error, OPC_ERR_SYSTEM, "cannot give up privileges: %s", strerror(errno));
  if (confine.ruleset >= 0 && !opc_landlock_enter(confine.ruleset))
    return opc_error_set(error, OPC_ERR_SYSTEM, "cannot enter the sandbox: %s", strerror(errno));
  if (confine.warden >= 0) OPC_RETURN_IF_ERROR(filter_with_warden(crash_record, error));
  if (confine.ruleset >= 0) close(confine.ruleset);
  if (confine.warden >= 0) close(confine.warden);
  return OPC_OK;
}
