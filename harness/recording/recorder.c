#include "recording/recorder.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "recording/record_folder.h"
#include "recording/record_settings.h"

enum { OPERATOR_SLOTS = 4096 }; /* a power of two; a program has some thousands of operators, most of them not wanted */

struct opc_recorded_operator {
  opc_recorded_operator_t *next; /* of the operators with the same slot */
  char *name, *overload;
  opc_record_row_t *row; /* NULL: not wanted */
  int64_t classes;
};

typedef struct class_slot {
  uint64_t key; /* 0: free */
  uint8_t reason;
} class_slot_t;

static struct recorder {
  char folder[PATH_MAX];
  opc_record_settings_t settings;
  opc_record_counts_t *counts;
  pthread_mutex_t mutex; /* for all below */
  opc_recorded_operator_t *operators[OPERATOR_SLOTS];
  class_slot_t *classes;
  size_t class_count, class_capacity;
  int64_t bytes_left;
  pid_t pid; /* whose file it is */
  long long started;
} recorder = {.mutex = PTHREAD_MUTEX_INITIALIZER};

/* A child of fork must not find the mutex held by a thread that the child does not have. */
static void hold(void) { pthread_mutex_lock(&recorder.mutex); }
static void recorder_release(void) { pthread_mutex_unlock(&recorder.mutex); }

static long long now(void) {
  struct timespec time;
  clock_gettime(CLOCK_REALTIME, &time);
  return (long long)time.tv_sec * 1000000000 + time.tv_nsec;
}

/* A file holds the counts if there is room: they then survive a SIGKILL. Otherwise the process counts in its own
 * memory, and nobody will know the counts. */
