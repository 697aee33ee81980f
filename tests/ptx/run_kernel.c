/* run_kernel PTX KERNEL GRID BLOCK SHARED ARGUMENT…: runs one kernel of a PTX file, for check_triton.py.
 *
 * GRID is X,Y,Z. An argument is `i32:5`, `f32:0.5`, `null`, or an array: `in:FILE` has the file's bytes, `out:FILE` has
 * its size and nothing has written it, `inout:FILE` has its bytes. The last two are written back to the file.
 * Everything is watched: a line for each finding, `kind N at FILE:LINE`. Ends with 1 where the kernel did not run to
 * its end. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/ptx/ptx_run.h"

enum { ARRAYS_MAX = 16, FIXED = 6 };

typedef struct array {
  const char *path; /* of what the kernel may write; NULL: it need not be kept */
  char *bytes;
  size_t size;
} array_t;

typedef struct arguments {
  array_t arrays[ARRAYS_MAX];
  size_t count;
  unsigned char parameters[512];
  size_t bytes;
  opc_written_t *written;
} arguments_t;

static bool arguments_find(void *context, uint64_t address, opc_ptx_range_t *out) {
  const arguments_t *given = context;
  for (size_t i = 0; i < given->count; i++) {
    out->begin = (uintptr_t)given->arrays[i].bytes;
    out->end = out->begin + given->arrays[i].size;
    if (address >= out->begin && address < out->end) return true;
  }
  return false;
}

static bool array_read(arguments_t *given, const char *path, bool written, bool kept) {
  FILE *file = fopen(path, "rb");
  if (!file || given->count == ARRAYS_MAX || fseek(file, 0, SEEK_END) != 0) return false;
  array_t *array = &given->arrays[given->count++];
  array->size = (size_t)ftell(file);
  array->path = kept ? path : NULL;
  array->bytes = aligned_alloc(256, (array->size + 255) / 256 * 256); /* as an allocation of CUDA */
  rewind(file);
  const bool sound = array->bytes && fread(array->bytes, 1, array->size, file) == array->size;
  (void)fclose(file);
  if (!sound) return false;
  opc_written_allocated(given->written, (uintptr_t)array->bytes, array->size);
  if (written) opc_written_by_host(given->written, (uintptr_t)array->bytes, array->size);
  return true;
}

static void parameter_add(arguments_t *given, const void *value, size_t size) {
  given->bytes = (given->bytes + size - 1) / size * size;
  memcpy(given->parameters + given->bytes, value, size);
  given->bytes += size;
}

static bool argument_add(arguments_t *given, const char *text) {
  const bool in = strncmp(text, "in:", 3) == 0, both = strncmp(text, "inout:", 6) == 0;
  uint64_t pointer = 0;
  if (given->bytes + 16 > sizeof given->parameters) return false;
  if (strncmp(text, "i32:", 4) == 0) {
    parameter_add(given, &(int32_t){(int32_t)strtol(text + 4, NULL, 10)}, 4);
    return true;
  }
  if (strncmp(text, "f32:", 4) == 0) {
    parameter_add(given, &(float){strtof(text + 4, NULL)}, 4);
    return true;
  }
  if (in || both || strncmp(text, "out:", 4) == 0) {
    if (!array_read(given, strchr(text, ':') + 1, in || both, !in)) return false;
    pointer = (uintptr_t)given->arrays[given->count - 1].bytes;
  } else if (strcmp(text, "null") != 0) {
    return false;
  }
  parameter_add(given, &pointer, sizeof pointer);
  return true;
}

static bool arrays_write(const arguments_t *given) {
  for (size_t i = 0; i < given->count; i++) {
    const array_t *array = &given->arrays[i];
    FILE *file = array->path ? fopen(array->path, "wb") : NULL;
    if (!array->path) continue;
    if (!file || fwrite(array->bytes, 1, array->size, file) != array->size || fclose(file) != 0) return false;
    const uint64_t missing = opc_written_count_missing(given->written, (uintptr_t)array->bytes, array->size);
    if (missing != 0) printf("%llu bytes of %s are not written\n", (unsigned long long)missing, array->path);
  }
  return true;
}

