#include "supervise/evidence/crash_report.h"

#include <inttypes.h>
#include <math.h>
#include <signal.h>
#include <stdlib.h>
#include <string.h>
#include <sys/wait.h>

#include "checks/cuda_log/cuda_analysis.h"
#include "model/json/json_write.h"

enum { TAIL_SIZE = 2048, RECURSION = 12 };

typedef struct scene {
  opc_crash_record_t box; /* a copy: processes that the child left behind can still write to the original */
  opc_call_kind_t call;   /* that ran; NONE: none */
  opc_frames_t frames;
  bool repeats; /* the same address again and again: recursion */
} scene_t;

static void crash_report_read_scene(const opc_child_t *child, opc_symboliser_t *symboliser,
                                    const opc_crash_limits_t *limits, scene_t *scene) {
  memset(scene, 0, sizeof *scene);
  memcpy(&scene->box, (const void *)child->crash_record, sizeof scene->box);
  scene->box.detail[sizeof scene->box.detail - 1] = '\0';
  scene->box.terminate_text[sizeof scene->box.terminate_text - 1] = '\0';
  scene->box.input[sizeof scene->box.input - 1] = '\0';
  scene->box.why[sizeof scene->box.why - 1] = '\0';
  if (scene->box.running == 1) scene->call = opc_call_kind_from(scene->box.call_kind);
  if (scene->box.crashed != 1 && scene->box.frame_count == 0) return;
  uint32_t count = scene->box.frame_count <= OPC_CRASH_RECORD_FRAMES ? scene->box.frame_count : OPC_CRASH_RECORD_FRAMES;
  uint32_t equal = 0;
  for (uint32_t i = 2; i < count; i++)
    equal += scene->box.frames[i] == scene->box.frames[i - 1] || scene->box.frames[i] == scene->box.frames[i - 2];
  scene->repeats = equal >= RECURSION;
  opc_frames_resolve(symboliser, limits->maps, limits->library, scene->box.frames, count,
                     scene->box.frames[0] == scene->box.program_counter, &scene->frames);
}

static const char *signal_words(int number) {
  switch (number) {
    case SIGSEGV:
      return "segmentation fault";
    case SIGBUS:
      return "bus error";
    case SIGFPE:
      return "arithmetic exception (an integer division by zero, most likely)";
    case SIGILL:
      return "illegal instruction";
    case SIGABRT:
      return "abort";
    case SIGXFSZ:
      return "a file grew beyond its limit";
    default:
      return opc_signal_description(number) ? opc_signal_description(number) : "unknown signal";
  }
}

/* Host code followed a pointer to memory of a GPU. */
static bool is_host_access(const scene_t *scene, int number) {
  return (number == SIGSEGV || number == SIGBUS) && scene->box.crashed == 1 && scene->box.signal == number &&
         scene->box.device > 0;
}

static void by_signal(const opc_child_t *child, const opc_crash_limits_t *limits, const scene_t *scene, int number,
                      opc_crash_t *out) {
  const char *terminate = scene->box.terminate_text;
  bool box = scene->box.crashed == 1 && scene->box.signal == number;
  /* A kernel left the context unusable, and freeing a tensor throws where nothing can catch it. */
  const int thrown = number == SIGABRT ? opc_cuda_error_thrown(terminate) : 0;
  if (strstr(terminate, "bad_alloc")) {
    out->rule = OPC_RULE_memory;
    opc_text_addf(&out->message, "out of memory (std::bad_alloc) with a limit of %d MiB", limits->memory_mib);
  } else if (number == SIGKILL && child->max_rss_kib / 1024 > (int64_t)limits->memory_mib / 2) {
    out->rule = OPC_RULE_memory;
    opc_text_addf(&out->message, "killed by the system while it held %lld MiB of memory",
                  (long long)(child->max_rss_kib / 1024));
  } else if (is_host_access(scene, number)) {
    out->rule = OPC_RULE_launch_host_access;
    opc_text_addf(&out->message, "%s at address 0x%" PRIx64 ", which is memory of device %d", signal_words(number),
                  scene->box.address, scene->box.device - 1);
  } else if (opc_cuda_fault_meaning(thrown)) {
    out->rule = OPC_RULE_launch_asynchronous_error;
    opc_text_addf(&out->message, "%s (%s, %d); freeing a tensor then throws, and ends the process",
                  opc_cuda_fault_meaning(thrown), opc_cuda_error_name(thrown), thrown);
    return;
  } else {
    out->rule = opc_rule_of_signal(number);
    if (number == SIGABRT && terminate[0] != '\0') {
      opc_text_addf(&out->message, "std::terminate was called for: %s", terminate);
    } else if (number == SIGSEGV && box &&
               (scene->repeats || (limits->maps && opc_maps_below_stack(limits->maps, scene->box.address)))) {
      opc_text_add(&out->message, "stack overflow (segmentation fault below the stack)");
    } else {
      opc_text_add(&out->message, signal_words(number));
      /* For a non-canonical address the kernel sends SIGSEGV with si_addr 0 and code SI_KERNEL. */
      if (box && (number == SIGSEGV || number == SIGBUS) && scene->box.code == SI_KERNEL)
        opc_text_add(&out->message, " at a non-canonical address");
      else if (box && (number == SIGSEGV || number == SIGBUS))
        opc_text_addf(&out->message, " at address 0x%" PRIx64, scene->box.address);
    }
  }
  opc_frames_say(&scene->frames, &out->message);
}

