#include "checks/framework/global_state.h"

#include <string.h>
#include <unistd.h>

const opc_rule_id_t opc_state_rules[OPC_STATE_KINDS] = {
    [OPC_STATE_GRAD_MODE] = OPC_RULE_state_grad_mode,
    [OPC_STATE_DISPATCH] = OPC_RULE_state_dispatch,
    [OPC_STATE_DEFAULT_DTYPE] = OPC_RULE_state_default_dtype,
    [OPC_STATE_SETTINGS] = OPC_RULE_state_settings,
    [OPC_STATE_GENERATOR] = OPC_RULE_state_generator,
    [OPC_STATE_THREADS] = OPC_RULE_state_threads,
    [OPC_STATE_FLOATING_POINT] = OPC_RULE_state_floating_point,
    [OPC_STATE_STREAMS] = OPC_RULE_state_streams,
    [OPC_STATE_PROCESS] = OPC_RULE_state_process,
    [OPC_STATE_OUTSIDE] = OPC_RULE_state_outside,
    [OPC_STATE_STARTED] = OPC_RULE_state_started,
    [OPC_STATE_PYTHON] = OPC_RULE_state_python,
    [OPC_STATE_PRINTED] = OPC_RULE_state_printed,
};

typedef enum value_form { FORM_SWITCH, FORM_NUMBER, FORM_DTYPE, FORM_KEYS, FORM_OTHER } value_form_t;

static const struct setting_row {
  opc_state_kind_t kind;
  value_form_t form;
  const char *words;
} setting_rows[OPC_SETTING_COUNT] = {
    [OPC_SETTING_GRAD_MODE] = {OPC_STATE_GRAD_MODE, FORM_SWITCH, "grad mode"},
    [OPC_SETTING_INFERENCE_MODE] = {OPC_STATE_GRAD_MODE, FORM_SWITCH, "inference mode"},
    [OPC_SETTING_FORWARD_GRAD] = {OPC_STATE_GRAD_MODE, FORM_SWITCH, "forward-mode differentiation"},
    [OPC_SETTING_AUTOCAST_CPU] = {OPC_STATE_DISPATCH, FORM_SWITCH, "autocast for the CPU"},
    [OPC_SETTING_AUTOCAST_CUDA] = {OPC_STATE_DISPATCH, FORM_SWITCH, "autocast for CUDA"},
    [OPC_SETTING_AUTOCAST_DTYPE] = {OPC_STATE_DISPATCH, FORM_DTYPE, "the dtype of autocast"},
    [OPC_SETTING_DISPATCH_INCLUDED] = {OPC_STATE_DISPATCH, FORM_KEYS,
                                       "the dispatch keys that the thread adds to every call"},
    [OPC_SETTING_DISPATCH_EXCLUDED] = {OPC_STATE_DISPATCH, FORM_KEYS,
                                       "the dispatch keys that the thread leaves out of every call"},
    [OPC_SETTING_DEFAULT_DTYPE] = {OPC_STATE_DEFAULT_DTYPE, FORM_DTYPE, "the default dtype"},
    [OPC_SETTING_THREADS] = {OPC_STATE_THREADS, FORM_NUMBER, "the number of intra-op threads"},
    [OPC_SETTING_DETERMINISTIC] = {OPC_STATE_SETTINGS, FORM_SWITCH, "the use of deterministic algorithms"},
    [OPC_SETTING_DETERMINISTIC_WARN_ONLY] = {OPC_STATE_SETTINGS, FORM_SWITCH,
                                             "warning only about nondeterministic algorithms"},
    [OPC_SETTING_FILL_UNINITIALISED] = {OPC_STATE_SETTINGS, FORM_SWITCH, "filling of uninitialised memory"},
    [OPC_SETTING_ONEDNN] = {OPC_STATE_SETTINGS, FORM_SWITCH, "the use of oneDNN"},
    [OPC_SETTING_CUDNN_BENCHMARK] = {OPC_STATE_SETTINGS, FORM_SWITCH, "cuDNN's benchmark mode"},
    [OPC_SETTING_SEED] = {OPC_STATE_GENERATOR, FORM_NUMBER, "the seed of the default generator"},
    [OPC_SETTING_CPP_STREAMS] = {OPC_STATE_STREAMS, FORM_OTHER,
                                 "std::cout, std::cerr or std::clog has another format or buffer"},
    [OPC_SETTING_CPP_LOCALE] = {OPC_STATE_PROCESS, FORM_OTHER, "std::locale() is another"},
    [OPC_SETTING_TERMINATE_HANDLER] = {OPC_STATE_PROCESS, FORM_OTHER, "std::terminate has another handler"},
    [OPC_SETTING_NEW_HANDLER] = {OPC_STATE_PROCESS, FORM_OTHER, "operator new has another handler"},
};

