/* What Valgrind knows about a child's death. */
#include <signal.h>
#include <stdlib.h>
#include <sys/wait.h>

#include "model/json/json_write.h"
#include "supervise/tools/memcheck_state.h"

static opc_memcheck_end_t end_of(const opc_memcheck_t *memcheck, const opc_child_t *child,
                                 const opc_memcheck_view_t *view, bool new_failed, opc_crash_t *crash) {
  const opc_crash_record_t *box = child->crash_record;
  uint64_t counter = box->program_counter;
  opc_text_t words = {0};
  opc_memcheck_end_t end = OPC_MEMCHECK_END_OWN;
  bool no_memory = false;
  bool illegal = WIFSIGNALED(child->status) && WTERMSIG(child->status) == SIGILL && box->crashed == 1;
  /* If there is no code at the address, the operator itself jumped there. */
  if (illegal && view->maps && opc_maps_find(view->maps, counter) &&
      opc_memcheck_log_unknown_instruction(memcheck->log, child->pid, counter, &words)) {
    end = OPC_MEMCHECK_END_INSTRUCTION;
    OPC_SCOPED(opc_scope_free) opc_frames_t *frames = calloc(1, sizeof *frames);
    OPC_SCOPED(opc_text_clear) opc_text_t where = {0};
    if (frames) {
      opc_frames_resolve(view->symboliser, view->maps, view->library, &counter, 1, true, frames);
      opc_frames_say(frames, &where);
    }
    opc_text_reset(&crash->message);
    opc_text_addf(
        &crash->message,
        "Valgrind does not know an instruction (%s)%s, and ends the process there: the result of this case is not "
        "known, and this is not an error of the operator. A library built for an older processor can be watched "
        "(-march=x86-64-v3 for one)",
        opc_text_c(&words), opc_text_c(&where));
  } else if (box->crashed == 1 || child->cause != OPC_END_BY_ITSELF) {
    /* It is already reported. */
  } else if (new_failed || (opc_memcheck_log_failure(memcheck->log, child->pid, &words, &no_memory) && no_memory)) {
    opc_text_reset(&crash->message);
    opc_text_addf(
        &crash->message, "out of memory within the limit of --memory (%s)",
        new_failed ? "operator new failed, where Valgrind cannot throw" : "Valgrind itself could get no more");
    crash->rule = OPC_RULE_memory;
  } else if (words.length > 0) {
    end = OPC_MEMCHECK_END_FAILURE;
    opc_text_reset(&crash->message);
    opc_text_addf(&crash->message,
                  "Valgrind itself crashed here: %s. Run this case without --tool memcheck; the cause can be an "
                  "operator that overwrites memory of others",
                  opc_text_c(&words));
    crash->rule = OPC_RULE_harness;
  }
  opc_text_clear(&words);
  return end;
}

opc_status_t opc_memcheck_crash(opc_memcheck_t *memcheck, const opc_child_t *child, const opc_memcheck_view_t *view,
                                opc_crash_t *crash, opc_memcheck_end_t *out, opc_error_t *error) {
  *out = OPC_MEMCHECK_END_OWN;
  if (!memcheck) return OPC_OK;
  OPC_SCOPED(opc_memcheck_hits_clear) opc_memcheck_hits_t hits = {0};
  opc_error_t why;
  opc_memcheck_process_t *process = opc_memcheck_process(memcheck, child);
  if (!process) return opc_out_of_memory(error);
  /* A child that died early has no file. */
  if (opc_memcheck_read(memcheck, child, process, &why) == OPC_OK && child->crash_record->running == 1)
    OPC_RETURN_IF_ERROR(opc_memcheck_hits_of_number(process, child->crash_record->sequence, &hits, error));
  OPC_SCOPED(opc_also_list_clear) opc_also_list_t findings = {0};
  OPC_RETURN_IF_ERROR(opc_memcheck_findings(&hits, child->crash_record->sequence, view, &findings, error));
  if (findings.count > 0) opc_json_put(&crash->evidence, "also", opc_also_list_json(&findings));
  *out = end_of(memcheck, child, view, process->errors.new_failed, crash);
  return OPC_OK;
}
