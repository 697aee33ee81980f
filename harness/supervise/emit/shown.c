#include <string.h>

#include "supervise/emit/program_inside.h"

const opc_shown_t opc_shown[] = {
#define OPC_SHOWN(rule, part, fact) {rule, part, fact, NULL},
#define OPC_NOT_SHOWN(rule, reason) {rule, NULL, "", reason},
#include "supervise/emit/shown.def"
#undef OPC_SHOWN
#undef OPC_NOT_SHOWN
};
const size_t opc_shown_count = sizeof opc_shown / sizeof *opc_shown;

static const char *const language_names[] = {"", "python", "cpp"}; /* in the order of opc_language_t */

opc_language_t opc_language_find(const char *name) {
  for (size_t i = 1; i < sizeof language_names / sizeof *language_names; i++)
    if (strcmp(name, language_names[i]) == 0) return (opc_language_t)i;
  return OPC_LANGUAGE_NONE;
}

const char *opc_language_name(opc_language_t language) { return language_names[language]; }

static bool shown_matches(const opc_shown_t *shown, const char *name) {
  return opc_string_ends(shown->rule, ".") ? opc_string_begins(name, shown->rule) : strcmp(name, shown->rule) == 0;
}

const opc_shown_t *opc_shown_of(opc_rule_id_t rule) {
  const char *name = opc_rule_name(rule);
  for (size_t i = 0; name && i < opc_shown_count; i++)
    if (shown_matches(&opc_shown[i], name)) return &opc_shown[i];
  return NULL;
}

static bool has_part(const opc_shown_t *shown, opc_language_t language) {
  OPC_SCOPED(opc_scope_free) char *line = opc_string_format("part show_%s\n", shown->part);
  return line && strstr(language == OPC_LANGUAGE_PYTHON ? opc_python_parts : opc_cpp_parts, line);
}

bool opc_program_is_possible(opc_rule_id_t rule, opc_language_t language, opc_text_t *why) {
  const opc_shown_t *shown = opc_shown_of(rule);
  const opc_language_t other = language == OPC_LANGUAGE_PYTHON ? OPC_LANGUAGE_CPP : OPC_LANGUAGE_PYTHON;
  if (shown && shown->part && has_part(shown, language)) return true;
  if (!why) return false;
  opc_text_addf(why, "no program of its own can show %s: ", opc_rule_name(rule));
  if (shown && shown->part && has_part(shown, other))
    opc_text_addf(why, "only one in the other language can, --emit %s", opc_language_name(other));
  else opc_text_add(why, shown && shown->reason ? shown->reason : "nothing is known of how");
  return false;
}

bool opc_program_check_is_possible(const char *check, opc_language_t language, opc_text_t *why) {
  OPC_SCOPED(opc_scope_free) char *family = opc_string_format("%s.", check);
  const opc_shown_t *last = NULL;
  for (opc_rule_id_t rule = OPC_RULE_NONE + 1; family && rule < OPC_RULE_COUNT; rule++) {
    if (!opc_string_begins(opc_rule_name(rule), family)) continue;
    if (opc_program_is_possible(rule, language, NULL)) return true;
    last = opc_shown_of(rule);
  }
  if (!last) return true;
  opc_text_addf(why, "no program of its own can show what check %s finds: %s", check,
                last->reason ? last->reason : "this language has no part for it yet");
  return false;
}
