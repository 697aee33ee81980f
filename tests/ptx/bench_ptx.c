/* bench_ptx FIXTURE OPERATORS: what the PTX machine does in a second on one core, with kernels of fixtures/cuda and ops
 * (scripts/bench --ptx). Prints JSON: lane instructions and processor seconds of each kernel, the fastest of RUNS. */
#include <time.h>

#include "ptx_library.h"

enum { RUNS = 5, THREADS = 256, NUMBERS = 3 * 224 * 224, DIMENSIONS = 64 };

typedef struct layout {
  int dims;
  int64_t sizes[DIMENSIONS], strides[DIMENSIONS];
} layout_t;

static double processor_seconds(void) {
  struct timespec now;
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return (double)now.tv_sec + 1e-9 * (double)now.tv_nsec;
}

static void measure(const call_t *call, const opc_ptx_module_t *module, const char *kernel, const char *title) {
  static opc_ptx_outcome_t outcome;
  double best = 0;
  opc_ptx_program_t *program = program_of(module, kernel);
  const opc_ptx_launch_t launch = {.grid = {call->blocks, 1, 1},
                                   .block = {call->threads, 1, 1},
                                   .parameters = call->parameters,
                                   .budget = 1000000000,
                                   .find = memory_find,
                                   .find_context = (void *)(uintptr_t)&call->memory};
  for (int i = 0; i < RUNS; i++) {
    const double began = processor_seconds();
    opc_ptx_launch_run(program, &launch, &outcome);
    const double took = processor_seconds() - began;
    if (i == 0 || took < best) best = took;
  }
  opc_ptx_program_free(program);
  if (outcome.end != OPC_PTX_FINISHED || outcome.finding_count != 0) fail_msg("%s did not run well", kernel);
  printf("%s{\"kernel\": \"%s\", \"instructions\": %llu, \"seconds\": %.6f}", title[0] == 'r' ? "" : ", ", title,
         (unsigned long long)outcome.lane_instructions, best);
}

static void measure_copies(const opc_ptx_module_t *module, unsigned char *in, unsigned char *out) {
  unsigned char table[256];
  const int64_t bytes = 4 * NUMBERS;
  for (int i = 0; i < 256; i++) table[i] = (unsigned char)i;
  call_t copy = {.blocks = 64, .threads = THREADS};
  give_array(&copy, in, (size_t)bytes);
  give_array(&copy, out, (size_t)bytes);
  give(&copy, &bytes, sizeof bytes);
  measure(&copy, module, "copy_kernelE", "copy of bytes");
  measure(&copy, module, "copy_vectors_kernelE", "copy of eight bytes");
  give_array(&copy, table, sizeof table);
  measure(&copy, module, "lookup_kernelE", "lookup");
}

int main(int count, char **names) {
  static unsigned char in[4 * NUMBERS], out[4 * NUMBERS];
  const int64_t numbers = NUMBERS;
  const layout_t layout = {4, {1, 3, 224, 224}, {NUMBERS, 224 * 224, 224, 1}};
  if (count != 3) return 2;
  opc_ptx_module_t *fixture = module_in(names[1]), *operators = module_in(names[2]);
  for (size_t i = 0; i < sizeof in; i++) in[i] = (unsigned char)(i * 31);
  call_t call = {.blocks = (NUMBERS + THREADS - 1) / THREADS, .threads = THREADS};
  give_array(&call, in, sizeof in);
  give_array(&call, out, sizeof out);
  give(&call, &numbers, sizeof numbers);
  give_aligned(&call, &layout, sizeof layout, sizeof(int64_t));
  printf("[");
  measure(&call, operators, "copy_kernelIjE", "reference operator, float32 [1, 3, 224, 224]");
  measure_copies(fixture, in, out);
  printf("]\n");
  opc_ptx_module_free(fixture);
  opc_ptx_module_free(operators);
  return memcmp(in, out, sizeof in) == 0 ? 0 : 1;
}
