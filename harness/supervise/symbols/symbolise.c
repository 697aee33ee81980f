#include "supervise/symbols/symbolise.h"

#include <errno.h>
#include <inttypes.h>
#include <poll.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/socket.h>
#include <sys/wait.h>
#include <unistd.h>

enum { HELPER_MILLISECONDS = 10000 };

/* Findings of one operator share most of their frames, and libdw takes up to a tenth of a second per question. */
enum { KNOWN_MAX = 2048 };
typedef struct known {
  char module[512];
  uint64_t place;
  opc_symbolise_kind_t kind;
  opc_frame_t frame;
} known_t;

struct opc_symboliser {
  known_t *known;
  size_t known_count;
  pid_t helper;
  int socket;
  int deaths; /* a helper that died twice is not asked again */
};

opc_status_t opc_symboliser_new(opc_symboliser_t **out, opc_error_t *error) {
  *out = calloc(1, sizeof **out);
  if (!*out) return opc_out_of_memory(error);
  (*out)->socket = -1;
  return OPC_OK;
}

static void end_helper(opc_symboliser_t *symboliser) {
  if (symboliser->socket >= 0) close(symboliser->socket);
  symboliser->socket = -1;
  if (symboliser->helper > 0) {
    kill(symboliser->helper, SIGKILL);
    while (waitpid(symboliser->helper, NULL, 0) < 0 && errno == EINTR) {
    }
  }
  symboliser->helper = 0;
}

static bool start_helper(opc_symboliser_t *symboliser) {
  int pair[2];
  if (symboliser->helper > 0) return true;
  if (symboliser->deaths >= 2 || socketpair(AF_UNIX, SOCK_SEQPACKET | SOCK_CLOEXEC, 0, pair) != 0) return false;
  pid_t parent = getpid();
  fflush(NULL);
  symboliser->helper = fork();
  if (symboliser->helper == 0) {
    prctl(PR_SET_PDEATHSIG, SIGKILL);
    if (getppid() != parent) _exit(0);
    signal(SIGINT, SIG_IGN); /* the parent decides when to end */
    signal(SIGTERM, SIG_DFL);
    close(pair[0]);
    opc_symbolise_serve(pair[1]);
    _exit(0);
  }
  close(pair[1]);
  symboliser->socket = pair[0];
  if (symboliser->helper < 0) end_helper(symboliser);
  return symboliser->helper > 0;
}

static const opc_frame_t *recall(const opc_symboliser_t *symboliser, const opc_symbolise_question_t *question) {
  for (size_t i = 0; i < symboliser->known_count; i++) {
    const known_t *known = &symboliser->known[i];
    if (known->place == question->place && known->kind == question->kind &&
        strcmp(known->module, question->module) == 0)
      return &known->frame;
  }
  return NULL;
}

static void symbolise_remember(opc_symboliser_t *symboliser, const opc_symbolise_question_t *question,
                               const opc_frame_t *frame) {
  if (!symboliser->known) symboliser->known = malloc(KNOWN_MAX * sizeof *symboliser->known);
  if (!symboliser->known) return; /* the next question asks the helper again */
  if (symboliser->known_count == KNOWN_MAX) symboliser->known_count = 0;
  known_t *known = &symboliser->known[symboliser->known_count++];
  *known = (known_t){.place = question->place, .kind = question->kind, .frame = *frame};
  memcpy(known->module, question->module, sizeof known->module);
}

static bool symbolise_ask(opc_symboliser_t *symboliser, const opc_symbolise_question_t *question, opc_frame_t *out) {
  if (!start_helper(symboliser)) return false;
  struct pollfd waiting = {.fd = symboliser->socket, .events = POLLIN};
  opc_frame_t answer;
  int ready = 0;
  if (send(symboliser->socket, question, sizeof *question, MSG_NOSIGNAL) == (ssize_t)sizeof *question) {
    do {
      ready = poll(&waiting, 1, HELPER_MILLISECONDS);
    } while (ready < 0 && errno == EINTR);
  }
  if (ready > 0 && recv(symboliser->socket, &answer, sizeof answer, 0) == (ssize_t)sizeof answer) {
    *out = answer;
    return true;
  }
  symboliser->deaths++;
  end_helper(symboliser);
  return false;
}

static void recall_or_ask(opc_symboliser_t *symboliser, const opc_symbolise_question_t *question, opc_frame_t *out) {
  const opc_frame_t *known = recall(symboliser, question);
  if (known) *out = *known;
  else if (symbolise_ask(symboliser, question, out)) symbolise_remember(symboliser, question, out);
  else out->offset = question->place;
  snprintf(out->module, sizeof out->module, "%s", question->module);
}

