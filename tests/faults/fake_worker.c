/* A worker without libtorch, for tests of the supervisor: it speaks the protocol (wire/protocol.h), and its operators
 * misbehave by name. Each has ten cases, `fake::NAME/stride/cpu/-/one/v0` … v4 and `…/alias/…/v5` … v9. The file that
 * it should load only has to be there. */
#include <errno.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "base/system.h"
#include "model/case/case.h"
#include "wire/channel.h"
#include "wire/protocol.h"

static const char *const operators[] = {
    "healthy", "fails",   "segv",  "abort", "exit0",    "hang",   "parent",  "closes", "junk",     "grandchild",
    "flood",   "depends", "flaky", "late",  "allcrash", "sleepy", "refused", "lies",   "searched", "babble",
    "learns",  "wild",    "spent", "after", "hidden",   "group",  "hung",    "slow",   "twice"};
enum { OPERATORS = sizeof operators / sizeof operators[0], CASES = 10 };

static int *ever; /* shared by all children: how often "flaky" ran */
static opc_channel_t control = OPC_CHANNEL_INIT, batch = OPC_CHANNEL_INIT;
static opc_crash_record_t *box;
static bool ran[CASES];
static const json_t *crashed; /* of the present command */
static const char *device = "cpu";
static bool alone; /* the command is for one case */
static bool spent; /* the process cannot go on after this case */

static void say(opc_channel_t *channel, json_t *message) {
  opc_error_t error;
  if (opc_channel_send(channel, message, NULL, 0, &error) != OPC_OK) _exit(9);
  json_decref(message);
}

static void begin(const char *id) {
  struct timespec now;
  clock_gettime(CLOCK_MONOTONIC, &now);
  snprintf(box->case_id, sizeof box->case_id, "%s", id);
  box->call_kind = OPC_CALL_KIND_OPERATOR;
  box->input[0] = '\0';
  box->started_ns = (int64_t)now.tv_sec * 1000000000 + now.tv_nsec;
  box->sequence++;
  box->running = 1;
}

/* A record of compute-sanitizer, for the stub that this runs under (tests/sanitize). */
static void record(const char *text) {
  const char *path = getenv("OPC_STAND_IN_RECORDS");
  FILE *file = path != NULL ? fopen(path, "ae") : NULL;
  if (file == NULL) return;
  fprintf(file,
          "<record><kind>Precise</kind><level>Error</level><what><text>%s</text></"
          "what><where><func>wild_kernel(float*)</func></where></record>\n",
          text);
  fclose(file);
}

static bool in_list(const json_t *list, const char *word) {
  size_t i;
  json_t *item;
  json_array_foreach(list, i, item) {
    if (strcmp(json_string_value(item), word) == 0) return true;
  }
  return false;
}

/* "CHECK RANK": its cases have no provenance, and so the best rank. */
static bool is_skipped(const json_t *skip, const char *check) {
  char entry[64];
  snprintf(entry, sizeof entry, "%s 0", check);
  return in_list(skip, entry);
}

