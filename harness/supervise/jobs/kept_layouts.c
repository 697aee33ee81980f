#include "supervise/jobs/task.h"

#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

static uint64_t digest_of(const opc_case_id_t *id, const char *reach, const char *layout) {
  char text[OPC_CASE_ID_SIZE];
  const int length = snprintf(text, sizeof text, "%s/%s/%s%s", id->device, id->sample, reach, layout);
  return XXH3_64bits(text, (size_t)length < sizeof text ? (size_t)length : sizeof text - 1);
}

static bool ends_with(const char *text, const char *end) {
  const size_t length = strlen(text), wanted = strlen(end);
  return length >= wanted && strcmp(text + length - wanted, end) == 0;
}

void opc_kept_layouts_note(opc_kept_layouts_t *kept, const opc_case_result_t *result) {
  const opc_case_id_t *id = &result->id;
  if (result->verdict != OPC_VERDICT_PASS || strcmp(id->check, "stride") != 0 || id->dtype[0] != '\0' ||
      strchr(id->variant, '+') || (!ends_with(id->variant, ".sliced") && !ends_with(id->variant, ".padded")) ||
      !OPC_ARRAY_GROW(kept->passed, kept->count))
    return;
  kept->passed[kept->count++] = digest_of(id, "", id->variant);
}

static bool has(const opc_kept_layouts_t *kept, uint64_t digest) {
  for (size_t i = 0; i < kept->count; i++)
    if (kept->passed[i] == digest) return true;
  return false;
}

/* Padded exists for all tensors together, or for the only one. */
bool opc_kept_layouts_has(const opc_kept_layouts_t *kept, const opc_case_id_t *id) {
  char reach[sizeof id->variant];
  if (strstr(id->variant, ".channels_last") || strstr(id->variant, ".expanded")) return false;
  if (has(kept, digest_of(id, "all", ".sliced")) && has(kept, digest_of(id, "all", ".padded"))) return true;
  snprintf(reach, sizeof reach, "%.*s", (int)strcspn(id->variant, "."), id->variant);
  return has(kept, digest_of(id, reach, ".sliced")) && has(kept, digest_of(id, reach, ".padded"));
}

void opc_kept_layouts_clear(opc_kept_layouts_t *kept) {
  free(kept->passed);
  *kept = (opc_kept_layouts_t){0};
}
