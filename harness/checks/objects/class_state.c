#include "checks/objects/class_state.h"

#include <stdlib.h>
#include <string.h>

/* It returns something and needs only the object. Methods that Python's copy and pickle call have checks of their
 * own. */
static bool is_view(const opc_method_t *method) {
  static const char *const others[] = {"__init__", "__getstate__", "__setstate__", "__copy__", "__deepcopy__"};
  OPC_SCOPED(opc_operator_clear) opc_operator_t parsed = {0};
  const char *arrow = method->schema ? strstr(method->schema, "->") : NULL;
  for (size_t i = 0; i < sizeof others / sizeof *others; i++)
    if (strcmp(method->name, others[i]) == 0) return false;
  if (!arrow || strstr(arrow, "NoneType") || strstr(arrow, "-> ()") ||
      opc_schema_arguments(method->schema, &parsed, NULL) != OPC_OK)
    return false;
  bool wants = parsed.argument_count == 0;
  for (size_t i = 1; i < parsed.argument_count; i++) wants = wants || !parsed.arguments[i].has_default;
  return !wants;
}

opc_status_t opc_class_state_take(const opc_operator_t *op, const opc_object_t *object,
                                  void (*announce)(opc_call_label_t label), opc_class_state_t *out,
                                  opc_error_t *error) {
  *out = (opc_class_state_t){.views = calloc(op->method_count + 1, sizeof *out->views)};
  if (!out->views) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for what an object says of itself");
  for (size_t i = 0; i < op->method_count; i++) {
    if (!is_view(&op->methods[i])) continue;
    opc_class_view_t *view = &out->views[out->count++];
    view->method = op->methods[i].name;
    announce(OPC_CALL_LABEL(METHOD, view->method));
    view->outcome = opc_object_call(object, view->method, NULL, 0, &view->call.returns, &view->call.return_count,
                                    &view->call.message);
    if (view->outcome == OPC_CALL_RETURNED) OPC_RETURN_IF_ERROR(opc_result_take(&view->result, &view->call, 0, error));
  }
  return OPC_OK;
}

void opc_class_state_clear(opc_class_state_t *state) {
  for (size_t i = 0; i < state->count; i++) {
    opc_result_clear(&state->views[i].result);
    opc_call_clear(&state->views[i].call);
  }
  free(state->views);
  *state = (opc_class_state_t){0};
}

static bool views_differ(const opc_class_view_t *left, const opc_class_view_t *right, const char *right_name,
                         opc_text_t *text) {
  if (left->outcome != right->outcome) {
    const opc_class_view_t *refused = left->outcome == OPC_CALL_RETURNED ? right : left;
    if (text)
      opc_text_addf(text, "%s() %s %s", left->method,
                    refused == right ? "is refused by" : "is refused before, and not by", right_name);
    if (text && opc_text_c(&refused->call.message)[0])
      opc_text_addf(text, ": %.*s", (int)strcspn(opc_text_c(&refused->call.message), "\n"),
                    opc_text_c(&refused->call.message));
    return true;
  }
  opc_difference_t difference = opc_result_compare(&left->result, &right->result, NULL, NULL);
  if (difference.kind == OPC_DIFFERENCE_NONE) return false;
  if (text) opc_text_addf(text, "%s(): ", left->method);
  if (text) opc_difference_text(&difference, &left->result, &right->result, right_name, text);
  return true;
}

int opc_class_state_compare(const opc_class_state_t *left, const opc_class_state_t *control,
                            const opc_class_state_t *right, const char *right_name, opc_text_t *text,
                            size_t *out_compared) {
  *out_compared = 0;
  for (size_t i = 0; i < left->count; i++) {
    if (views_differ(&left->views[i], &control->views[i], "", NULL)) continue;
    ++*out_compared;
    if (views_differ(&left->views[i], &right->views[i], right_name, text)) return (int)i;
  }
  return -1;
}

static bool share_storage(const opc_class_view_t *left, const opc_class_view_t *right) {
  for (size_t i = 0; i < left->result.count; i++) {
    const opc_result_item_t *item = &left->result.items[i];
    for (size_t k = 0;
         item->kind == OPC_VALUE_TENSOR && item->meta.storage && item->meta.numel > 0 && k < right->result.count; k++)
      if (right->result.items[k].kind == OPC_VALUE_TENSOR && right->result.items[k].meta.storage == item->meta.storage)
        return true;
  }
  return false;
}

int opc_class_state_shared(const opc_class_state_t *left, const opc_class_state_t *control,
                           const opc_class_state_t *right) {
  for (size_t i = 0; i < left->count; i++)
    if (share_storage(&left->views[i], &right->views[i]) && !share_storage(&left->views[i], &control->views[i]))
      return (int)i;
  return -1;
}