static opc_ptx_program_t *kernel_find(const opc_ptx_module_t *module, const char *name) {
  opc_ptx_problem_t problem = {0};
  for (size_t i = 0; i < opc_ptx_kernel_count(module); i++) {
    if (strcmp(opc_ptx_kernel_name(module, i), name) != 0) continue;
    opc_ptx_program_t *program = opc_ptx_program_make(module, i, &problem);
    if (!program) (void)fprintf(stderr, "%s: line %u: %s\n", name, problem.line, problem.message);
    return program;
  }
  (void)fprintf(stderr, "there is no kernel %s\n", name);
  return NULL;
}

static opc_ptx_module_t *module_load(const char *path) {
  static char text[1 << 22];
  opc_ptx_problem_t problem = {0};
  FILE *file = fopen(path, "rb");
  const size_t size = file ? fread(text, 1, sizeof text, file) : 0;
  opc_ptx_module_t *module = size > 0 ? opc_ptx_module_read(text, size, &problem) : NULL;
  if (file) (void)fclose(file);
  if (!module || problem.message[0] != '\0')
    (void)fprintf(stderr, "%s: line %u: %s\n", path, problem.line, problem.message);
  return module;
}

static bool run(const opc_ptx_program_t *program, const opc_ptx_launch_t *launch, size_t bytes) {
  opc_ptx_outcome_t outcome;
  if (opc_ptx_program_parameter_bytes(program) != bytes) {
    (void)fprintf(stderr, "%zu bytes of parameters, not %u\n", bytes, opc_ptx_program_parameter_bytes(program));
    return false;
  }
  opc_ptx_launch_run(program, launch, &outcome);
  for (size_t i = 0; i < outcome.finding_count && i < OPC_PTX_FINDINGS_KEPT; i++) {
    const opc_ptx_finding_t *found = &outcome.findings[i];
    printf("kind %d at %.*s:%u (PTX line %u) block %u thread %u %s\n", found->kind, (int)found->file_length,
           found->file ? found->file : "", found->source_line, found->ptx_line, found->block[0], found->thread[0],
           found->text);
  }
  printf("%llu instructions\n", (unsigned long long)outcome.lane_instructions);
  if (outcome.end != OPC_PTX_FINISHED) (void)fprintf(stderr, "end %d: %s\n", outcome.end, outcome.message);
  return outcome.end == OPC_PTX_FINISHED;
}

int main(int count, char **words) {
  arguments_t given = {.written = opc_written_make()};
  opc_ptx_launch_t launch = {.budget = UINT64_C(2000000000),
                             .find = arguments_find,
                             .find_context = &given,
                             .watch = OPC_PTX_WATCH_RACES | OPC_PTX_WATCH_VALUES,
                             .written = given.written};
  if (count < FIXED || sscanf(words[3], "%u,%u,%u", &launch.grid[0], &launch.grid[1], &launch.grid[2]) != 3) return 2;
  launch.block[0] = (uint32_t)strtoul(words[4], NULL, 10);
  launch.block[1] = launch.block[2] = 1;
  launch.dynamic_shared = (uint32_t)strtoul(words[5], NULL, 10);
  for (int i = FIXED; i < count; i++)
    if (!argument_add(&given, words[i])) return 2;
  launch.parameters = given.parameters;
  opc_ptx_module_t *module = module_load(words[1]);
  opc_ptx_program_t *program = module ? kernel_find(module, words[2]) : NULL;
  const bool sound = program && run(program, &launch, given.bytes) && arrays_write(&given);
  opc_ptx_program_free(program);
  opc_ptx_module_free(module);
  for (size_t i = 0; i < given.count; i++) free(given.arrays[i].bytes);
  opc_written_free(given.written);
  return sound ? 0 : 1;
}
