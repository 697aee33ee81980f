#include "model/package/archive.h"

#include <string.h>

#include "base/owned.h"

enum {
  WORDS_MAX = 1 << 14, /* also limits the nesting depth of a value */
  MARKS_MAX = 64,
  MEMO_MAX = 1 << 14
};

typedef struct machine {
  const unsigned char *at, *end;
  json_t *stack; /* an array */
  json_t *memo;  /* an array; unused slots are null */
  size_t marks[MARKS_MAX], mark_count;
  bool broken; /* out of bytes, values or memory; or a value contains itself */
} machine_t;

static uint64_t take_number(machine_t *m, size_t bytes) {
  uint64_t number = 0;
  if ((size_t)(m->end - m->at) < bytes) {
    m->broken = true;
    return 0;
  }
  for (size_t i = 0; i < bytes; i++) number |= (uint64_t)m->at[i] << (8 * i);
  m->at += bytes;
  return number;
}

static void push(machine_t *m, json_t *value) { m->broken = json_array_append_new(m->stack, value) != 0 || m->broken; }

/* A new reference; null if the stack is empty. */
static json_t *pop(machine_t *m) {
  size_t count = json_array_size(m->stack);
  json_t *value = count ? json_incref(json_array_get(m->stack, count - 1)) : NULL;
  m->broken = !count || json_array_remove(m->stack, count - 1) != 0 || m->broken;
  return value ? value : json_null();
}

static json_t *top(machine_t *m) {
  size_t count = json_array_size(m->stack);
  m->broken = !count || m->broken;
  return count ? json_array_get(m->stack, count - 1) : NULL;
}

static size_t take_mark(machine_t *m) {
  size_t count = json_array_size(m->stack);
  m->broken = !m->mark_count || m->broken;
  size_t mark = m->mark_count ? m->marks[--m->mark_count] : count;
  return mark <= count ? mark : count;
}

/* Pops the values from `first` on into one array. */
static json_t *pickle_gather(machine_t *m, size_t first) {
  json_t *array = json_array();
  for (size_t i = first; i < json_array_size(m->stack); i++) json_array_append(array, json_array_get(m->stack, i));
  while (json_array_size(m->stack) > first) json_array_remove(m->stack, json_array_size(m->stack) - 1);
  return array;
}

static void push_last(machine_t *m, size_t count) {
  size_t have = json_array_size(m->stack);
  m->broken = have < count || m->broken;
  push(m, pickle_gather(m, have < count ? 0 : have - count));
}

static void push_string(machine_t *m, size_t length) {
  if ((size_t)(m->end - m->at) < length) {
    m->broken = true;
    return;
  }
  push(m, json_stringn((const char *)m->at, length));
  m->at += length;
}

/* "module\nname\n" */
static void push_global(machine_t *m) {
  const unsigned char *module = m->at, *first = memchr(module, '\n', (size_t)(m->end - module));
  const unsigned char *second = first ? memchr(first + 1, '\n', (size_t)(m->end - first - 1)) : NULL;
  if (!second) {
    m->broken = true;
    return;
  }
  push(m, json_pack("{s:o}", "global",
                    json_sprintf("%.*s %.*s", (int)(first - module), (const char *)module, (int)(second - first - 1),
                                 (const char *)first + 1)));
  m->at = second + 1;
}

static void push_signed(machine_t *m, size_t bytes) {
  uint64_t number = take_number(m, bytes), sign = bytes ? (uint64_t)1 << (8 * bytes - 1) : 0;
  if (bytes && bytes < sizeof number && (number & sign)) number |= ~(uint64_t)0 << (8 * bytes);
  push(m, json_integer((json_int_t)number));
}

static void push_double(machine_t *m) {
  uint64_t bits = __builtin_bswap64(take_number(m, sizeof bits)); /* the only big-endian number */
  double value;
  memcpy(&value, &bits, sizeof value);
  json_t *number = json_real(value);
  push(m, number ? number : json_string("not finite"));
}

/* Only the stack and the memo refer to it: added values cannot contain it, so no value contains itself. */
static bool pickle_is_new(const json_t *container) { return container && container->refcount <= 2; }

static void add_to_container(machine_t *m, size_t first) {
  json_t *values = pickle_gather(m, first), *container = top(m), *pairs = json_object_get(container, "dict");
  json_t *to = pairs ? pairs : container;
  m->broken = !json_is_array(to) || !pickle_is_new(container) || json_array_extend(to, values) != 0 || m->broken;
  json_decref(values);
}

static void add_last(machine_t *m, size_t count) {
  size_t have = json_array_size(m->stack);
  m->broken = have <= count || m->broken;
  if (!m->broken) add_to_container(m, have - count);
}