static void crash_report_describe_end(const opc_child_t *child, const opc_crash_limits_t *limits, const scene_t *scene,
                                      opc_crash_t *out) {
  switch (child->cause) {
    case OPC_END_TIMEOUT:
      out->rule = OPC_RULE_timeout;
      opc_text_addf(&out->message, "did not return within %g s and was killed",
                    child->hung_after > 0 ? round(100 * child->hung_after) / 100 : limits->seconds);
      if (child->hung_after > 0)
        opc_text_add(&out->message, ", in a loop in which an earlier call did not return either");
      return;
    case OPC_END_IDLE:
      out->rule = OPC_RULE_timeout;
      opc_text_add(&out->message, "the process stopped answering between two cases and was killed");
      return;
    case OPC_END_GARBAGE:
      out->rule = OPC_RULE_exit;
      opc_text_add(&out->message,
                   "wrote into the channel for results: it writes to file descriptors that are not its own");
      return;
    case OPC_END_CHANNEL:
      out->rule = OPC_RULE_exit;
      opc_text_add(&out->message, "closed the channel for results: it closes file descriptors that are not its own");
      return;
    case OPC_END_WORKER:
      out->rule = OPC_RULE_exit;
      opc_text_add(&out->message, "killed the process that started it");
      if (WIFSIGNALED(child->status))
        opc_text_addf(&out->message, " (SIG%s)", opc_signal_abbreviation(WTERMSIG(child->status)));
      return;
    case OPC_END_BY_ITSELF:
      break;
  }
  if (WIFSIGNALED(child->status)) {
    by_signal(child, limits, scene, WTERMSIG(child->status), out);
  } else {
    out->rule = OPC_RULE_exit;
    opc_text_addf(&out->message, "ended the process with exit code %d",
                  WIFEXITED(child->status) ? WEXITSTATUS(child->status) : -1);
    /* A child that cannot continue says why: it ran out of memory, or the operator closed a channel. */
    if (scene->box.crashed != 1 && scene->box.terminate_text[0] != '\0')
      opc_text_addf(&out->message, " (%s)", scene->box.terminate_text);
    opc_frames_say(&scene->frames, &out->message);
  }
}

static double seconds_run(const opc_child_t *child, const scene_t *scene) {
  double started = (double)scene->box.started_ns * 1e-9, now = opc_clock();
  return scene->box.running == 1 && started >= child->opened && started <= now ? now - started : 0;
}

/* The reference that a sample names, not the operator, has ended the process or hung. */
static void blame_reference(const scene_t *scene, opc_crash_t *out) {
  if (scene->call == OPC_CALL_KIND_REFERENCE) out->rule = OPC_RULE_reference_unusable;
}

static void take_provenance(const scene_t *scene, opc_crash_t *out) {
  opc_provenance_t provenance;
  if (!opc_provenance_parse(scene->box.provenance, &provenance)) return;
  if (opc_call_kind_whose(scene->call) == OPC_CALL_WHOSE_OTHERS) provenance.change = OPC_INPUT_ALONE;
  /* A used object is pickled without arguments, and its methods accepted theirs. */
  if (scene->call == OPC_CALL_KIND_PICKLE) provenance.change = OPC_INPUT_SAME_VALUES;
  opc_provenance_format(&provenance, out->provenance);
}

/* A check made this call on the same values in another layout. So the sample itself did not crash. */
static void note_other_layout(const scene_t *scene, json_t *evidence) {
  if (scene->call != OPC_CALL_KIND_ON_LAYOUT) return;
  OPC_SCOPED(opc_scope_free) char *variant = opc_string_format("all.%s", scene->box.detail);
  json_object_set_new(evidence, "variants", json_pack("[o]", opc_json_string(variant)));
}

static void add_call(const scene_t *scene, opc_text_t *out) {
  if (scene->call == OPC_CALL_KIND_NONE) return;
  opc_text_add(out, ", while ");
  opc_call_kind_describe(scene->call, scene->box.detail, out);
}

