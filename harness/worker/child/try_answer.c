#include "worker/child/try.h"

#include <stdlib.h>
#include <xxhash.h>

#include "model/json/json_write.h"

enum { MESSAGE_LIMIT = 4096, VALUES_MAX = 2048 };

static opc_try_outcome_t try_answer_outcome_of(opc_call_outcome_t outcome) {
  switch (outcome) {
    case OPC_CALL_RETURNED:
    case OPC_CALL_RESULT_REFUSED: /* the arguments are right */
      return OPC_TRY_RETURNED;
    case OPC_CALL_REJECTED:
      return OPC_TRY_REJECTED;
    case OPC_CALL_NO_KERNEL:
      return OPC_TRY_NO_KERNEL;
    case OPC_CALL_FAKE_IN_PYTHON:
      return OPC_TRY_FAKE_IN_PYTHON;
    case OPC_CALL_INTERNAL_ASSERT:
      return OPC_TRY_INTERNAL_ASSERT;
    case OPC_CALL_OUT_OF_MEMORY:
      return OPC_TRY_OUT_OF_MEMORY;
    case OPC_CALL_FOREIGN_EXCEPTION:
      return OPC_TRY_FOREIGN_EXCEPTION;
    case OPC_CALL_UNCONVERTIBLE:
      break;
  }
  return OPC_TRY_UNCONVERTIBLE;
}

/* Whole and finite numbers: a sample file can contain these without special syntax. */
static json_t *values_to_json(const opc_output_t *output) {
  void *bytes = NULL;
  size_t size = 0, width = output->meta.dtype_known ? opc_dtype_size(output->meta.dtype) : 0;
  bool wanted = output->meta.numel > 0 && output->meta.numel <= VALUES_MAX && width > 0 &&
                opc_dtype_class(output->meta.dtype) != OPC_CLASS_COMPLEX;
  if (!wanted || opc_tensor_logical_bytes(output->tensor, &bytes, &size, NULL) != OPC_OK) return NULL;
  json_t *list = json_array();
  for (size_t i = 0; i + width <= size; i += width) {
    opc_number_t number = opc_number_load(output->meta.dtype, (const char *)bytes + i);
    json_t *item = number.kind == OPC_NUMBER_INT ? json_integer(number.i)
                                                 : json_real(number.f); /* NULL if the number is not finite */
    if (item && json_array_append_new(list, item) == 0) continue;
    json_decref(list);
    list = NULL;
    break;
  }
  free(bytes);
  return list;
}

static json_t *tensor_to_json(const opc_output_t *output, bool values) {
  const opc_tensor_meta_t *meta = &output->meta;
  json_t *shape = json_array();
  for (int i = 0; i < meta->ndim && i < OPC_MAX_DIMS; i++)
    json_array_append_new(shape, json_integer((json_int_t)meta->sizes[i]));
  return json_pack("{s:o, s:s, s:o*}", "shape", shape, "dtype",
                   meta->dtype_known ? opc_dtype_name(meta->dtype) : meta->dtype_text, "values",
                   values ? values_to_json(output) : NULL);
}

/* One entry per return; a list is replaced by its tensors. */
static json_t *returns_to_json(const try_t *own, bool values) {
  json_t *list = json_array();
  size_t output = 0;
  for (size_t i = 0; i < own->call.return_count; i++) {
    size_t first = output;
    for (; output < own->output_count && own->outputs[output].return_index == i; output++)
      json_array_append_new(list, tensor_to_json(&own->outputs[output], values));
    if (output == first) json_array_append_new(list, json_null());
  }
  return list;
}

static json_t *access_to_json(const try_t *own) {
  char place[128] = "";
  const opc_access_t *access = &own->access;
  if (!own->wrote_outside && !own->read_outside) return NULL;
  if (access->frame_count > 0) opc_address_place(access->frames[0], place, sizeof place);
  int64_t beyond = access->offset < 0 ? access->offset : access->offset - (int64_t)access->block.bytes;
  return json_pack("{s:s, s:b, s:I, s:s}", "argument", access->block.label, "write", access->write, "beyond",
                   (json_int_t)beyond, "place", place);
}

void opc_try_note_accesses(try_t *own) {
  const opc_access_t *accesses = NULL;
  size_t count = opc_guard_accesses(&accesses);
  int best = -1;
  for (size_t i = 0; i < count; i++) {
    own->wrote_outside |= accesses[i].write;
    own->read_outside |= !accesses[i].write;
    int rank = (accesses[i].block.label[0] != '\0') + 2 * (accesses[i].frame_count > 0);
    if (rank <= best) continue;
    best = rank;
    own->access = accesses[i];
  }
}

json_t *opc_try_answer(const try_t *own, const try_facts_t *facts) {
  char message[MESSAGE_LIMIT], digest[24];
  snprintf(message, sizeof message, "%s", facts->observed ? facts->why : opc_text_c(&own->call.message));
  snprintf(digest, sizeof digest, "%016llx",
           (unsigned long long)XXH3_64bits(opc_text_c(&own->effects), own->effects.length));
  return json_pack("{s:s, s:s, s:o, s:s, s:f, s:f, s:o, s:O, s:b, s:b, s:b, s:s, s:o*, s:o*}", "t", "tried", "outcome",
                   opc_try_outcome_name(facts->observed ? facts->outcome : try_answer_outcome_of(own->call.outcome)),
                   "message", opc_json_string(message), "site", facts->site, "seconds", facts->seconds, "cpu_seconds",
                   facts->cpu_seconds, "returns", returns_to_json(own, facts->values), "mutated", own->mutated,
                   "effect", facts->effect, "depends_on_values", facts->depends, "steady", facts->steady, "digest",
                   digest, "access", access_to_json(own), "refused_on_meta",
                   facts->refused_on_meta ? opc_json_string(facts->refused_on_meta) : NULL);
}
