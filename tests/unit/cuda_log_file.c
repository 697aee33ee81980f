/* Reads logs that are stored as files. */
#include <stdlib.h>
#include <string.h>

#include "cuda_log_file.h"
#include "model/json/json_read.h"

/* One member of an object: does nothing if it is missing, or after an earlier error. */
typedef struct members {
  opc_json_reader_t *reader;
  const json_t *object;
  opc_status_t status;
} members_t;

static const json_t *member(members_t *members, const char *key) {
  return members->status == OPC_OK ? json_object_get(members->object, key) : NULL;
}

static void get_integer(members_t *members, const char *key, int64_t lowest, int64_t *out) {
  const json_t *value = member(members, key);
  if (!value) return;
  size_t before = opc_json_enter(members->reader, key);
  members->status = opc_json_read_integer(members->reader, value, lowest, out);
  if (members->status == OPC_OK) opc_json_leave(members->reader, before);
}

static void get_int(members_t *members, const char *key, int *out) {
  int64_t value = *out;
  get_integer(members, key, -1, &value);
  *out = (int)value;
}

static void get_boolean(members_t *members, const char *key, bool *out) {
  const json_t *value = member(members, key);
  if (!value) return;
  size_t before = opc_json_enter(members->reader, key);
  members->status = opc_json_read_boolean(members->reader, value, out);
  if (members->status == OPC_OK) opc_json_leave(members->reader, before);
}

static void get_string(members_t *members, const char *key, const char **out) {
  const json_t *value = member(members, key);
  if (!value) return;
  size_t before = opc_json_enter(members->reader, key);
  members->status = opc_json_read_string(members->reader, value, out);
  if (members->status == OPC_OK) opc_json_leave(members->reader, before);
}

/* Addresses and handles are "0x…": some do not fit into JSON's numbers. */
static opc_status_t hex_read(opc_json_reader_t *reader, const json_t *json, uint64_t *out) {
  const char *text = "";
  char *end = NULL;
  opc_status_t status = opc_json_read_string(reader, json, &text);
  if (status != OPC_OK) return status;
  *out = strtoull(text, &end, 16);
  if (strncmp(text, "0x", 2) == 0 && end > text + 2 && *end == '\0') return OPC_OK;
  return opc_json_fail(reader, "expected a number as \"0x…\", not \"%s\"", text);
}

static void get_hex(members_t *members, const char *key, uint64_t *out) {
  const json_t *value = member(members, key);
  if (!value) return;
  size_t before = opc_json_enter(members->reader, key);
  members->status = hex_read(members->reader, value, out);
  if (members->status == OPC_OK) opc_json_leave(members->reader, before);
}

static void get_word(members_t *members, const char *key, const char *const *words, size_t count, unsigned *out) {
  const char *text = NULL;
  get_string(members, key, &text);
  for (size_t i = 0; text && i < count; i++) {
    if (strcmp(words[i], text) != 0) continue;
    *out = (unsigned)i;
    return;
  }
  if (!text) return;
  opc_json_enter(members->reader, key);
  members->status = opc_json_fail(members->reader, "\"%s\" is not one of its words", text);
}

static void get_extent(members_t *members, const char *key, uint32_t out[3]) {
  const json_t *list = member(members, key);
  if (!list) return;
  size_t before = opc_json_enter(members->reader, key);
  if (json_array_size(list) != 3) {
    members->status = opc_json_fail(members->reader, "expected a list of three numbers");
    return;
  }
  for (size_t i = 0; i < 3 && members->status == OPC_OK; i++) {
    int64_t value = 0;
    members->status = opc_json_read_integer(members->reader, json_array_get(list, i), 0, &value);
    out[i] = (uint32_t)value;
  }
  if (members->status == OPC_OK) opc_json_leave(members->reader, before);
}

