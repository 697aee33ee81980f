#include "recording/merge_recordings.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <ftw.h>
#include <jansson.h>
#include <limits.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording/record_folder.h"

/* A line of a calls file that becomes a sample. Texts stay in the files until they are written: there may be
 * gigabytes. */
typedef struct entry {
  char *name;
  uint64_t class_, content;
  size_t file, order;
  long offset;
} entry_t;

typedef struct gathering {
  const char *folder, *output;
  const opc_record_settings_t *settings;
  struct dirent **files;
  size_t file_count;
  entry_t *entries;
  size_t count;
  opc_recordings_t *out;
  opc_error_t *error;
} gathering_t;

static FILE *open_in(const gathering_t *gathering, size_t file) {
  char path[PATH_MAX];
  int length = snprintf(path, sizeof path, "%s/%s", gathering->folder, gathering->files[file]->d_name);
  return length > 0 && (size_t)length < sizeof path ? fopen(path, "rbe") : NULL;
}

static opc_recordings_operator_t *find_operator(gathering_t *gathering, const char *name) {
  opc_recordings_t *out = gathering->out;
  for (size_t i = 0; i < out->operator_count; i++)
    if (strcmp(out->operators[i].name, name) == 0) return &out->operators[i];
  if (!OPC_ARRAY_GROW(out->operators, out->operator_count)) return NULL;
  out->operators[out->operator_count] = (opc_recordings_operator_t){.name = opc_string_copy(name)};
  return out->operators[out->operator_count].name ? &out->operators[out->operator_count++] : NULL;
}

/* ---- counts and troubles ---- */

static opc_status_t gather_counts(gathering_t *gathering, FILE *file) {
  OPC_SCOPED(opc_scope_free) opc_record_counts_t *counts = malloc(sizeof *counts);
  if (!counts) return opc_out_of_memory(gathering->error);
  if (fread(counts, sizeof *counts, 1, file) != 1 || strcmp(counts->magic, OPC_RECORD_MAGIC) != 0) return OPC_OK;
  gathering->out->processes++;
  for (size_t i = 0; i < OPC_RECORD_ROWS; i++) {
    opc_record_row_t *row = &counts->rows[i];
    row->operator_name[OPC_RECORD_NAME - 1] = '\0';
    if (!row->operator_name[0]) continue;
    opc_recordings_operator_t *op = find_operator(gathering, row->operator_name);
    if (!op) return opc_out_of_memory(gathering->error);
    op->seen += atomic_load(&row->seen);
    for (size_t r = 0; r < OPC_REASON_COUNT; r++) op->left_out[r] += atomic_load(&row->left_out[r]);
  }
  return OPC_OK;
}

static void gather_trouble(gathering_t *gathering, FILE *file) {
  char trouble[2048];
  size_t length = fread(trouble, 1, sizeof trouble - 1, file);
  trouble[length] = '\0';
  for (size_t i = 0; i < length; i++)
    if (trouble[i] == '\n') trouble[i] = ' ';
  if (!length || strstr(opc_text_c(&gathering->out->troubles), trouble)) return;
  opc_text_addf(&gathering->out->troubles, "%s\n", trouble);
}

/* ---- calls ---- */

static uint64_t content_hash(json_t *sample) {
  json_t *bare = json_copy(sample);
  if (bare) json_object_del(bare, "recorded");
  char *text = bare ? json_dumps(bare, JSON_COMPACT | JSON_SORT_KEYS) : NULL;
  uint64_t hash = UINT64_C(0xcbf29ce484222325);
  for (const char *at = text; at && *at; at++) hash = (hash ^ (unsigned char)*at) * UINT64_C(0x100000001b3);
  free(text);
  json_decref(bare);
  return hash;
}

