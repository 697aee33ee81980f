#include "inspect/fatbin.h"

#include <stdlib.h>
#include <string.h>

#include "cuda/image/kernel_image.h"

typedef struct reading {
  const opc_gpu_codes_t *whole;
  const opc_gpu_codes_t *codes; /* of the current file */
  opc_uneven_t *out;
} reading_t;

static bool is_for_one(const opc_gpu_codes_t *codes) {
  for (size_t i = 0; i < codes->count; i++)
    if (codes->items[i].suffix == '\0') return false;
  return true;
}

static bool is_uneven(const opc_gpu_codes_t *codes, const opc_gpu_codes_t *whole) {
  return codes->count > 0 && !codes->damaged && !is_for_one(codes) && opc_gpu_codes_missing(codes, whole, NULL) > 0;
}

static void visit_kernels(const opc_fatbin_t *fatbin, void (*visit)(const char *kernel, void *context),
                          reading_t *reading) {
  reading->codes = &fatbin->codes;
  if (!fatbin->machine.bytes) return;
  size_t size = 0;
  unsigned char *unpacked;
  const unsigned char *plain = opc_fatbin_image_plain(&fatbin->machine, &size, &unpacked);
  if (plain) (void)opc_cubin_visit(plain, size, visit, reading);
  opc_image_unpacked_free(unpacked, size);
}

/* ---- kernels of files without all architectures ---- */

static void kernel_add(const char *kernel, void *context) {
  const reading_t *reading = context;
  opc_uneven_t *out = reading->out;
  if (!OPC_ARRAY_GROW(out->items, out->count)) {
    out->incomplete = true;
    return;
  }
  opc_uneven_kernel_t *item = &out->items[out->count];
  *item = (opc_uneven_kernel_t){.name = strdup(kernel), .codes = *reading->codes};
  if (item->name) out->count++;
  else out->incomplete = true;
}

static void see_uneven(const opc_fatbin_t *fatbin, void *context) {
  reading_t *reading = context;
  if (is_uneven(&fatbin->codes, reading->whole)) visit_kernels(fatbin, kernel_add, reading);
}

/* ---- code for them in other files ---- */

static int compare_covers(const void *a, const void *b) {
  return strcmp(((const opc_uneven_kernel_t *)a)->name, ((const opc_uneven_kernel_t *)b)->name);
}

static void kernel_merge(const char *kernel, void *context) {
  const reading_t *reading = context;
  const opc_uneven_kernel_t key = {.name = (char *)(uintptr_t)kernel};
  opc_uneven_kernel_t *item = bsearch(&key, reading->out->items, reading->out->count, sizeof key, compare_covers);
  if (item) opc_gpu_codes_add(reading->codes, &item->codes);
}

static void see_whole(const opc_fatbin_t *fatbin, void *context) {
  reading_t *reading = context;
  if (!is_uneven(&fatbin->codes, reading->whole)) visit_kernels(fatbin, kernel_merge, reading);
}

/* Merges entries of the same kernel from several files. */
static void kernel_cover_join_equal(opc_uneven_t *out) {
  size_t kept = 0;
  for (size_t i = 0; i < out->count; i++) {
    if (kept > 0 && strcmp(out->items[kept - 1].name, out->items[i].name) == 0) {
      opc_gpu_codes_add(&out->items[i].codes, &out->items[kept - 1].codes);
      free(out->items[i].name);
    } else {
      out->items[kept++] = out->items[i];
    }
  }
  out->count = kept;
}

static void drop_served(opc_uneven_t *out, const opc_gpu_codes_t *whole) {
  size_t kept = 0;
  for (size_t i = 0; i < out->count; i++) {
    if (is_uneven(&out->items[i].codes, whole)) out->items[kept++] = out->items[i];
    else free(out->items[i].name);
  }
  out->count = kept;
}

void opc_uneven_read(const unsigned char *bytes, size_t size, const opc_gpu_codes_t *whole, opc_uneven_t *out) {
  reading_t reading = {.whole = whole, .out = out};
  *out = (opc_uneven_t){0};
  (void)opc_fatbin_visit(bytes, size, see_uneven, &reading);
  if (out->count == 0) return;
  qsort(out->items, out->count, sizeof *out->items, compare_covers);
  kernel_cover_join_equal(out);
  (void)opc_fatbin_visit(bytes, size, see_whole, &reading);
  drop_served(out, whole);
}

void opc_uneven_clear(opc_uneven_t *uneven) {
  for (size_t i = 0; i < uneven->count; i++) free(uneven->items[i].name);
  free(uneven->items);
  *uneven = (opc_uneven_t){0};
}