static opc_status_t address_read(opc_json_reader_t *reader, const json_t *json, opc_cuda_address_t *out,
                                 bool *out_alone) {
  static const char *const fields[] = {"at", "place", "device", "allocation", "alone", NULL};
  members_t members = {.reader = reader, .object = json, .status = opc_json_check_fields(reader, json, fields)};
  unsigned place = OPC_CUDA_NOWHERE;
  *out = (opc_cuda_address_t){.device = -1};
  get_hex(&members, "at", &out->value);
  get_word(&members, "place", opc_cuda_place_names, OPC_CUDA_PLACES, &place);
  out->place = (opc_cuda_place_t)place;
  if (place == OPC_CUDA_DEVICE || place == OPC_CUDA_FREED) out->device = 0;
  get_int(&members, "device", &out->device);
  get_hex(&members, "allocation", &out->allocation);
  get_boolean(&members, "alone", out_alone);
  return members.status;
}

static void get_address(members_t *members, const char *key, opc_cuda_address_t *out) {
  const json_t *value = member(members, key);
  bool alone = false;
  out->device = -1;
  if (!value) return;
  size_t before = opc_json_enter(members->reader, key);
  members->status = address_read(members->reader, value, out, &alone);
  if (members->status == OPC_OK) opc_json_leave(members->reader, before);
}

static void get_pointers(members_t *members, opc_cuda_call_t *out) {
  const json_t *list = member(members, "pointers");
  if (!list) return;
  size_t before = opc_json_enter(members->reader, "pointers");
  out->parameters_known = true;
  if (json_array_size(list) > OPC_CUDA_POINTERS)
    members->status = opc_json_fail(members->reader, "expected at most %d of them", OPC_CUDA_POINTERS);
  for (size_t i = 0; i < json_array_size(list) && members->status == OPC_OK; i++) {
    size_t item = opc_json_enter_index(members->reader, i);
    members->status = address_read(members->reader, json_array_get(list, i), &out->pointers[i], &out->alone[i]);
    if (members->status == OPC_OK) opc_json_leave(members->reader, item);
    out->pointer_count = i + 1;
  }
  if (members->status == OPC_OK) opc_json_leave(members->reader, before);
}

static void get_numbers(members_t *members, opc_cuda_call_t *out) {
  static const char *const fields[] = {"parameter", "value", NULL};
  const json_t *list = member(members, "numbers");
  int64_t parameters = 0;
  if (!list) return;
  get_integer(members, "parameters", 1, &parameters);
  out->parameter_count = (uint32_t)parameters;
  if (members->status != OPC_OK) return;
  size_t before = opc_json_enter(members->reader, "numbers");
  if (json_array_size(list) > OPC_CUDA_NUMBERS)
    members->status = opc_json_fail(members->reader, "expected at most %d of them", OPC_CUDA_NUMBERS);
  for (size_t i = 0; i < json_array_size(list) && members->status == OPC_OK; i++) {
    size_t item = opc_json_enter_index(members->reader, i);
    const json_t *json = json_array_get(list, i);
    members_t number = {
        .reader = members->reader, .object = json, .status = opc_json_check_fields(members->reader, json, fields)};
    int64_t parameter = 0, value = 0;
    get_integer(&number, "parameter", 0, &parameter);
    get_integer(&number, "value", 0, &value);
    out->numbers[i] = (opc_cuda_number_t){.parameter = (uint32_t)parameter, .value = (uint32_t)value};
    out->number_count = i + 1;
    members->status = number.status;
    if (members->status == OPC_OK) opc_json_leave(members->reader, item);
  }
  if (members->status == OPC_OK) opc_json_leave(members->reader, before);
}