/* What the operator does in case i; true: it is wrong there. */
static bool behave(const char *name, int i) {
  if (strcmp(name, "fails") == 0) return i == 3 || i == 6;
  if (strcmp(name, "group") == 0 && i == 3) return ran[0] || !ran[1];
  if (strcmp(name, "group") == 0) return i == 1 || i == 2 || i == 4 || i == 7;
  if (strcmp(name, "segv") == 0 && i == 2) raise(SIGSEGV);
  if (strcmp(name, "abort") == 0 && i == 2) abort();
  if (strcmp(name, "exit0") == 0 && i == 2) _exit(0);
  if (strcmp(name, "hang") == 0 && (i == 2 || i == 3 || i == 4)) pause();
  if (strcmp(name, "hung") == 0 && i == 2) pause();
  if (strcmp(name, "hung") == 0 && i == 7) return in_list(crashed, "fake::hung/stride/cpu/-/-/v2");
  if (strcmp(name, "slow") == 0) usleep(150000);
  if (strcmp(name, "sleepy") == 0 && i == 2 && !alone) pause();
  if (strcmp(name, "parent") == 0 && i == 2) kill(getppid(), SIGKILL), usleep(1000000);
  if (strcmp(name, "closes") == 0 && i == 2) close(batch.fd), pause();
  if (strcmp(name, "junk") == 0 && i == 2) dprintf(batch.fd, "]]] junk\n"), pause();
  if (strcmp(name, "babble") == 0 && i == 2) dprintf(batch.fd, "]]] junk\n");
  if (strcmp(name, "grandchild") == 0 && i == 2) {
    if (fork() == 0) {
      sleep(30); /* holds the channel open */
      _exit(0);
    }
    raise(SIGFPE);
  }
  for (int line = 0; strcmp(name, "flood") == 0 && line < 20000 && i == 2; line++)
    printf("a line of a noisy operator, number %d\n", line);
  if (strcmp(name, "wild") == 0 && (i == 3 || i == 6)) record("Invalid __global__ write of size 4 bytes");
  if (strcmp(name, "wild") == 0 && i == 8) record("Invalid __global__ read of size 8 bytes");
  if (strcmp(name, "spent") == 0 && (i == 1 || i == 7)) record("Invalid __global__ read of size 4 bytes"), spent = true;
  if (strcmp(name, "after") == 0 && i == 7 && ran[3]) record("Invalid __global__ read of size 4 bytes");
  if (strcmp(name, "hidden") == 0 && i == 2)
    record("Invalid __global__ write of size 4 bytes"), box->crashed = 1, box->signal = SIGSEGV, raise(SIGSEGV);
  if (strcmp(name, "depends") == 0 && i == 7) return ran[3];
  if (strcmp(name, "learns") == 0 && i == 3) box->call_kind = OPC_CALL_KIND_META;
  if (strcmp(name, "learns") == 0 && (i == 2 || i == 3)) raise(SIGSEGV);
  if (strcmp(name, "learns") == 0 && i == 7)
    return json_array_size(crashed) == 1 &&
           strcmp(json_string_value(json_array_get(crashed, 0)), "fake::learns/stride/cpu/-/one/v2") == 0;
  if (strcmp(name, "learns") == 0 && i == 8) raise(SIGSEGV);
  if (strcmp(name, "flaky") == 0 && i == 4) return (*ever)++ == 0;
  if (strcmp(name, "allcrash") == 0) raise(SIGSEGV);
  if (strcmp(name, "twice") == 0 && i < 2 && (*ever)++ < 2) pause();
  if (strcmp(name, "twice") == 0 && i == 3) return true;
  if (strcmp(name, "lies") == 0 && i == 2)
    snprintf(box->case_id, sizeof box->case_id, "no case/at all"), raise(SIGSEGV);
  return false;
}

static int index_of(const json_t *command, const char *key) {
  const char *id = json_string_value(json_object_get(command, key));
  return id != NULL ? id[strlen(id) - 1] - '0' : -1;
}

