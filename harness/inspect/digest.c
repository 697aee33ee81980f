#include "inspect/digest.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <xxhash.h>

#include "base/text.h"
#include "inspect/library_search.h"

enum { BLOCK = 1 << 16 };

typedef struct digesting {
  XXH3_state_t *state;
  const char *torch_folder;
  char **paths; /* of the library and those that it needs, in the order in which they are met */
  size_t count;
} digesting_t;

static void digesting_clear(digesting_t *digesting) {
  for (size_t i = 0; i < digesting->count; i++) free(digesting->paths[i]);
  free(digesting->paths);
  XXH3_freeState(digesting->state);
}

static opc_status_t digesting_begin(digesting_t *digesting, opc_error_t *error) {
  digesting->state = XXH3_createState();
  return digesting->state && XXH3_128bits_reset(digesting->state) == XXH_OK ? OPC_OK : opc_out_of_memory(error);
}

static void digest_put(XXH128_hash_t hash, char out[OPC_DIGEST_SIZE]) {
  snprintf(out, OPC_DIGEST_SIZE, "%016llx%016llx", (unsigned long long)hash.high64, (unsigned long long)hash.low64);
}

static void digesting_end(const digesting_t *digesting, char out[OPC_DIGEST_SIZE]) {
  digest_put(XXH3_128bits_digest(digesting->state), out);
}

void opc_digest_text(const char *text, char out[OPC_DIGEST_SIZE]) { digest_put(XXH3_128bits(text, strlen(text)), out); }

static void digest_text(const digesting_t *digesting, const char *text) {
  (void)XXH3_128bits_update(digesting->state, text, strlen(text) + 1);
}

static opc_status_t digest_bytes(const digesting_t *digesting, const char *path, opc_error_t *error) {
  char block[BLOCK];
  size_t length;
  OPC_SCOPED(opc_scope_fclose) FILE *file = fopen(path, "re");
  while (file && (length = fread(block, 1, sizeof block, file)) > 0)
    (void)XXH3_128bits_update(digesting->state, block, length);
  if (file && !ferror(file)) return OPC_OK;
  return opc_error_set(error, OPC_ERR_IO, "cannot read %s: %s", path, strerror(errno));
}

opc_status_t opc_digest_file(const char *path, char out[OPC_DIGEST_SIZE], opc_error_t *error) {
  OPC_SCOPED(digesting_clear) digesting_t digesting = {0};
  OPC_RETURN_IF_ERROR(digesting_begin(&digesting, error));
  OPC_RETURN_IF_ERROR(digest_bytes(&digesting, path, error));
  digesting_end(&digesting, out);
  return OPC_OK;
}

/* ---- libraries ---- */

static opc_status_t digest_meet(digesting_t *digesting, const char *path, opc_error_t *error) {
  for (size_t i = 0; i < digesting->count; i++)
    if (strcmp(digesting->paths[i], path) == 0) return OPC_OK;
  if (!OPC_ARRAY_GROW(digesting->paths, digesting->count)) return opc_out_of_memory(error);
  OPC_RETURN_IF_ERROR(opc_string_copy_to(path, &digesting->paths[digesting->count], error));
  digesting->count++;
  return OPC_OK;
}

static bool comes_with_torch(const digesting_t *digesting, const char *name, const opc_library_place_t *place) {
  const size_t length = strlen(digesting->torch_folder);
  return opc_library_is_torch(name) || opc_library_is_accelerator(name) || place->how == OPC_FOUND_TORCH ||
         place->how == OPC_FOUND_CUDA || (length > 0 && strncmp(place->path, digesting->torch_folder, length) == 0);
}

static opc_status_t digest_needs(digesting_t *digesting, const opc_elf_file_t *file, opc_error_t *error) {
  for (size_t i = 0; i < file->needed_count; i++) {
    opc_library_place_t place;
    opc_library_find(file, file->needed[i], digesting->torch_folder, &place);
    digest_text(digesting, file->needed[i]);
    if (!comes_with_torch(digesting, file->needed[i], &place) && *place.path)
      OPC_RETURN_IF_ERROR(digest_meet(digesting, place.path, error));
  }
  return OPC_OK;
}

opc_status_t opc_digest_library(const char *path, const char *torch_folder, char out[OPC_DIGEST_SIZE],
                                opc_error_t *error) {
  OPC_SCOPED(digesting_clear) digesting_t digesting = {.torch_folder = torch_folder};
  OPC_RETURN_IF_ERROR(digesting_begin(&digesting, error));
  OPC_RETURN_IF_ERROR(digest_meet(&digesting, path, error));
  for (size_t i = 0; i < digesting.count; i++) {
    OPC_SCOPED(opc_scope_elf_file) opc_elf_file_t *file = NULL;
    opc_error_t ignored; /* a file that is no library needs none */
    OPC_RETURN_IF_ERROR(digest_bytes(&digesting, digesting.paths[i], error));
    if (opc_elf_open(digesting.paths[i], &file, &ignored) == OPC_OK)
      OPC_RETURN_IF_ERROR(digest_needs(&digesting, file, error));
  }
  digesting_end(&digesting, out);
  return OPC_OK;
}