static opc_status_t call_read(opc_json_reader_t *reader, const json_t *json, opc_cuda_call_t *out) {
  static const char *const fields[] = {
      "kind",    "function",       "library",   "caller",      "thread",        "device",
      "code",    "injected",       "stream",    "stream_kind", "stream_device", "captured",
      "kernel",  "kernel_library", "grid",      "block",       "shared",        "cooperative",
      "by_stub", "pointers",       "to",        "from",        "bytes",         "synchronous",
      "event",   "value",          "unwrapped", "numbers",     "parameters",    NULL};
  static const char *const kinds[] = {
#define OPC_CUDA_KIND(name, word, what) word,
#include "cuda/log/cuda_call.def"
  };
  members_t members = {.reader = reader, .object = json, .status = opc_json_check_fields(reader, json, fields)};
  unsigned kind = OPC_CUDA_KIND_COUNT, stream_kind = OPC_CUDA_STREAM_LEGACY;
  int64_t thread = 0, shared = 0, bytes = 0;
  *out = (opc_cuda_call_t){.function = "", .library = "", .kernel = "", .kernel_library = "", .stream_device = -1};
  get_word(&members, "kind", kinds, OPC_CUDA_KIND_COUNT, &kind);
  if (members.status == OPC_OK && kind == OPC_CUDA_KIND_COUNT)
    members.status = opc_json_fail(reader, "a call needs a kind");
  out->kind = (opc_cuda_kind_t)kind;
  get_string(&members, "function", &out->function);
  get_string(&members, "library", &out->library);
  get_hex(&members, "caller", &out->caller);
  get_integer(&members, "thread", 0, &thread);
  get_int(&members, "device", &out->device);
  get_int(&members, "code", &out->code);
  get_boolean(&members, "injected", &out->injected);
  get_boolean(&members, "unwrapped", &out->unwrapped);
  get_hex(&members, "stream", &out->stream);
  get_word(&members, "stream_kind", opc_cuda_stream_names, OPC_CUDA_STREAM_KINDS, &stream_kind);
  get_int(&members, "stream_device", &out->stream_device);
  get_boolean(&members, "captured", &out->captured);
  get_string(&members, "kernel", &out->kernel);
  get_string(&members, "kernel_library", &out->kernel_library);
  get_extent(&members, "grid", out->grid);
  get_extent(&members, "block", out->block);
  get_integer(&members, "shared", 0, &shared);
  get_boolean(&members, "cooperative", &out->cooperative);
  get_boolean(&members, "by_stub", &out->by_stub);
  get_pointers(&members, out);
  get_numbers(&members, out);
  get_address(&members, "to", &out->to);
  get_address(&members, "from", &out->from);
  get_integer(&members, "bytes", 0, &bytes);
  get_boolean(&members, "synchronous", &out->synchronous);
  get_hex(&members, "event", &out->event);
  get_int(&members, "value", &out->value);
  out->thread = (uint32_t)thread;
  out->stream_kind = (opc_cuda_stream_kind_t)stream_kind;
  out->shared = (uint64_t)shared;
  out->bytes = (uint64_t)bytes;
  return members.status;
}

static opc_status_t calls_read(opc_json_reader_t *reader, const json_t *object, opc_cuda_round_t *out) {
  members_t members = {.reader = reader, .object = object, .status = OPC_OK};
  int64_t calls = 1, bytes = 0, dropped = 0;
  get_integer(&members, "operator_calls", 1, &calls);
  get_integer(&members, "tensor_bytes", 0, &bytes);
  get_integer(&members, "dropped", 0, &dropped);
  if (members.status != OPC_OK) return members.status;
  const json_t *list = json_object_get(object, "calls");
  size_t before = opc_json_enter(reader, "calls");
  if (!json_is_array(list)) return opc_json_fail(reader, "expected the list of calls");
  *out = (opc_cuda_round_t){
      .operator_calls = (uint64_t)calls, .tensor_bytes = (uint64_t)bytes, .dropped = (size_t)dropped};
  out->calls = calloc(json_array_size(list) + 1, sizeof *out->calls);
  if (!out->calls) return opc_error_set(reader->error, OPC_ERR_MEMORY, "out of memory for a log");
  for (; out->count < json_array_size(list); out->count++) {
    size_t item = opc_json_enter_index(reader, out->count);
    opc_status_t status = call_read(reader, json_array_get(list, out->count), &out->calls[out->count]);
    if (status != OPC_OK) return status;
    opc_json_leave(reader, item);
  }
  opc_json_leave(reader, before);
  return OPC_OK;
}

