/* Registers and variables by name, with the scopes of { }. */
#include <ctype.h>

#include "cuda/ptx/ptx_text.h"

opc_ptx_name_t *opc_ptx_names_add(opc_ptx_names_t *names, opc_ptx_arena_t *arena, opc_ptx_span_t name) {
  opc_ptx_name_t *out = opc_ptx_arena_take(arena, sizeof *out);
  if (!out) return NULL;
  opc_ptx_name_t **bucket = &names->buckets[opc_ptx_span_hash(name) % OPC_PTX_NAME_BUCKETS];
  out->name = name;
  out->next = *bucket;
  out->in_scope = names->scopes[names->depth];
  *bucket = names->scopes[names->depth] = out;
  return out;
}

static const opc_ptx_name_t *lookup(const opc_ptx_names_t *names, opc_ptx_span_t name, bool range) {
  const opc_ptx_name_t *at = names->buckets[opc_ptx_span_hash(name) % OPC_PTX_NAME_BUCKETS];
  while (at && !(at->range == range && opc_ptx_span_equal(at->name, name))) at = at->next;
  return at;
}

const opc_ptx_name_t *opc_ptx_names_find(const opc_ptx_names_t *names, opc_ptx_span_t name, uint32_t *out_index) {
  const opc_ptx_name_t *exact = lookup(names, name, false);
  opc_ptx_span_t prefix = name;
  uint64_t index = 0, weight = 1;
  *out_index = 0;
  if (exact) return exact;
  /* %r12 is the 13th of %r<20>; a name may end in digits itself: %r1<20> */
  while (prefix.length > 1 && weight < UINT32_MAX && isdigit((unsigned char)prefix.at[prefix.length - 1])) {
    prefix.length--;
    index += (uint64_t)(prefix.at[prefix.length] - '0') * weight;
    weight *= 10;
    const opc_ptx_name_t *found = lookup(names, prefix, true);
    if (!found || index >= found->count) continue;
    *out_index = (uint32_t)index;
    return found;
  }
  return NULL;
}

bool opc_ptx_names_open(opc_ptx_names_t *names) {
  if (names->depth + 1 == OPC_PTX_SCOPES) return false;
  names->scopes[++names->depth] = NULL;
  return true;
}

/* The newest name is the first of its bucket. */
void opc_ptx_names_close(opc_ptx_names_t *names) {
  for (opc_ptx_name_t *name = names->scopes[names->depth]; name; name = name->in_scope)
    names->buckets[opc_ptx_span_hash(name->name) % OPC_PTX_NAME_BUCKETS] = name->next;
  names->depth--;
}
