#include "supervise/process/hang_place.h"

#include <elf.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/ptrace.h>
#include <sys/uio.h>
#include <sys/user.h>
#include <sys/wait.h>

enum {
  LOOKS = 6,
  WAITS = 500, /* short ones, until it stops */
  LAST_WAITS = 20000,
  PLACES_MAX = 64,
  AROUND = 256, /* bytes: a loop has more than what was seen of it */
  LOOP_MAX = 4096
};
static const struct timespec between_looks = {.tv_nsec = 2 * 1000 * 1000}, short_wait = {.tv_nsec = 100 * 1000};
static const double part = 0.1, least_seconds = 0.1, busy_share = 0.7;

static void place_clear(opc_hang_place_t *place) {
  free(place->file);
  *place = (opc_hang_place_t){0};
}

void opc_hang_places_clear(opc_hang_places_t *places) {
  for (size_t i = 0; i < places->count; i++) place_clear(&places->items[i]);
  free(places->items);
  *places = (opc_hang_places_t){0};
}

/* ---- a look ---- */

#if defined(__x86_64__)
static uint64_t instruction_of(const struct user_regs_struct *registers) { return registers->rip; }
#elif defined(__aarch64__)
static uint64_t instruction_of(const struct user_regs_struct *registers) { return registers->pc; }
#else
static uint64_t instruction_of(const struct user_regs_struct *registers) {
  (void)registers;
  return 0;
}
#endif

typedef enum stop { STOP_NONE, STOP_OURS, STOP_GONE } stop_t;

/* Waits until it has stopped because of us. Signals that come meanwhile are its own. NONE: not within the time; a busy
 * machine runs it late, and one that waits for a disk stops late. GONE: it has ended. */
static stop_t wait_for_stop(pid_t pid, int waits) {
  for (int i = 0; i < waits; i++) {
    int status = 0;
    const pid_t got = waitpid(pid, &status, __WALL | WNOHANG);
    if (got < 0 || (got == pid && !WIFSTOPPED(status))) return STOP_GONE;
    if (got == 0) (void)nanosleep(&short_wait, NULL);
    else if (status >> 16 == PTRACE_EVENT_STOP) return STOP_OURS;
    else (void)ptrace(PTRACE_CONT, pid, NULL, (void *)(uintptr_t)WSTOPSIG(status));
  }
  return STOP_NONE;
}

/* 0: unknown. The process goes on. */
static uint64_t look_once(pid_t pid) {
  struct user_regs_struct registers = {0};
  struct iovec buffer = {.iov_base = &registers, .iov_len = sizeof registers};
  if (ptrace(PTRACE_INTERRUPT, pid, NULL, NULL) != 0 || wait_for_stop(pid, WAITS) != STOP_OURS) return 0;
  const bool known = ptrace(PTRACE_GETREGSET, pid, (void *)NT_PRSTATUS, &buffer) == 0;
  if (ptrace(PTRACE_CONT, pid, NULL, NULL) != 0) return 0;
  return known ? instruction_of(&registers) : 0;
}

/* Only a stopped process can be let go. While it is held, its parent is not told that it ended: one that does not stop
 * is killed here, and waited for. False: it was. */
static bool let_go(const opc_child_t *child) {
  const pid_t pid = child->pid;
  (void)ptrace(PTRACE_INTERRUPT, pid, NULL, NULL);
  const stop_t stop = wait_for_stop(pid, LAST_WAITS);
  if (stop == STOP_GONE || (stop == STOP_OURS && ptrace(PTRACE_DETACH, pid, NULL, NULL) == 0)) return true;
  opc_pidfd_kill(child->pidfd, pid);
  for (int status = 0; waitpid(pid, &status, __WALL) == pid && WIFSTOPPED(status);)
    (void)ptrace(PTRACE_CONT, pid, NULL, NULL);
  return false;
}

static bool begins_with_any(const char *name, const char *const names[], size_t count) {
  for (size_t i = 0; i < count; i++)
    if (strncmp(name, names[i], strlen(names[i])) == 0) return true;
  return false;
}

/* Compilers within a process: of Warp, Numba, Triton, and what is built on LLVM. */
static bool is_compiler(const char *file) {
  static const char *const names[] = {"warp-clang", "libllvmlite", "libtriton", "libLLVM", "libclang", "libnvrtc"};
  return begins_with_any(opc_base_name(file), names, sizeof names / sizeof *names);
}

/* Their loops, such as memset's, end for other inputs. */
static bool is_shared_by_all(const char *file) {
  static const char *const names[] = {"libc.so", "libm.so",   "libc-",     "libm-",     "libtorch",
                                      "libc10",  "libstdc++", "libgcc_s",  "libgomp",   "libomp",
                                      "libiomp", "libmkl",    "libpython", "libopcheck"};
  const char *name = opc_base_name(file);
  /* without ".so": the program itself, such as python3 */
  return begins_with_any(name, names, sizeof names / sizeof *names) || is_compiler(name) || !strstr(name, ".so");
}