static opc_status_t rounds_read(opc_json_reader_t *reader, opc_cuda_file_t *out) {
  static const char *const fields[] = {"operator_calls", "tensor_bytes", "dropped", "calls", NULL};
  const json_t *rounds = json_object_get(out->json, "rounds");
  size_t count = rounds ? json_array_size(rounds) : 1;
  out->rounds = calloc(count + 1, sizeof *out->rounds);
  if (!out->rounds) return opc_error_set(reader->error, OPC_ERR_MEMORY, "out of memory for a log");
  out->round_count = 1;
  if (!rounds) return calls_read(reader, out->json, &out->rounds[0]);
  for (out->round_count = 0; out->round_count < count;) {
    const json_t *round = json_array_get(rounds, out->round_count);
    size_t before = opc_json_enter(reader, "rounds");
    opc_json_enter_index(reader, out->round_count);
    opc_status_t status = opc_json_check_fields(reader, round, fields);
    if (status == OPC_OK) status = calls_read(reader, round, &out->rounds[out->round_count++]);
    if (status != OPC_OK) return status;
    opc_json_leave(reader, before);
  }
  return OPC_OK;
}

/* The context is the list of own libraries. */
static opc_cuda_owner_t owner_in_list(const char *library, const void *context) {
  const json_t *own = context, *name;
  size_t i;
  json_array_foreach((json_t *)own, i, name) {
    if (json_is_string(name) && strcmp(json_string_value(name), library) == 0) return OPC_CUDA_OF_OWN;
  }
  return opc_cuda_owner_of_file(library);
}

static opc_status_t lasting_read(opc_json_reader_t *reader, const json_t *list, opc_cuda_file_t *out) {
  size_t before = opc_json_enter(reader, "lasting");
  out->lasting = calloc(json_array_size(list) + 1, sizeof *out->lasting);
  if (!out->lasting) return opc_error_set(reader->error, OPC_ERR_MEMORY, "out of memory for a log");
  for (size_t i = 0; i < json_array_size(list); i++) {
    opc_status_t status = hex_read(reader, json_array_get(list, i), &out->lasting[i]);
    if (status != OPC_OK) return status;
  }
  out->facts.lasting = out->lasting;
  out->facts.lasting_count = json_array_size(list);
  opc_json_leave(reader, before);
  return OPC_OK;
}

static opc_status_t counts_read(opc_json_reader_t *reader, const json_t *list, opc_cuda_file_t *out) {
  static const char *const fields[] = {"of", "is", NULL};
  size_t before = opc_json_enter(reader, "counts");
  out->counts = calloc(json_array_size(list) + 1, sizeof *out->counts);
  if (!out->counts) return opc_error_set(reader->error, OPC_ERR_MEMORY, "out of memory for a log");
  for (size_t i = 0; i < json_array_size(list); i++) {
    const json_t *json = json_array_get(list, i);
    members_t count = {.reader = reader, .object = json, .status = opc_json_check_fields(reader, json, fields)};
    const char *of = "";
    get_string(&count, "of", &of);
    get_integer(&count, "is", 0, &out->counts[i].number);
    if (count.status != OPC_OK) return count.status;
    snprintf(out->counts[i].of, sizeof out->counts[i].of, "%s", of);
  }
  out->facts.counts = out->counts;
  out->facts.count_count = json_array_size(list);
  opc_json_leave(reader, before);
  return OPC_OK;
}