void opc_symboliser_frame(opc_symboliser_t *symboliser, const opc_maps_t *maps, uint64_t address, bool is_return,
                          bool program_by_name, opc_frame_t *out) {
  memset(out, 0, sizeof *out);
  if (is_return && address > 0) address--;
  const struct opc_mapping *found = maps ? opc_maps_find(maps, address) : NULL;
  if (!found) {
    out->offset = address;
    return;
  }
  const bool name_only = program_by_name && maps->program && strcmp(found->path, maps->program) == 0;
  opc_symbolise_question_t question = {.place = address - found->start + found->offset,
                                       .kind = name_only ? OPC_SYMBOLISE_NAME : OPC_SYMBOLISE_FRAME};
  snprintf(question.module, sizeof question.module, "%s", found->path);
  recall_or_ask(symboliser, &question, out);
}

void opc_symboliser_kernel(opc_symboliser_t *symboliser, const char *module, uint64_t address, const char *functor,
                           opc_frame_t *out) {
  opc_symbolise_question_t question = {.place = address, .kind = OPC_SYMBOLISE_KERNEL};
  memset(out, 0, sizeof *out);
  snprintf(question.module, sizeof question.module, "%s", module);
  if (functor && strlen(functor) < sizeof question.functor) memcpy(question.functor, functor, strlen(functor) + 1);
  recall_or_ask(symboliser, &question, out);
}

void opc_symboliser_free(opc_symboliser_t *symboliser) {
  if (!symboliser) return;
  end_helper(symboliser);
  free(symboliser->known);
  free(symboliser);
}

enum { STACK_MARGIN = 4 << 20 };

static void empty(opc_maps_t *maps) {
  for (size_t i = 0; i < maps->count; i++) free(maps->mappings[i].path);
  free(maps->program);
  maps->program = NULL;
  maps->count = 0;
  maps->stack_end = 0;
}

static opc_status_t maps_keep(opc_maps_t *maps, const struct opc_mapping *mapping, opc_error_t *error) {
  if (!OPC_ARRAY_GROW(maps->mappings, maps->count)) return opc_out_of_memory(error);
  maps->mappings[maps->count] = *mapping;
  maps->mappings[maps->count].path = opc_string_copy(mapping->path);
  if (!maps->mappings[maps->count].path) return opc_out_of_memory(error);
  maps->count++;
  return OPC_OK;
}

opc_status_t opc_maps_read(opc_maps_t *maps, pid_t pid, opc_error_t *error) {
  char path[64];
  OPC_SCOPED(opc_scope_free) char *line = NULL;
  size_t size = 0;
  empty(maps);
  snprintf(path, sizeof path, "/proc/%d/exe", (int)pid);
  maps->program = realpath(path, NULL);
  snprintf(path, sizeof path, "/proc/%d/maps", (int)pid);
  OPC_SCOPED(opc_scope_fclose) FILE *file = fopen(path, "re");
  if (!file) return opc_error_set(error, OPC_ERR_SYSTEM, "cannot read %s: %s", path, strerror(errno));
  while (getline(&line, &size, file) > 0) {
    struct opc_mapping mapping = {0};
    char rights[5];
    int name = 0;
    if (sscanf(line, "%" SCNx64 "-%" SCNx64 " %4s %" SCNx64 " %*s %*s %n", &mapping.start, &mapping.end, rights,
               &mapping.offset, &name) != 4)
      continue;
    line[strcspn(line, "\n")] = '\0';
    mapping.path = line + name;
    if (strcmp(mapping.path, "[stack]") == 0) maps->stack_end = mapping.end;
    if (rights[2] == 'x' && mapping.path[0] == '/') OPC_RETURN_IF_ERROR(maps_keep(maps, &mapping, error));
  }
  return OPC_OK;
}

bool opc_maps_below_stack(const opc_maps_t *maps, uint64_t address) {
  struct rlimit limit;
  if (maps->stack_end == 0 || getrlimit(RLIMIT_STACK, &limit) != 0 || limit.rlim_cur == RLIM_INFINITY) return false;
  uint64_t reach = limit.rlim_cur + STACK_MARGIN;
  return address < maps->stack_end && address >= maps->stack_end - reach &&
         address < maps->stack_end - limit.rlim_cur + STACK_MARGIN;
}

const struct opc_mapping *opc_maps_find(const opc_maps_t *maps, uint64_t address) {
  for (size_t i = 0; i < maps->count; i++) {
    if (address >= maps->mappings[i].start && address < maps->mappings[i].end) return &maps->mappings[i];
  }
  return NULL;
}

void opc_maps_clear(opc_maps_t *maps) {
  empty(maps);
  free(maps->mappings);
  memset(maps, 0, sizeof *maps);
}