static opc_status_t gather_line(gathering_t *gathering, const char *line, size_t file, long offset) {
  json_auto_t *json = json_loads(line, JSON_REJECT_DUPLICATES, NULL);
  json_t *sample = json_object_get(json, "sample");
  const char *class_ = json_string_value(json_object_get(json, "class")),
             *name = json_string_value(json_object_get(sample, "operator"));
  if (!class_ || !name) {
    gathering->out->damaged++;
    return OPC_OK;
  }
  char *copy = OPC_ARRAY_GROW(gathering->entries, gathering->count) ? opc_string_copy(name) : NULL;
  if (!copy) return opc_out_of_memory(gathering->error);
  gathering->entries[gathering->count] = (entry_t){.name = copy,
                                                   .class_ = strtoull(class_, NULL, 16),
                                                   .content = content_hash(sample),
                                                   .file = file,
                                                   .order = gathering->count,
                                                   .offset = offset};
  gathering->count++;
  return OPC_OK;
}

static opc_status_t gather_calls(gathering_t *gathering, FILE *stream, size_t file) {
  OPC_SCOPED(opc_scope_free) char *line = NULL;
  size_t capacity = 0;
  ssize_t length;
  for (long offset = 0; (length = getline(&line, &capacity, stream)) > 0; offset = ftell(stream))
    if (length > 1) OPC_RETURN_IF_ERROR(gather_line(gathering, line, file, offset));
  return OPC_OK;
}

/* In the order in which the processes began: the part of a name after its last point is the time. */
static int by_time(const struct dirent **left, const struct dirent **right) {
  const char *times[2] = {strrchr((*left)->d_name, '.'), strrchr((*right)->d_name, '.')};
  unsigned long long numbers[2];
  for (int i = 0; i < 2; i++) numbers[i] = times[i] ? strtoull(times[i] + 1, NULL, 10) : 0;
  return numbers[0] < numbers[1] ? -1 : numbers[0] > numbers[1];
}

static opc_status_t merge_recordings_gather(gathering_t *gathering) {
  int found = scandir(gathering->folder, &gathering->files, NULL, by_time);
  if (found < 0)
    return opc_error_set(gathering->error, OPC_ERR_IO, "cannot read %s: %s", gathering->folder, strerror(errno));
  gathering->file_count = (size_t)found;
  for (size_t i = 0; i < gathering->file_count; i++) {
    const char *name = gathering->files[i]->d_name;
    bool calls = opc_string_begins(name, OPC_RECORD_CALLS), counts = opc_string_begins(name, OPC_RECORD_COUNTS),
         trouble = opc_string_begins(name, OPC_RECORD_TROUBLE);
    OPC_SCOPED(opc_scope_fclose) FILE *file = calls || counts || trouble ? open_in(gathering, i) : NULL;
    if (!file) continue;
    if (calls) OPC_RETURN_IF_ERROR(gather_calls(gathering, file, i));
    if (counts) OPC_RETURN_IF_ERROR(gather_counts(gathering, file));
    if (trouble) gather_trouble(gathering, file);
  }
  return OPC_OK;
}

/* ---- what is kept ---- */

static int by_content(const void *left, const void *right) {
  const entry_t *a = left, *b = right;
  int names = strcmp(a->name, b->name);
  if (names) return names;
  if (a->content != b->content) return a->content < b->content ? -1 : 1;
  return a->order < b->order ? -1 : 1;
}

static int by_class(const void *left, const void *right) {
  const entry_t *a = left, *b = right;
  int names = strcmp(a->name, b->name);
  if (names) return names;
  if (a->class_ != b->class_) return a->class_ < b->class_ ? -1 : 1;
  return a->order < b->order ? -1 : 1;
}

static int by_order(const void *left, const void *right) {
  const entry_t *a = left, *b = right;
  int names = strcmp(a->name, b->name);
  return names ? names : a->order < b->order ? -1 : 1;
}

/* Drops each entry that `same` reports as a repetition of the one before it. */
static void merge_recordings_drop(gathering_t *gathering, int (*order)(const void *, const void *),
                                  bool (*same)(const entry_t *, const entry_t *)) {
  size_t kept = 0;
  if (gathering->count) qsort(gathering->entries, gathering->count, sizeof(entry_t), order);
  for (size_t i = 0; i < gathering->count; i++) {
    if (kept && same(&gathering->entries[kept - 1], &gathering->entries[i])) free(gathering->entries[i].name);
    else gathering->entries[kept++] = gathering->entries[i];
  }
  gathering->count = kept;
}