/* The sandbox may be why it ended. */
static void add_refusal(const scene_t *scene, opc_text_t *out) {
  char last[sizeof scene->box.refusals.last];
  if (scene->call == OPC_CALL_KIND_NONE || scene->box.refusals.count == scene->box.refused_before) return;
  opc_refusals_last(&scene->box.refusals, last);
  opc_text_addf(out, "; the sandbox refused it to %s", last);
}

/* assert and CHECK print the error before they abort. */
static void add_last_line(const char *printed, opc_text_t *out) {
  const char *end = strrchr(printed, '\n'), *line = end ? end + 1 : printed;
  if (*line != '\0') opc_text_addf(out, "; its last output: %.300s", line);
}

/* A Meta tensor has no data, whatever the arguments are: a kernel that reads it follows a null pointer. */
static bool reads_data_of_meta(const scene_t *scene) {
  enum { FIRST_PAGE = 4096 };
  return scene->call == OPC_CALL_KIND_META && scene->box.crashed == 1 && scene->box.signal == SIGSEGV &&
         scene->box.code != SI_KERNEL && scene->box.address < FIRST_PAGE;
}

opc_status_t opc_crash_describe(const opc_child_t *child, opc_symboliser_t *symboliser,
                                const opc_crash_limits_t *limits, opc_crash_t *out, opc_error_t *error) {
  memset(out, 0, sizeof *out);
  scene_t *scene = malloc(sizeof *scene);
  if (!scene) return opc_out_of_memory(error);
  crash_report_read_scene(child, symboliser, limits, scene);
  crash_report_describe_end(child, limits, scene, out);
  blame_reference(scene, out);
  out->seconds = seconds_run(child, scene);
  out->own_call = opc_call_kind_whose(scene->call) == OPC_CALL_WHOSE_OWN;
  out->asked_meta = scene->call == OPC_CALL_KIND_META_OF_SEARCH;
  opc_words_out(out->message.data);
  add_call(scene, &out->message);
  add_refusal(scene, &out->message);
  if (scene->frames.own) opc_frame_place(scene->frames.own, out->place, sizeof out->place);
  else snprintf(out->place, sizeof out->place, "status %d", child->status);

  out->evidence = json_object();
  if (child->cause == OPC_END_BY_ITSELF && WIFSIGNALED(child->status)) {
    json_object_set_new(out->evidence, "signal", json_integer(WTERMSIG(child->status)));
  } else if (child->cause == OPC_END_BY_ITSELF) {
    json_object_set_new(out->evidence, "exit_code", json_integer(WEXITSTATUS(child->status)));
  }
  if (scene->box.crashed == 1 && scene->box.signal != 0) {
    char address[32];
    snprintf(address, sizeof address, "0x%" PRIx64, scene->box.address);
    json_object_set_new(out->evidence, "address", json_string(address));
  }
  json_t *input = json_loads(scene->box.input, 0, NULL);
  if (json_is_object(input)) json_object_set(out->evidence, "input", input);
  json_decref(input);
  scene->box.provenance[sizeof scene->box.provenance - 1] = '\0';
  take_provenance(scene, out);
  if (reads_data_of_meta(scene)) json_object_set_new(out->evidence, "every_input", json_true());
  note_other_layout(scene, out->evidence);
  if (scene->box.why[0] != '\0') json_object_set_new(out->evidence, "why", json_string(scene->box.why));
  if (scene->frames.count > 0) json_object_set_new(out->evidence, "frames", opc_frames_json(&scene->frames));
  if (child->max_rss_kib > 0) json_object_set_new(out->evidence, "max_rss_kib", json_integer(child->max_rss_kib));
  opc_text_t tail = {0};
  opc_output_tail(child->output, TAIL_SIZE, &tail);
  if (tail.length > 0) json_object_set_new(out->evidence, "output", json_string(opc_text_c(&tail)));
  const bool on_purpose =
      child->cause == OPC_END_BY_ITSELF && (!WIFSIGNALED(child->status) || WTERMSIG(child->status) == SIGABRT);
  if (on_purpose)
    opc_text_add(&out->said, scene->box.terminate_text[0] != '\0' ? scene->box.terminate_text : opc_text_c(&tail));
  if (on_purpose && scene->box.terminate_text[0] == '\0') add_last_line(opc_text_c(&tail), &out->message);
  opc_text_clear(&tail);
  free(scene);
  return OPC_OK;
}

void opc_crash_clear(opc_crash_t *crash) {
  opc_text_clear(&crash->message);
  opc_text_clear(&crash->said);
  json_decref(crash->evidence);
  memset(crash, 0, sizeof *crash);
}