static void call(machine_t *m) {
  json_auto_t *arguments = pop(m), *callee = pop(m);
  const char *name = json_string_value(json_object_get(callee, "global"));
  /* An ordered dictionary, filled afterwards. */
  if (name && strcmp(name, "collections OrderedDict") == 0) push(m, json_pack("{s:[]}", "dict"));
  else push(m, json_pack("{s:s, s:O}", "call", name ? name : "?", "args", arguments));
}

static void pickle_remember(machine_t *m, uint64_t number) {
  json_t *value = top(m);
  m->broken = !value || number >= MEMO_MAX || m->broken;
  while (!m->broken && json_array_size(m->memo) <= number) m->broken = json_array_append_new(m->memo, json_null()) != 0;
  if (!m->broken) m->broken = json_array_set(m->memo, number, value) != 0;
}

static void pickle_recall(machine_t *m, uint64_t number) {
  json_t *value = json_array_get(m->memo, number);
  m->broken = !value || m->broken;
  if (value) push(m, json_incref(value));
}

static void mark(machine_t *m) {
  m->broken = m->mark_count == MARKS_MAX || m->broken;
  if (!m->broken) m->marks[m->mark_count++] = json_array_size(m->stack);
}

/* False: unknown opcode. */
static bool run_word(machine_t *m, unsigned char word) {
  switch (word) {
    case 0x80:
      (void)take_number(m, 1);
      return true; /* the protocol */
    case 'N':
      push(m, json_null());
      return true;
    case 0x88:
      push(m, json_true());
      return true;
    case 0x89:
      push(m, json_false());
      return true;
    case 'K':
      push(m, json_integer((json_int_t)take_number(m, 1)));
      return true;
    case 'M':
      push(m, json_integer((json_int_t)take_number(m, 2)));
      return true;
    case 'J':
      push_signed(m, 4);
      return true;
    case 0x8a: { /* LONG1 */
      size_t bytes = (size_t)take_number(m, 1);
      if (bytes > sizeof(uint64_t)) return false;
      push_signed(m, bytes);
      return true;
    }
    case 'G':
      push_double(m);
      return true;
    case 'X':
      push_string(m, (size_t)take_number(m, 4));
      return true;
    case 0x8c:
      push_string(m, (size_t)take_number(m, 1));
      return true;
    case 'c':
      push_global(m);
      return true;
    case '(':
      mark(m);
      return true;
    case ')':
    case ']':
      push(m, json_array());
      return true;
    case '}':
      push(m, json_pack("{s:[]}", "dict"));
      return true;
    case 't':
    case 'l':
      push(m, pickle_gather(m, take_mark(m)));
      return true;
    case 0x85:
    case 0x86:
    case 0x87:
      push_last(m, word - 0x84U);
      return true;
    case 'a':
      add_last(m, 1);
      return true;
    case 's':
      add_last(m, 2);
      return true;
    case 'e':
    case 'u':
      add_to_container(m, take_mark(m));
      return true;
    case 'R':
      call(m);
      return true;
    case 'Q':
      push(m, json_pack("{s:o}", "persistent", pop(m)));
      return true;
    case 'q':
      pickle_remember(m, take_number(m, 1));
      return true;
    case 'r':
      pickle_remember(m, take_number(m, 4));
      return true;
    case 'h':
      pickle_recall(m, take_number(m, 1));
      return true;
    case 'j':
      pickle_recall(m, take_number(m, 4));
      return true;
    default:
      return false;
  }
}

static opc_status_t machine_run(machine_t *m, json_t **out, opc_error_t *error) {
  bool stopped = false;
  for (size_t words = 0; !stopped; words++) {
    unsigned char word = (unsigned char)take_number(m, 1);
    stopped = word == '.' && !m->broken;
    if (!stopped && !m->broken && (words == WORDS_MAX || !run_word(m, word)))
      return opc_error_set(error, OPC_ERR_UNSUPPORTED,
                           "its pickle holds more than tensors in tuples, lists and dictionaries (word 0x%02x)", word);
    if (m->broken) return opc_error_set(error, OPC_ERR_INPUT, "its pickle is broken");
  }
  json_auto_t *value = pop(m);
  if (m->broken) return opc_error_set(error, OPC_ERR_INPUT, "its pickle is broken: it makes nothing");
  OPC_MOVE(out, value);
  return OPC_OK;
}

opc_status_t opc_pickle_read(const char *bytes, size_t size, json_t **out, opc_error_t *error) {
  machine_t m = {.at = (const unsigned char *)bytes,
                 .end = (const unsigned char *)bytes + size,
                 .stack = json_array(),
                 .memo = json_array()};
  *out = NULL;
  const opc_status_t status = machine_run(&m, out, error);
  json_decref(m.stack);
  json_decref(m.memo);
  return status;
}