static bool same_content(const entry_t *a, const entry_t *b) {
  return a->content == b->content && strcmp(a->name, b->name) == 0;
}
static bool same_class(const entry_t *a, const entry_t *b) {
  return a->class_ == b->class_ && strcmp(a->name, b->name) == 0;
}

/* Processes know nothing about each other. Each one kept to the limits, but all together may exceed them. */
static opc_status_t apply_limits(gathering_t *gathering) {
  size_t kept = 0;
  opc_status_t status = OPC_OK;
  merge_recordings_drop(gathering, by_class, same_class);
  merge_recordings_drop(gathering, by_content, same_content);
  if (gathering->count) qsort(gathering->entries, gathering->count, sizeof(entry_t), by_order);
  for (size_t i = 0; i < gathering->count; i++) {
    entry_t *entry = &gathering->entries[i];
    opc_recordings_operator_t *op = find_operator(gathering, entry->name);
    if (!op) status = opc_out_of_memory(gathering->error);
    bool too_many = op && (int64_t)op->written >= gathering->settings->calls,
         full = (int64_t)kept >= gathering->settings->total;
    if (op && !too_many && !full) {
      op->written++;
      gathering->entries[kept++] = *entry;
      continue;
    }
    if (op) op->left_out[too_many ? OPC_REASON_OPERATOR_LIMIT : OPC_REASON_TOTAL_LIMIT]++;
    free(entry->name);
  }
  gathering->count = kept;
  gathering->out->samples = kept;
  return status;
}

/* ---- writing ---- */

/* Moves the files that a sample names from the recording's folder to the place that the sample gives. */
static bool move_values(const gathering_t *gathering, const json_t *json) {
  const char *key;
  json_t *value;
  size_t index;
  bool fine = true;
  if (json_is_array(json)) {
    json_array_foreach(json, index, value) fine &= move_values(gathering, value);
  } else if (json_is_object(json)) {
    json_object_foreach((json_t *)(uintptr_t)json, key, value) {
      char from[PATH_MAX], folder[PATH_MAX], to[PATH_MAX + 256];
      const char *name = (strcmp(key, "file") == 0 || strcmp(key, "pickle") == 0) && json_is_string(value)
                             ? strrchr(json_string_value(value), '/')
                             : NULL;
      if (!name) {
        fine &= move_values(gathering, value);
        continue;
      }
      snprintf(from, sizeof from, "%.*s/" OPC_RECORD_VALUES "%.200s", PATH_MAX - 256, gathering->folder, name);
      snprintf(folder, sizeof folder, "%.*s.values", PATH_MAX - 16, gathering->output);
      snprintf(to, sizeof to, "%s%.200s", folder, name);
      if (mkdir(folder, 0777) != 0 && errno != EEXIST) fine = false;
      if (rename(from, to) != 0 && access(to, R_OK) != 0) fine = false;
    }
  }
  return fine;
}

/* The text as the observer wrote it, numbers in their shortest form: {"class": …, "sample": TEXT}. */
static char *sample_text(char *line) {
  static const char before[] = "\"sample\": ";
  char *text = strstr(line, before), *end = strrchr(line, '}');
  if (!text || !end) return NULL;
  *end = '\0';
  return text + strlen(before);
}

static opc_status_t write_entry(const gathering_t *gathering, const entry_t *entry, FILE *to, bool first) {
  OPC_SCOPED(opc_scope_fclose) FILE *stream = open_in(gathering, entry->file);
  OPC_SCOPED(opc_scope_free) char *line = NULL;
  size_t capacity = 0;
  json_auto_t *json = NULL;
  if (stream && fseek(stream, entry->offset, SEEK_SET) == 0 && getline(&line, &capacity, stream) > 0)
    json = json_loads(line, 0, NULL);
  json_t *sample = json_object_get(json, "sample");
  const char *text = sample ? sample_text(line) : NULL;
  if (!text) return opc_error_set(gathering->error, OPC_ERR_IO, "cannot read %s again", gathering->folder);
  if (!move_values(gathering, sample))
    return opc_error_set(gathering->error, OPC_ERR_IO, "cannot write the values beside %s: %s", gathering->output,
                         strerror(errno));
  fprintf(to, "%s\n  %s", first ? "" : ",", text);
  return OPC_OK;
}