static void run_cases(const json_t *command) {
  const char *name = strstr(json_string_value(json_object_get(command, "operator")), "::") + 2;
  int only = index_of(command, "only"), after = index_of(command, "after"), from = index_of(command, "from"),
      to = index_of(command, "to"), planned = 0;
  crashed = json_object_get(command, "crashed");
  alone = only >= 0;
  if (strcmp(name, "refused") == 0) {
    say(&batch, json_pack("{s:s, s:s}", "t", "refused", "message", "not today"));
    return;
  }
  for (int i = 0; i < CASES; i++) {
    char id[128];
    const char *check = i < 5 ? "stride" : "alias";
    if ((only >= 0 && i != only) || i <= after || (from >= 0 && i < from) || (to >= 0 && i > to)) continue;
    if (!in_list(json_object_get(command, "checks"), check)) continue;
    snprintf(id, sizeof id, "fake::%s/%s/%s/-/one/v%d", name, check, device, i);
    planned++;
    bool late = json_object_get(command, "out_of_time") != NULL;
    if (late || is_skipped(json_object_get(command, "skip"), check)) {
      say(&batch, json_pack("{s:s, s:s, s:s, s:s, s:n, s:s, s:s, s:{s:b}, s:f}", "t", "result", "case", id, "verdict",
                            "skip", "severity", "error", "rule", "reason", late ? "budget" : "after_crash", "message",
                            "", "evidence", "check_given_up", !late, "seconds", 0.0));
      continue;
    }
    begin(id);
    if (i == only || i == to)
      snprintf(box->input, sizeof box->input, strcmp(name, "abort") == 0 ? "{\"a\":" : "{\"a\":\"%d\"}", i);
    bool wrong = behave(name, i);
    ran[i] = true;
    json_t *evidence = json_object();
    const char *provenance = strcmp(name, "flaky") == 0 ? "searched/same_values" : NULL;
    if (wrong && provenance != NULL)
      json_object_set_new(evidence, "also",
                          json_pack("[{s:s, s:s, s:s}]", "rule", "mutation.undeclared", "message", "x was changed",
                                    "severity", "error"));
    say(&batch, json_pack("{s:s, s:s, s:s, s:s, s:s?, s:n, s:s, s:o, s:s?, s:f}", "t", "result", "case", id, "verdict",
                          wrong ? "fail" : "pass", "severity", "error", "rule", wrong ? "stride.wrong_result" : NULL,
                          "reason", "message", wrong ? "differs" : "same", "evidence", evidence, "standing", provenance,
                          "seconds", 0.001));
    box->running = 0;
    if (strcmp(name, "late") == 0 && i == 5) raise(SIGSEGV);
    if (spent) {
      say(&batch, json_pack("{s:s}", "t", "spent"));
      _exit(0);
    }
  }
  say(&batch, json_pack("{s:s, s:i}", "t", "done", "planned", planned));
}

/* Accepts the third try, and what is tried again in a fresh child. */
static void run_try(const json_t *command) {
  static int tries;
  begin("try");
  bool good = ++tries >= 3 || json_is_true(json_object_get(command, "values"));
  say(&batch,
      json_pack("{s:s, s:s, s:s, s:f, s:[{s:[i], s:s}], s:[], s:b, s:b}", "t", "tried", "outcome",
                good ? "returned" : "rejected", "message", good ? "" : "expected a number", "seconds", 0.0, "returns",
                "shape", 4, "dtype", "float32", "mutated", "effect", good, "depends_on_values", good));
  box->running = 0;
}

static json_t *wait_for(opc_channel_t *channel) {
  for (;;) {
    json_t *message = NULL;
    opc_channel_event_t event = opc_channel_next(channel, &message);
    if (event == OPC_CHANNEL_LINE) return message;
    if (event != OPC_CHANNEL_NOTHING) return NULL;
    usleep(300);
  }
}

static _Noreturn void child(const int fds[3], pid_t parent) {
  prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (getppid() != parent) _exit(1);
  static const int fatal[] = {SIGSEGV, SIGBUS,
                              SIGFPE}; /* a sanitizer's handlers would call them errors of this program */
  for (size_t i = 0; i < sizeof fatal / sizeof *fatal; i++) signal(fatal[i], SIG_DFL);
  batch = (opc_channel_t){.fd = fds[0]};
  box = mmap(NULL, OPC_CRASH_RECORD_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fds[1], 0);
  dup2(fds[2], STDOUT_FILENO);
  setvbuf(stdout, NULL, _IOLBF, 0);
  for (json_t *command; (command = wait_for(&batch)) != NULL;) {
    if (strcmp(json_string_value(json_object_get(command, "t")), "try") == 0) run_try(command);
    else run_cases(command);
  }
  _exit(0);
}

static void describe(const char *library) {
  say(&control, json_pack("{s:s, s:s}", "t", "loaded", "library", library));
  for (size_t i = 0; i < OPERATORS; i++) {
    char name[64], schema[96];
    snprintf(name, sizeof name, "fake::%s", operators[i]);
    snprintf(schema, sizeof schema, "%s(int a) -> int", name);
    say(&control, json_pack("{s:s, s:s, s:s, s:s, s:[{s:s, s:s}], s:[{s:s, s:s}], s:b}", "t", "operator", "name", name,
                            "schema", schema, "library", library, "arguments", "name", "a", "type", "int", "returns",
                            "name", "", "type", "int", "defined_here", 1));
  }
}