static opc_status_t facts_read(opc_json_reader_t *reader, opc_cuda_file_t *out) {
  static const char *const fields[] = {"device", "stream", "device_before", "device_after", "last_error", "returned",
                                       "empty",  "large",  "simulated",     "lasting",      "counts",     NULL};
  opc_cuda_facts_t *facts = &out->facts;
  members_t members = {.reader = reader, .object = json_object_get(out->json, "facts")};
  size_t before = opc_json_enter(reader, "facts");
  /* Limits of the simulated devices: those for grid and block are the same on all devices that exist. */
  facts->limits = (opc_cuda_limits_t){.architecture = "sm_90",
                                      .major = 9,
                                      .grid = {INT32_MAX, 65535, 65535},
                                      .block = {1024, 1024, 64},
                                      .threads = 1024,
                                      .shared = 49152,
                                      .shared_optin = 232448};
  facts->returned = true;
  facts->owner = owner_in_list;
  facts->context = json_object_get(out->json, "own");
  members.status = opc_json_check_fields(reader, members.object, fields);
  get_int(&members, "device", &facts->device);
  get_hex(&members, "stream", &facts->stream);
  get_int(&members, "device_before", &facts->device_before);
  get_int(&members, "device_after", &facts->device_after);
  get_int(&members, "last_error", &facts->last_error);
  get_boolean(&members, "returned", &facts->returned);
  get_boolean(&members, "empty", &facts->empty);
  get_boolean(&members, "large", &facts->large);
  get_boolean(&members, "simulated", &facts->simulated);
  if (members.status == OPC_OK) members.status = lasting_read(reader, json_object_get(members.object, "lasting"), out);
  if (members.status == OPC_OK) members.status = counts_read(reader, json_object_get(members.object, "counts"), out);
  if (members.status == OPC_OK) opc_json_leave(reader, before);
  return members.status;
}

static opc_status_t top_read(opc_json_reader_t *reader, opc_cuda_file_t *out) {
  static const char *const fields[] = {"format", "origin", "date",   "versions", "note",    "own",
                                       "rules",  "facts",  "rounds", "calls",    "dropped", NULL};
  static const char *const origins[] = {"synthetic", "simulated", "gpu"};
  members_t members = {
      .reader = reader, .object = out->json, .status = opc_json_check_fields(reader, out->json, fields)};
  const char *format = "";
  unsigned origin = sizeof origins / sizeof *origins;
  get_string(&members, "format", &format);
  if (members.status == OPC_OK && strcmp(format, OPC_CUDA_LOG_FORMAT) != 0)
    members.status = opc_json_fail(reader, "format is not \"%s\"", OPC_CUDA_LOG_FORMAT);
  get_word(&members, "origin", origins, sizeof origins / sizeof *origins, &origin);
  if (members.status == OPC_OK && origin == sizeof origins / sizeof *origins)
    members.status = opc_json_fail(reader, "a log says its origin");
  if (members.status == OPC_OK && !json_is_array(json_object_get(out->json, "own")))
    members.status = opc_json_fail(reader, "expected the list \"own\" of libraries under test");
  if (members.status != OPC_OK) return members.status;
  out->origin = origins[origin];
  out->rules = json_object_get(out->json, "rules");
  opc_status_t status = facts_read(reader, out);
  return status == OPC_OK ? rounds_read(reader, out) : status;
}

opc_status_t opc_cuda_file_read(const char *path, opc_cuda_file_t *out, opc_error_t *error) {
  opc_json_file_t file = {0};
  opc_error_t trouble = {0};
  opc_json_reader_t reader = {.error = &trouble};
  *out = (opc_cuda_file_t){0};
  opc_status_t status = opc_json_file_open(&file, path, "log", error);
  if (status == OPC_OK) {
    out->json = json_incref(file.top);
    status = top_read(&reader, out);
    if (status == OPC_ERR_INPUT) status = opc_json_file_mistake(&file, reader.path, trouble.message);
    else if (status != OPC_OK) opc_error_set(error, status, "%s", trouble.message);
  }
  opc_json_file_close(&file);
  return status;
}

void opc_cuda_file_clear(opc_cuda_file_t *file) {
  for (size_t i = 0; i < file->round_count; i++) free(file->rounds[i].calls);
  free(file->rounds);
  free(file->lasting);
  free(file->counts);
  json_decref(file->json);
  *file = (opc_cuda_file_t){0};
}
