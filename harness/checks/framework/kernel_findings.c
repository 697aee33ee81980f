/* What a kernel did inside its memory on the simulated device: races, values that nothing has written, barriers in
 * divergent code, copies that are not finished. */
#include "checks/cuda_log/cuda_analysis.h"
#include "checks/framework/check.h"

#include <inttypes.h>
#include <string.h>

static const struct kind_row {
  opc_rule_id_t rule;
  const char *words; /* "%s" is the memory */
} kind_rows[] = {
    [OPC_FAULT_RACE] = {OPC_RULE_memory_race, "two threads use %s, one of them writes, and nothing orders them"},
    [OPC_FAULT_RACE_OF_EQUALS] = {OPC_RULE_memory_race_of_equals,
                                  "two threads write the same value to %s, and nothing orders them"},
    [OPC_FAULT_RACE_IN_WARP] = {OPC_RULE_memory_race_in_warp,
                                "two threads of a warp use %s, one of them writes, and no __syncwarp() orders them"},
    [OPC_FAULT_UNINITIALISED] = {OPC_RULE_memory_uninitialised_read, "a value of %s is used that nothing has written"},
    [OPC_FAULT_UNINITIALISED_SCRATCH] = {OPC_RULE_memory_uninitialised_scratch,
                                         "a value of %s is used that nothing has written"},
    [OPC_FAULT_BARRIER] = {OPC_RULE_memory_divergent_barrier,
                           "threads of a warp wait at different instructions of one barrier"},
    [OPC_FAULT_UNFINISHED_COPY] = {OPC_RULE_memory_unfinished_copy, "%s is used before cp.async has finished"}};

/* "argument x (bytes 64 to 67 of 480)", "shared memory (byte 64)" */
static void add_used_memory(const opc_access_t *access, opc_text_t *text) {
  const opc_device_fault_t *fault = access->device;
  const bool global = strcmp(fault->space, "global") == 0;
  const int64_t first = global ? access->offset : (int64_t)fault->address;
  if (global && fault->nearest == 0) {
    opc_text_addf(text, "global memory at 0x%" PRIx64, fault->address);
    return;
  }
  if (!global) opc_text_addf(text, "%s memory", fault->space);
  else if (access->block.label[0]) opc_text_addf(text, "argument %s", access->block.label);
  else opc_text_add(text, "memory that the operator allocated");
  opc_text_addf(text, fault->bytes > 1 ? " (bytes %" PRId64 " to " : " (byte ", first);
  opc_text_addf(text, "%" PRId64, first + (int64_t)fault->bytes - 1);
  if (global) opc_text_addf(text, " of %zu", access->block.bytes);
  opc_text_add(text, ")");
}

/* "thread 1,0,0 of block 0,0,0 writes (kernels.cu:7)" */
static void add_side(const uint32_t thread[3], const uint32_t block[3], const char *does, const char *file,
                     uint32_t line, opc_text_t *text) {
  opc_text_addf(text, "thread %u,%u,%u of block %u,%u,%u %s", thread[0], thread[1], thread[2], block[0], block[1],
                block[2], does);
  if (line != 0) opc_text_addf(text, " (%.80s:%u)", opc_base_name(file), line);
}

static const char *verb_of_side(const opc_device_fault_t *fault, bool write) {
  return fault->kind == OPC_FAULT_BARRIER ? "waits" : write ? "writes" : "reads";
}

/* ": thread 1,0,0 of block 0,0,0 writes (kernels.cu:7), thread 0,0,0 of block 0,0,0 reads (kernels.cu:8)" */
static void add_sides(const opc_device_fault_t *fault, opc_text_t *text) {
  const opc_device_side_t *other = &fault->other;
  opc_text_add(text, ": ");
  add_side(fault->thread, fault->block, verb_of_side(fault, fault->write), fault->file, fault->line, text);
  if (!other->known) return;
  opc_text_add(text, ", ");
  add_side(other->thread, other->block,
           fault->kind == OPC_FAULT_UNFINISHED_COPY ? "began the copy" : verb_of_side(fault, other->write), other->file,
           other->line, text);
}

/* ": thread 1,0,0 of block 0,0,0 reads it (kernels.cu:7); it decides a branch (kernels.cu:8)" */
static void add_use_of_value(const opc_device_fault_t *fault, opc_text_t *text) {
  const opc_device_side_t *reader = &fault->other;
  opc_text_add(text, ": ");
  add_side(reader->known ? reader->thread : fault->thread, reader->known ? reader->block : fault->block, "reads it",
           reader->file, reader->line, text);
  opc_text_addf(text, "; %s", fault->text);
  if (fault->line != 0) opc_text_addf(text, " (%.80s:%u)", opc_base_name(fault->file), fault->line);
}

opc_rule_id_t opc_watched_describe(const opc_access_t *access, opc_text_t *text) {
  const opc_device_fault_t *fault = access->device;
  const struct kind_row *row = &kind_rows[fault->kind];
  OPC_SCOPED(opc_text_clear) opc_text_t memory = {0};
  char kernel[160];
  const char *at = strstr(row->words, "%s");
  if (at) add_used_memory(access, &memory);
  opc_text_addf(text, "%.*s%s%s", (int)(at ? at - row->words : (long)strlen(row->words)), row->words,
                opc_text_c(&memory), at ? at + 2 : "");
  opc_text_addf(text, ", in kernel %.120s", opc_cuda_kernel_name(fault->kernel, kernel, sizeof kernel));
  if (fault->kind == OPC_FAULT_UNINITIALISED || fault->kind == OPC_FAULT_UNINITIALISED_SCRATCH)
    add_use_of_value(fault, text);
  else add_sides(fault, text);
  return row->rule;
}