static struct {
  pid_t pid;
  json_int_t id;
} children[256];
static size_t child_count;

static void serve_fork(const json_t *command) {
  int fds[3];
  pid_t parent = getpid();
  for (int i = 0; i < 3; i++) fds[i] = opc_channel_take_fd(&control);
  pid_t pid = fork();
  if (pid == 0) {
    close(control.fd);
    setpgid(0, 0);
    child(fds, parent);
  }
  int pidfd = opc_pidfd_open(pid);
  json_int_t id = json_integer_value(json_object_get(command, "child"));
  json_t *message = json_pack("{s:s, s:I, s:i}", "t", "forked", "child", id, "pid", (int)pid);
  opc_error_t error;
  if (opc_channel_send(&control, message, &pidfd, 1, &error) != OPC_OK) _exit(9);
  json_decref(message);
  close(pidfd);
  for (int i = 0; i < 3; i++) close(fds[i]);
  children[child_count].pid = pid;
  children[child_count++].id = id;
}

static void reap(void) {
  int status;
  struct rusage usage;
  for (pid_t pid; (pid = wait4(-1, &status, WNOHANG, &usage)) > 0;) {
    for (size_t i = 0; i < child_count; i++) {
      if (children[i].pid != pid) continue;
      kill(-pid, SIGKILL);
      say(&control, json_pack("{s:s, s:I, s:i, s:I}", "t", "reaped", "child", children[i].id, "status", status,
                              "max_rss_kib", (json_int_t)usage.ru_maxrss));
      children[i] = children[--child_count];
      break;
    }
  }
}

int main(int argc, char **argv) {
  control = (opc_channel_t){.fd = OPC_CONTROL_FD};
  ever = mmap(NULL, sizeof *ever, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  const char *mode = getenv("FAKE_WORKER");
  if (mode == NULL) mode = "";
  say(&control,
      json_pack("{s:s, s:i, s:s, s:s}", "t", "hello", "protocol", OPC_PROTOCOL_VERSION, "torch", "2.11.0", "cuda", ""));
  bool batched = false;
  int first = 1; /* behind "--mode cpu" and the like */
  for (; first + 1 < argc && strncmp(argv[first], "--", 2) == 0; first += 2) {
    batched |= strcmp(argv[first], "--exec-batch") == 0;
    if (strcmp(argv[first], "--mode") == 0) device = argv[first + 1];
  }
  for (int i = first; i < argc; i++) {
    say(&control, json_pack("{s:s, s:s}", "t", "loading", "library", argv[i]));
    if (strstr(argv[i], "exits") != NULL) _exit(3);
    if (strstr(argv[i], "throws") != NULL) {
      say(&control, json_pack("{s:s, s:s}", "t", "terminate", "message", "std::runtime_error: from an initialiser"));
      abort();
    }
    if (strstr(argv[i], "symbol") != NULL) {
      say(&control, json_pack("{s:s, s:s, s:s}", "t", "load_failed", "library", argv[i], "message",
                              "lib.so: undefined symbol: nowhere"));
      continue;
    }
    describe(argv[i]);
  }
  if (strcmp(mode, "dies") == 0) _exit(4);
  say(&control,
      json_pack("{s:s, s:i, s:i, s:b}", "t", "ready", "pid", (int)getpid(), "threads", 1, "cuda_initialised", 0));
  if (batched) {
    const int fds[] = {OPC_BATCH_FD, OPC_BATCH_FD + 1, OPC_BATCH_FD + 2};
    child(fds, getppid());
  }
  for (;;) {
    json_t *command = NULL;
    opc_channel_event_t event = opc_channel_next(&control, &command);
    if (event == OPC_CHANNEL_LINE) serve_fork(command);
    else if (event != OPC_CHANNEL_NOTHING) break;
    else usleep(300);
    json_decref(command);
    reap();
  }
  return 0;
}