static bool hang_widen(opc_hang_place_t *place, const struct opc_mapping *mapping, uint64_t address) {
  if (!mapping || !mapping->path || is_shared_by_all(mapping->path)) return false;
  const uint64_t offset = address - mapping->start + mapping->offset;
  if (!place->file) {
    place->file = strdup(mapping->path);
    place->first = place->last = offset;
  }
  if (!place->file || strcmp(place->file, mapping->path) != 0) return false;
  if (offset < place->first) place->first = offset;
  if (offset > place->last) place->last = offset;
  return true;
}

/* False: the main thread is not in one loop, or cannot be seen; then *out is empty. *out_killed: it did not even stop.
 */
static bool hang_look(const opc_child_t *child, opc_hang_place_t *out, bool *out_killed) {
  const pid_t pid = child->pid;
  *out_killed = false;
  bool within = pid > 0 && !child->own; /* of an own child, waitpid would take the end */
  *out = (opc_hang_place_t){0};
  if (!within || ptrace(PTRACE_SEIZE, pid, NULL, NULL) != 0) return false;
  for (int i = 0; i < LOOKS && within; i++) {
    if (i > 0) (void)nanosleep(&between_looks, NULL);
    const uint64_t address = look_once(pid);
    within = address && hang_widen(out, opc_maps_find(child->hangs_maps, address), address);
  }
  *out_killed = !let_go(child);
  within = within && out->last - out->first <= LOOP_MAX;
  if (!within) place_clear(out);
  return within;
}

bool opc_hang_compiles(const opc_child_t *child) {
  uint64_t addresses[LOOKS];
  opc_error_t ignored;
  OPC_SCOPED(opc_maps_clear) opc_maps_t maps = {0}; /* a compiler is often loaded by the first call */
  size_t count = 0;
  bool found = false;
  if (child->pid <= 0 || child->own || ptrace(PTRACE_SEIZE, child->pid, NULL, NULL) != 0) return false;
  for (; count < LOOKS && (addresses[count] = look_once(child->pid)); count++) (void)nanosleep(&between_looks, NULL);
  if (!let_go(child) || opc_maps_read(&maps, child->pid, &ignored) != OPC_OK) return false;
  for (size_t i = 0; i < count && !found; i++) {
    const struct opc_mapping *mapping = opc_maps_find(&maps, addresses[i]);
    found = mapping && mapping->path && is_compiler(mapping->path);
  }
  return found;
}

/* ---- known places ---- */

static bool hang_is_within(const opc_hang_place_t *place, const opc_hang_place_t *known) {
  return strcmp(place->file, known->file) == 0 && place->first + AROUND >= known->first &&
         place->last <= known->last + AROUND;
}

static bool hang_has_place(const opc_hang_places_t *places, const opc_hang_place_t *place) {
  bool found = false;
  for (size_t i = 0; i < places->count && !found; i++) found = hang_is_within(place, &places->items[i]);
  return found;
}

void opc_hang_note(opc_hang_places_t *places, const opc_child_t *child) {
  opc_hang_place_t place;
  bool killed;
  if (places->count == PLACES_MAX || !hang_look(child, &place, &killed)) return;
  if (hang_has_place(places, &place) || !OPC_ARRAY_GROW(places->items, places->count)) place_clear(&place);
  else places->items[places->count++] = place;
}

static bool hang_on_unvouched(const opc_child_t *child) {
  static const char searched[] = "searched/";
  return child->learns || strncmp(child->crash_record->provenance, searched, sizeof searched - 1) == 0;
}

static double enough_of(double seconds) { return fmax(least_seconds, part * seconds); }

double opc_hang_look_after(const opc_hang_places_t *places, const opc_child_t *child, double seconds) {
  const bool looks = places->count > 0 && child->looked != child->sequence && hang_on_unvouched(child);
  return looks ? enough_of(seconds) : seconds;
}

bool opc_hang_is_known(const opc_hang_places_t *places, opc_child_t *child, double runs, double seconds) {
  opc_hang_place_t place;
  bool killed;
  const double enough = opc_hang_look_after(places, child, seconds);
  if (enough >= seconds || runs < enough || opc_process_cpu(child->pid) - child->cpu < busy_share * enough)
    return false;
  child->looked = child->sequence;
  if (!hang_look(child, &place, &killed)) return killed; /* its end is a hang, not a crash of the operator */
  const bool known = hang_has_place(places, &place);
  place_clear(&place);
  return known;
}
