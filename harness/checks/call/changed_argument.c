#include "checks/call/changed_argument.h"

#include <string.h>

enum {
  WHOLE_BYTES = 16 << 10, /* of a storage that is copied as a whole */
  LINE_BYTES = 64,
  LINES = WHOLE_BYTES / LINE_BYTES,
  STORAGES = 64,
  ROOM_BYTES = 16 * WHOLE_BYTES
};

/* The copied bytes of one storage. */
typedef struct watched_storage {
  const opc_tensor_arg_t *tensor_arg;
  const unsigned char *copy; /* in `room` */
} watched_storage_t;

static unsigned char room[ROOM_BYTES];
static watched_storage_t watched[STORAGES];
static size_t watched_count;
static opc_changed_argument_t changed;

bool opc_argument_may_be_written(const opc_call_t *call, const opc_tensor_arg_t *tensor_arg) {
  for (size_t i = 0; i < call->tensor_arg_count; i++)
    if (opc_tensor_arg_is_mutable(&call->tensor_args[i]) &&
        opc_tensor_shares_storage(&call->tensor_args[i].before, &tensor_arg->before))
      return true;
  return false;
}

/* One tensor argument on each storage keeps it. */
static bool argument_is_watched(const opc_call_t *call, const opc_tensor_arg_t *tensor_arg) {
  const opc_tensor_meta_t *before = &tensor_arg->before;
  return tensor_arg->storage && before->device.type == OPC_DEVICE_CPU && before->storage_data &&
         before->storage_bytes && !opc_argument_may_be_written(call, tensor_arg);
}

/* Where the parts that are copied begin, and how long they are: the whole storage, or lines of it. */
static size_t part_count(size_t bytes) { return bytes <= WHOLE_BYTES ? 1 : LINES; }
static size_t part_bytes(size_t bytes) { return bytes <= WHOLE_BYTES ? bytes : LINE_BYTES; }
static size_t part_at(size_t bytes, size_t part) { return part ? (bytes - LINE_BYTES) / (LINES - 1) * part : 0; }

static bool watch_paused;

void opc_arguments_watch_pause(bool pause) { watch_paused = pause; }

void opc_arguments_watch(const opc_call_t *call) {
  size_t used = 0;
  watched_count = 0;
  for (size_t i = 0; !watch_paused && !changed.text[0] && i < call->tensor_arg_count; i++) {
    const opc_tensor_arg_t *tensor_arg = &call->tensor_args[i];
    const unsigned char *data = tensor_arg->before.storage_data;
    const size_t bytes = tensor_arg->before.storage_bytes, parts = part_count(bytes), size = part_bytes(bytes);
    if (watched_count == STORAGES || used + parts * size > ROOM_BYTES || !argument_is_watched(call, tensor_arg))
      continue;
    watched[watched_count++] = (watched_storage_t){.tensor_arg = tensor_arg, .copy = room + used};
    for (size_t part = 0; part < parts; part++, used += size) memcpy(room + used, data + part_at(bytes, part), size);
  }
}

/* False: the operator gave the tensor another storage or other memory, which check mutation reports. */
static bool is_in_place(const opc_tensor_arg_t *tensor_arg) {
  opc_tensor_meta_t now;
  opc_tensor_describe(tensor_arg->tensor, &now);
  return now.storage == tensor_arg->before.storage && now.storage_data == tensor_arg->before.storage_data &&
         now.storage_bytes == tensor_arg->before.storage_bytes;
}

/* The first byte of the storage that differs; SIZE_MAX: none of those that were copied. */
static size_t first_changed_byte(const watched_storage_t *storage) {
  const unsigned char *data = storage->tensor_arg->before.storage_data;
  const size_t bytes = storage->tensor_arg->before.storage_bytes, size = part_bytes(bytes);
  for (size_t part = 0; part < part_count(bytes); part++) {
    const unsigned char *before = storage->copy + part * size, *now = data + part_at(bytes, part);
    size_t byte = 0;
    if (memcmp(before, now, size) == 0) continue;
    while (before[byte] == now[byte]) byte++;
    return part_at(bytes, part) + byte;
  }
  return SIZE_MAX;
}

static void note_change(const opc_call_t *call, const opc_tensor_arg_t *keeper, size_t byte) {
  char index[160];
  for (size_t i = 0; i < call->tensor_arg_count; i++) {
    const opc_tensor_arg_t *tensor_arg = &call->tensor_args[i];
    const bool shares = opc_tensor_shares_storage(&tensor_arg->before, &keeper->before);
    const int64_t element = shares ? opc_element_at_byte(&tensor_arg->before, byte) : -1;
    if (element < 0) continue;
    opc_index_text(&tensor_arg->before, element, index, sizeof index);
    changed.outside = false;
    snprintf(changed.text, sizeof changed.text, "%s, first at %s%s", tensor_arg->path, tensor_arg->path, index);
    return;
  }
  changed.outside = true;
  snprintf(changed.text, sizeof changed.text, "%s, first at byte %zu of its storage, which is not one of its elements",
           keeper->path, byte);
}

void opc_arguments_compare(const opc_call_t *call, bool returned) {
  for (size_t i = 0; returned && !changed.text[0] && i < watched_count; i++) {
    const size_t byte = is_in_place(watched[i].tensor_arg) ? first_changed_byte(&watched[i]) : SIZE_MAX;
    if (byte != SIZE_MAX) note_change(call, watched[i].tensor_arg, byte);
  }
}

const opc_changed_argument_t *opc_changed_argument(void) { return &changed; }

void opc_changed_argument_forget(void) { changed.text[0] = '\0'; }