static bool has_first;
static opc_state_t first;

/* ---- reading and restoring ---- */

void opc_state_read(opc_state_t *state) {
  opc_bridge_settings_read(state->settings);
  state->warned = opc_bridge_warnings_printed();
  opc_process_state_read(&state->process);
}

void opc_state_forget_first(void) {
  has_first = false;
  opc_process_state_forget();
}

const opc_state_t *opc_state_first(void) {
  if (has_first) return &first;
  has_first = true;
  opc_state_read(&first);
  first.process = *opc_process_state_keep();
  return &first;
}

void opc_state_restore(const opc_state_t *now) {
  int64_t wanted[OPC_SETTING_COUNT];
  memcpy(wanted, first.settings, sizeof wanted);
  wanted[OPC_SETTING_SEED] = now->settings[OPC_SETTING_SEED]; /* every call sets another seed */
  opc_bridge_settings_write(wanted);
  opc_process_state_restore(&now->process);
}

bool opc_state_seems_first(void) {
  int64_t now[OPC_SETTING_COUNT];
  opc_fp_control_t fp = opc_fp_control_read();
  opc_bridge_settings_read(now);
  now[OPC_SETTING_SEED] = first.settings[OPC_SETTING_SEED];
  return memcmp(now, first.settings, sizeof now) == 0 && fp.vector == first.process.fp.vector &&
         fp.scalar == first.process.fp.scalar;
}

void opc_state_make_other(void) {
  int64_t wanted[OPC_SETTING_COUNT];
  opc_bridge_settings_other(first.settings, wanted);
  opc_bridge_settings_write(wanted);
  opc_fp_control_write(opc_fp_control_flushing(first.process.fp));
}

/* ---- comparing ---- */

static void keys_compare(const char *words, int64_t before, int64_t after, opc_text_t *out) {
  char gained[256], lost[256];
  opc_bridge_keys_text(after & ~before, gained, sizeof gained);
  opc_bridge_keys_text(before & ~after, lost, sizeof lost);
  opc_text_addf(out, "%s have", words);
  if (after & ~before) opc_text_addf(out, " %s besides", gained);
  if (before & ~after) opc_text_addf(out, "%s no longer %s", after & ~before ? " and" : "", lost);
}

static void setting_compare(const struct setting_row *row, int64_t before, int64_t after, opc_text_t *out) {
  if (before == after) return;
  if (out->length) opc_text_add(out, ", ");
  switch (row->form) {
    case FORM_SWITCH:
      opc_text_addf(out, "%s was %s and is %s", row->words, before ? "on" : "off", after ? "on" : "off");
      break;
    case FORM_NUMBER:
      opc_text_addf(out, "%s was %lld and is %lld", row->words, (long long)before, (long long)after);
      break;
    case FORM_DTYPE:
      opc_text_addf(out, "%s was %s and is %s", row->words, opc_bridge_dtype_name(before),
                    opc_bridge_dtype_name(after));
      break;
    case FORM_KEYS:
      keys_compare(row->words, before, after, out);
      break;
    case FORM_OTHER:
      opc_text_add(out, row->words);
      break;
  }
}