static opc_record_counts_t *map_counts(const char *folder) {
  char path[PATH_MAX + 64];
  void *mapped = MAP_FAILED;
  snprintf(path, sizeof path, "%s/" OPC_RECORD_COUNTS "%ld.%lld", folder, (long)getpid(), now());
  int fd = open(path, O_RDWR | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (fd >= 0 && posix_fallocate(fd, 0, sizeof(opc_record_counts_t)) == 0)
    mapped = mmap(NULL, sizeof(opc_record_counts_t), PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (fd >= 0 && mapped == MAP_FAILED) unlink(path);
  if (fd >= 0) close(fd);
  if (mapped == MAP_FAILED)
    mapped = mmap(NULL, sizeof(opc_record_counts_t), PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS, -1, 0);
  if (mapped == MAP_FAILED) return NULL;
  opc_record_counts_t *counts = mapped;
  memcpy(counts->magic, OPC_RECORD_MAGIC, sizeof OPC_RECORD_MAGIC);
  return counts;
}

opc_status_t opc_recorder_start(const char *folder, opc_error_t *error) {
  if (strlen(folder) >= sizeof recorder.folder - 64)
    return opc_error_set(error, OPC_ERR_IO, "the name of the recording's folder is too long");
  OPC_RETURN_IF_ERROR(opc_record_settings_read(folder, &recorder.settings, error));
  strcpy(recorder.folder, folder);
  recorder.counts = map_counts(folder);
  if (!recorder.counts) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for the observer");
  recorder.bytes_left = recorder.settings.size_mib * 1024 * 1024;
  if (pthread_atfork(hold, recorder_release, recorder_release) != 0)
    return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for the observer");
  return OPC_OK;
}

bool opc_recorder_wants_namespace(const char *name) {
  for (size_t i = 0; i < recorder.settings.namespace_count; i++)
    if (strcmp(recorder.settings.namespaces[i], name) == 0) return true;
  return false;
}
const char *opc_recorder_folder(void) { return recorder.folder; }
const char *opc_recorder_values_folder(void) { return recorder.settings.values_folder; }

bool opc_recorder_keeps_values(void) { return recorder.settings.values; }
int64_t opc_recorder_elements(void) { return recorder.settings.elements; }

/* ---- operators ---- */

static uint64_t recorder_hash_of(const char *text, uint64_t hash) {
  for (; *text; text++) hash = (hash ^ (unsigned char)*text) * UINT64_C(0x100000001b3);
  return hash;
}

/* All operators that come too late for a row of their own share the last one. */
static opc_record_row_t *claim_row(const char *name, const char *overload) {
  uint32_t index = atomic_fetch_add(&recorder.counts->used, 1);
  if (index >= OPC_RECORD_ROWS - 1) {
    opc_record_row_t *last = &recorder.counts->rows[OPC_RECORD_ROWS - 1];
    strcpy(last->operator_name, "(other operators)");
    return last;
  }
  opc_record_row_t *row = &recorder.counts->rows[index];
  snprintf(row->operator_name, sizeof row->operator_name, "%s%s%s", name, *overload ? "." : "", overload);
  return row;
}

static opc_recorded_operator_t *operator_new(const char *name, const char *overload, opc_is_operator_t *is_operator) {
  opc_recorded_operator_t *op = calloc(1, sizeof *op);
  if (!op) return NULL;
  op->name = opc_string_copy(name);
  op->overload = opc_string_copy(overload);
  if (op->name && op->overload) {
    if (opc_record_settings_want(&recorder.settings, name, overload) && is_operator(name, overload))
      op->row = claim_row(name, overload);
    return op;
  }
  free(op->name);
  free(op->overload);
  free(op);
  return NULL;
}

opc_recorded_operator_t *opc_recorder_find(const char *name, const char *overload, opc_is_operator_t *is_operator) {
  uint64_t slot = recorder_hash_of(overload, recorder_hash_of(name, UINT64_C(0xcbf29ce484222325))) % OPERATOR_SLOTS;
  hold();
  opc_recorded_operator_t *op = recorder.operators[slot];
  while (op && (strcmp(op->name, name) != 0 || strcmp(op->overload, overload) != 0)) op = op->next;
  if (!op && (op = operator_new(name, overload, is_operator))) {
    op->next = recorder.operators[slot];
    recorder.operators[slot] = op;
  }
  recorder_release();
  return op && op->row ? op : NULL;
}

void opc_recorder_seen(opc_recorded_operator_t *op) {
  atomic_fetch_add_explicit(&op->row->seen, 1, memory_order_relaxed);
}

void opc_recorder_count(opc_recorded_operator_t *op, opc_reason_t reason) {
  atomic_fetch_add_explicit(&op->row->left_out[reason], 1, memory_order_relaxed);
}

/* ---- classes of calls ---- */

static uint64_t class_key(const opc_recorded_operator_t *op, uint64_t class_) {
  uint64_t key = recorder_hash_of(op->overload, recorder_hash_of(op->name, class_ ^ UINT64_C(0xcbf29ce484222325)));
  return key ? key : 1;
}

static class_slot_t *class_slot(class_slot_t *slots, size_t capacity, uint64_t key) {
  size_t at = (size_t)key & (capacity - 1);
  while (slots[at].key && slots[at].key != key) at = (at + 1) & (capacity - 1);
  return &slots[at];
}

static bool classes_grow(void) {
  if (recorder.class_count * 2 < recorder.class_capacity) return true;
  size_t capacity = recorder.class_capacity ? recorder.class_capacity * 2 : 256;
  class_slot_t *grown = calloc(capacity, sizeof *grown);
  if (!grown) return false;
  for (size_t i = 0; i < recorder.class_capacity; i++)
    if (recorder.classes[i].key) *class_slot(grown, capacity, recorder.classes[i].key) = recorder.classes[i];
  free(recorder.classes);
  recorder.classes = grown;
  recorder.class_capacity = capacity;
  return true;
}

bool opc_recorder_claim(opc_recorded_operator_t *op, uint64_t class_) {
  const uint64_t key = class_key(op, class_);
  opc_reason_t reason = OPC_REASON_NONE;
  bool fresh = false;
  hold();
  class_slot_t *slot = recorder.class_capacity ? class_slot(recorder.classes, recorder.class_capacity, key) : NULL;
  if (slot && slot->key) reason = (opc_reason_t)slot->reason;
  else if (op->classes >= recorder.settings.calls) reason = OPC_REASON_OPERATOR_LIMIT;
  else if ((int64_t)recorder.class_count >= recorder.settings.total) reason = OPC_REASON_TOTAL_LIMIT;
  else if (!classes_grow()) reason = OPC_REASON_TROUBLE;
  else {
    *class_slot(recorder.classes, recorder.class_capacity, key) = (class_slot_t){.key = key};
    recorder.class_count++;
    op->classes++;
    fresh = true;
  }
  recorder_release();
  if (reason != OPC_REASON_NONE) opc_recorder_count(op, reason);
  if (fresh) atomic_fetch_add_explicit(&op->row->distinct, 1, memory_order_relaxed);
  return fresh;
}

void opc_recorder_leave(opc_recorded_operator_t *op, uint64_t class_, opc_reason_t reason) {
  hold();
  class_slot_t *slot = class_slot(recorder.classes, recorder.class_capacity, class_key(op, class_));
  if (slot->key) slot->reason = (uint8_t)reason;
  recorder_release();
  opc_recorder_count(op, reason);
}

/* ---- the file ---- */

bool opc_recorder_take_bytes(size_t bytes) {
  hold();
  bool enough = bytes <= (size_t)INT64_MAX && (int64_t)bytes <= recorder.bytes_left;
  if (enough) recorder.bytes_left -= (int64_t)bytes;
  recorder_release();
  return enough;
}

static int open_calls(void) {
  char path[PATH_MAX + 64];
  hold();
  if (recorder.pid != getpid()) {
    recorder.pid = getpid();
    recorder.started = now();
  }
  snprintf(path, sizeof path, "%s/" OPC_RECORD_CALLS "%ld.%lld", recorder.folder, (long)recorder.pid, recorder.started);
  recorder_release();
  return open(path, O_WRONLY | O_APPEND | O_CREAT | O_CLOEXEC, 0600);
}

/* One write, so that lines of other threads come before or after it. The empty line separates an unfinished line from
 * the next. */
static bool recorder_write_line(const opc_text_t *line) {
  int fd = open_calls();
  if (fd < 0) return false;
  ssize_t written = write(fd, line->data, line->length);
  return close(fd) == 0 && written == (ssize_t)line->length;
}

void opc_recorder_write(opc_recorded_operator_t *op, uint64_t class_, const opc_text_t *sample) {
  opc_text_t line = {0};
  opc_reason_t reason = OPC_REASON_NONE;
  opc_text_addf(&line, "\n{\"class\": \"%016llx\", \"sample\": ", (unsigned long long)class_key(op, class_));
  opc_text_add_bytes(&line, opc_text_c(sample), sample->length);
  opc_text_add(&line, "}\n");
  if (sample->failed || line.failed) reason = OPC_REASON_TROUBLE;
  else if (!opc_recorder_take_bytes(line.length)) reason = OPC_REASON_SIZE_LIMIT;
  else if (!recorder_write_line(&line)) reason = OPC_REASON_WRITE;
  opc_text_clear(&line);
  if (reason != OPC_REASON_NONE) opc_recorder_leave(op, class_, reason);
  else atomic_fetch_add_explicit(&op->row->written, 1, memory_order_relaxed);
}
