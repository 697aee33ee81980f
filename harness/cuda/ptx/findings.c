#include <string.h>

#include "cuda/ptx/ptx_machine.h"

static const opc_ptx_file_t *file_find(const opc_ptx_module_t *module, uint32_t number) {
  const opc_ptx_file_t *files = module->files.items;
  for (uint32_t i = 0; i < module->files.count; i++)
    if (files[i].number == number) return &files[i];
  return NULL;
}

opc_ptx_finding_t *opc_ptx_finding_add(opc_ptx_warp_t *warp, const opc_ptx_op_t *op, unsigned lane,
                                       opc_ptx_finding_kind_t kind) {
  static _Thread_local opc_ptx_finding_t spare;
  const opc_ptx_launch_state_t *launch = warp->block->launch;
  opc_ptx_outcome_t *outcome = launch->outcome;
  const uint32_t *block = launch->launch->block, thread = warp->number * OPC_PTX_LANES + lane;
  const opc_ptx_file_t *file = op->source_line != 0 ? file_find(launch->program->module, op->file) : NULL;
  opc_ptx_finding_t *out =
      outcome->finding_count < OPC_PTX_FINDINGS_KEPT ? &outcome->findings[outcome->finding_count] : &spare;
  outcome->finding_count++;
  *out = (opc_ptx_finding_t){.kind = kind,
                             .ptx_line = op->line,
                             .source_line = op->source_line,
                             .space = "",
                             .thread = {thread % block[0], thread / block[0] % block[1], thread / block[0] / block[1]}};
  memcpy(out->block, warp->block->index, sizeof out->block);
  if (file && file->path.length >= 2) { /* without its quotes */
    out->file = file->path.at + 1;
    out->file_length = file->path.length - 2;
  }
  return out;
}