static opc_status_t merge_recordings_cannot_write(const gathering_t *gathering) {
  return opc_error_set(gathering->error, OPC_ERR_IO, "cannot write %s: %s", gathering->output, strerror(errno));
}

static opc_status_t merge_recordings_write_all(const gathering_t *gathering, FILE *to) {
  fputs("{\"format\": \"opcheck-c/samples/1\", \"samples\": [", to);
  for (size_t i = 0; i < gathering->count; i++)
    OPC_RETURN_IF_ERROR(write_entry(gathering, &gathering->entries[i], to, i == 0));
  fputs("\n]}\n", to);
  return fflush(to) == 0 && !ferror(to) ? OPC_OK : merge_recordings_cannot_write(gathering);
}

static opc_status_t write_output(const gathering_t *gathering) {
  struct stat there;
  bool plain = stat(gathering->output, &there) != 0 || S_ISREG(there.st_mode); /* pipes and devices are not replaced */
  OPC_SCOPED(opc_scope_free) char *target = plain ? realpath(gathering->output, NULL) : NULL;
  OPC_SCOPED(opc_scope_free)
  char *beside = plain ? opc_string_format("%s.tmp-%ld", target ? target : gathering->output, (long)getpid())
                       : opc_string_copy(gathering->output);
  if (!beside) return opc_out_of_memory(gathering->error);
  FILE *to = fopen(beside, plain ? "wbxe" : "wbe");
  if (!to) return merge_recordings_cannot_write(gathering);
  opc_status_t status = merge_recordings_write_all(gathering, to);
  if (fclose(to) != 0 && !status) status = merge_recordings_cannot_write(gathering);
  OPC_SCOPED(opc_stale_values_clear) opc_stale_values_t before = {0}, after = {0};
  if (!status && target) before = opc_stale_values_of(target);
  if (!status && plain && rename(beside, target ? target : gathering->output) != 0)
    status = merge_recordings_cannot_write(gathering);
  if (status != OPC_OK) {
    if (plain) unlink(beside);
    return status;
  }
  if (before.count) {
    after = opc_stale_values_of(target);
    opc_stale_values_remove(&before, &after, gathering->output);
  }
  return OPC_OK;
}

/* ---- the whole ---- */

static int merge_recordings_by_name(const void *left, const void *right) {
  return strcmp(((const opc_recordings_operator_t *)left)->name, ((const opc_recordings_operator_t *)right)->name);
}

static void gathering_clear(gathering_t *gathering) {
  for (size_t i = 0; i < gathering->count; i++) free(gathering->entries[i].name);
  for (size_t i = 0; i < gathering->file_count; i++) free(gathering->files[i]);
  free(gathering->files);
  free(gathering->entries);
}

opc_status_t opc_recordings_merge(const char *folder, const char *output, const opc_record_settings_t *settings,
                                  opc_recordings_t *out, opc_error_t *error) {
  OPC_SCOPED(gathering_clear)
  gathering_t gathering = {.folder = folder, .output = output, .settings = settings, .out = out, .error = error};
  *out = (opc_recordings_t){0};
  OPC_RETURN_IF_ERROR(merge_recordings_gather(&gathering));
  OPC_RETURN_IF_ERROR(apply_limits(&gathering));
  if (gathering.count) OPC_RETURN_IF_ERROR(write_output(&gathering));
  if (out->operator_count) qsort(out->operators, out->operator_count, sizeof *out->operators, merge_recordings_by_name);
  return OPC_OK;
}

void opc_recordings_clear(opc_recordings_t *recordings) {
  for (size_t i = 0; i < recordings->operator_count; i++) free(recordings->operators[i].name);
  free(recordings->operators);
  opc_text_clear(&recordings->troubles);
  *recordings = (opc_recordings_t){0};
}

static int merge_recordings_remove_one(const char *path, const struct stat *status, int type, struct FTW *walk) {
  (void)status;
  (void)type;
  (void)walk;
  (void)remove(path);
  return 0;
}

void opc_record_folder_remove(const char *folder) {
  (void)nftw(folder, merge_recordings_remove_one, 8, FTW_DEPTH | FTW_PHYS);
}