/* Inference mode and autocast are also kept in the dispatch keys: such a change is reported once. */
static bool explains_keys(opc_setting_t setting) {
  return setting == OPC_SETTING_INFERENCE_MODE || setting == OPC_SETTING_AUTOCAST_CPU ||
         setting == OPC_SETTING_AUTOCAST_CUDA;
}

static void settings_compare(const int64_t *before, const int64_t *after, opc_state_changes_t *out) {
  bool explained = false;
  for (int i = 0; i < OPC_SETTING_COUNT; i++) {
    explained = explained || (explains_keys((opc_setting_t)i) && before[i] != after[i]);
    if (explained && setting_rows[i].form == FORM_KEYS) continue;
    setting_compare(&setting_rows[i], before[i], after[i], &out->texts[setting_rows[i].kind]);
  }
}

/* The start of what was printed, if the file can be read. */
static void add_printed_words(int fd, off_t from, opc_text_t *out) {
  char words[80];
  ssize_t length = pread(fd, words, sizeof words, from);
  if (length <= 0) return;
  const char *line_end = memchr(words, '\n', (size_t)length);
  opc_text_add(out, ": \"");
  opc_text_add_utf8(out, words, line_end ? (size_t)(line_end - words) : (size_t)length);
  opc_text_add(out, "\"");
}

/* stdout and stderr may be one file: then it grew once. If a file became shorter meanwhile, nothing can be said. */
static void printed_compare(const opc_state_t *before, const opc_state_t *after, opc_text_t *out) {
  static const char *const names[OPC_STREAMS] = {"standard input", "standard output", "standard error"};
  long long warned = (long long)(after->warned - before->warned);
  bool one_file = before->process.streams[1].inode == before->process.streams[2].inode &&
                  before->process.streams[1].device == before->process.streams[2].device;
  for (int fd = 1; fd < OPC_STREAMS; fd++) {
    const struct opc_stream_state *was = &before->process.streams[fd], *is = &after->process.streams[fd];
    if (fd == 2 && one_file) break;
    if (!is->open || was->inode != is->inode || was->device != is->device) continue;
    long long printed = (long long)(is->size - was->size) - (fd == 2 || one_file ? warned : 0);
    if (printed <= 0) continue;
    if (out->length) opc_text_add(out, ", ");
    opc_text_addf(out, "%lld bytes were printed to %s", printed, one_file ? "standard output or error" : names[fd]);
    if (!warned) add_printed_words(fd, was->size, out);
  }
}

void opc_state_compare(const opc_state_t *before, const opc_state_t *after, opc_state_changes_t *out) {
  settings_compare(before->settings, after->settings, out);
  opc_text_t *const parts[OPC_PROCESS_PARTS] = {
      [OPC_PROCESS_FLOATING_POINT] = &out->texts[OPC_STATE_FLOATING_POINT],
      [OPC_PROCESS_STREAMS] = &out->texts[OPC_STATE_STREAMS],
      [OPC_PROCESS_PROCESSORS] = &out->texts[OPC_STATE_THREADS],
      [OPC_PROCESS_REFUSALS] = &out->texts[OPC_STATE_OUTSIDE],
      [OPC_PROCESS_STARTED] = &out->texts[OPC_STATE_STARTED],
      [OPC_PROCESS_SURROUNDINGS] = &out->texts[OPC_STATE_PROCESS],
  };
  opc_process_state_compare(&before->process, &after->process, parts);
  printed_compare(before, after, &out->texts[OPC_STATE_PRINTED]);
}

bool opc_state_changes_any(const opc_state_changes_t *changes) {
  for (int kind = 0; kind < OPC_STATE_KINDS; kind++)
    if (changes->texts[kind].length) return true;
  return false;
}

void opc_state_changes_clear(opc_state_changes_t *changes) {
  for (int kind = 0; kind < OPC_STATE_KINDS; kind++) opc_text_clear(&changes->texts[kind]);
}
