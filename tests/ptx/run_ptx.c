/* run_ptx PTX INPUT OUTPUT COUNT: runs each kernel of a PTX file with COUNT threads, in the order of the file. For
 * check_forms.py.
 *
 * A kernel has the parameters (a, b, c, out): arrays of 64-bit numbers, of which a thread reads one each and writes
 * two. INPUT holds a, b and c of each kernel in turn; OUTPUT gets what each has written. Ends with 1 where a kernel
 * cannot be run, or has a finding. */
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/ptx/ptx_run.h"

enum { THREADS = 64, ARRAYS = 3 };

typedef struct arrays {
  opc_ptx_range_t in, out;
} arrays_t;

static bool arrays_find(void *context, uint64_t address, opc_ptx_range_t *out) {
  const arrays_t *arrays = context;
  *out = address >= arrays->in.begin && address < arrays->in.end ? arrays->in : arrays->out;
  return address >= out->begin && address < out->end;
}

static opc_ptx_range_t range_of(const void *begin, size_t size) {
  return (opc_ptx_range_t){(uintptr_t)begin, (uintptr_t)begin + size};
}

static bool run_kernel(const opc_ptx_module_t *module, size_t kernel, const uint64_t *in, uint64_t *out, size_t count) {
  opc_ptx_problem_t problem;
  opc_ptx_outcome_t outcome;
  const uint64_t parameters[] = {(uintptr_t)in, (uintptr_t)(in + count), (uintptr_t)(in + 2 * count), (uintptr_t)out};
  arrays_t arrays = {range_of(in, ARRAYS * count * sizeof *in), range_of(out, 2 * count * sizeof *out)};
  opc_ptx_program_t *program = opc_ptx_program_make(module, kernel, &problem);
  if (!program) {
    (void)fprintf(stderr, "%s: line %u: %s\n", opc_ptx_kernel_name(module, kernel), problem.line, problem.message);
    return false;
  }
  const opc_ptx_launch_t launch = {.grid = {(uint32_t)count / THREADS, 1, 1},
                                   .block = {THREADS, 1, 1},
                                   .parameters = (const unsigned char *)parameters,
                                   .budget = 1000000000,
                                   .find = arrays_find,
                                   .find_context = &arrays};
  opc_ptx_launch_run(program, &launch, &outcome);
  opc_ptx_program_free(program);
  if (outcome.end == OPC_PTX_FINISHED && outcome.finding_count == 0) return true;
  (void)fprintf(stderr, "%s: end %d, %zu findings %s\n", opc_ptx_kernel_name(module, kernel), outcome.end,
                outcome.finding_count, outcome.message);
  return false;
}

static char *file_read(const char *path, size_t *out_size) {
  FILE *file = fopen(path, "rb");
  if (!file || fseek(file, 0, SEEK_END) != 0) return NULL;
  *out_size = (size_t)ftell(file);
  rewind(file);
  char *bytes = malloc(*out_size + 1);
  if (bytes && fread(bytes, 1, *out_size, file) != *out_size) *out_size = 0;
  (void)fclose(file);
  return bytes;
}

int main(int arguments, char **names) {
  size_t text_size = 0, in_size = 0;
  opc_ptx_problem_t problem;
  if (arguments != 5) return 2;
  char *text = file_read(names[1], &text_size);
  uint64_t *in = (uint64_t *)file_read(names[2], &in_size);
  const size_t count = strtoul(names[4], NULL, 10);
  uint64_t *out = calloc(2 * count, sizeof *out);
  FILE *written = fopen(names[3], "wb");
  opc_ptx_module_t *module = text ? opc_ptx_module_read(text, text_size, &problem) : NULL;
  if (!module || !in || !out || !written || problem.message[0] != '\0') {
    (void)fprintf(stderr, "line %u: %s\n", problem.line, problem.message);
    return 2;
  }
  const size_t kernels = opc_ptx_kernel_count(module);
  bool sound = in_size == kernels * ARRAYS * count * sizeof *in && count % THREADS == 0;
  for (size_t i = 0; sound && i < kernels; i++) {
    sound = run_kernel(module, i, in + i * ARRAYS * count, out, count) && fwrite(out, 16, count, written) == count;
    memset(out, 0, 2 * count * sizeof *out);
  }
  sound = fclose(written) == 0 && sound;
  opc_ptx_module_free(module);
  free(text);
  free(in);
  free(out);
  return sound ? 0 : 1;
}
