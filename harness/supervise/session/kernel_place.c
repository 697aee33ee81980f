#include "supervise/session/kernel_place.h"

#include <inttypes.h>

#include "catalogue/case_kernel.h"
#include "model/json/json_write.h"

static json_t *python_place(const opc_kernel_t *kernel) {
  return json_pack("{s:s, s:o, s:o, s:i}", "key", kernel->key, "symbol", opc_json_string(kernel->code.function), "file",
                   opc_json_string(kernel->code.file), "line", kernel->code.line);
}

static json_t *frame_place(const opc_kernel_t *kernel, const opc_frame_t *frame) {
  char offset[32];
  snprintf(offset, sizeof offset, "0x%" PRIx64, frame->offset);
  const bool line = *frame->file;
  return json_pack("{s:s, s:o, s:s, s:o, s:o*, s:o*}", "key", kernel->key, "module", opc_json_string(frame->module),
                   "offset", offset, "symbol", opc_json_string(*frame->symbol ? frame->symbol : "kernel"), "file",
                   line ? opc_json_string(frame->file) : NULL, "line", line ? json_integer(frame->line) : NULL);
}

opc_status_t opc_kernel_place_add(opc_session_t *session, const opc_operator_t *op, opc_case_result_t *result,
                                  opc_error_t *error) {
  opc_frame_t frame;
  const opc_kernel_t *kernel = op ? opc_case_kernel_find(&result->id, op) : NULL;
  const opc_kernel_code_t *code = kernel ? &kernel->code : NULL;
  if (!code || (!code->module && !code->function)) return OPC_OK;
  if (code->module) {
    /* As before the names of frames: debug information is read for a while. */
    OPC_RETURN_IF_ERROR(opc_journal_flush(session->journal, error));
    opc_symboliser_kernel(session->symboliser, code->module, code->address, code->functor, &frame);
  }
  opc_json_put(&result->evidence, "kernel", code->module ? frame_place(kernel, &frame) : python_place(kernel));
  return result->evidence ? OPC_OK : opc_out_of_memory(error);
}
