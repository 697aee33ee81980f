/* A kernel becomes a program: its statements are decoded, the functions that it calls are put in place of the calls. */
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "cuda/ptx/ptx_machine.h"

enum { OPS_MOST = 1 << 18, CALLS_MOST = 1 << 14, DEPTH_MOST = 64, FRAME_MOST = 1 << 24, SHARED_MOST = 1 << 28 };

/* A variable's place in the frame of local memory, or in shared memory. */
typedef struct place {
  const opc_ptx_symbol_t *symbol;
  uint32_t offset;
} place_t;

/* One use of a function. */
typedef struct instance {
  const opc_ptx_function_t *function;
  struct instance *caller;
  uint32_t *registers, *predicates; /* of the function → of the program; OPC_PTX_NO_SLOT: not used yet */
  uint32_t *starts;                 /* statement → operation */
  opc_ptx_list_t places;            /* place_t: of its own variables and parameters */
} instance_t;

typedef struct maker {
  opc_ptx_program_t *program;
  opc_ptx_arena_t scratch;
  opc_ptx_list_t shared; /* place_t */
  opc_ptx_problem_t *problem;
  uint32_t depth, calls;
} maker_t;

static bool refuse(maker_t *maker, uint32_t line, const char *format, ...) __attribute__((format(printf, 3, 4)));
static bool refuse(maker_t *maker, uint32_t line, const char *format, ...) {
  va_list arguments;
  if (maker->problem->message[0] != '\0') return false;
  maker->problem->line = line;
  va_start(arguments, format);
  (void)vsnprintf(maker->problem->message, sizeof maker->problem->message, format, arguments);
  va_end(arguments);
  return false;
}

static bool no_memory(maker_t *maker) { return refuse(maker, 0, "out of memory"); }

/* ---- variables ---- */

static place_t *place_find(const opc_ptx_list_t *places, const opc_ptx_symbol_t *symbol) {
  place_t *items = places->items;
  for (uint32_t i = places->count; i > 0; i--)
    if (items[i - 1].symbol == symbol) return &items[i - 1];
  return NULL;
}

static bool place_add(maker_t *maker, opc_ptx_list_t *places, const opc_ptx_symbol_t *symbol, uint32_t offset) {
  place_t *place = opc_ptx_list_add(&maker->scratch, places, sizeof *place);
  if (!place) return no_memory(maker);
  *place = (place_t){symbol, offset};
  return true;
}

/* The next free offset; *end moves behind it. */
static bool allot(maker_t *maker, const opc_ptx_symbol_t *symbol, uint32_t most, uint32_t *end, uint32_t *out) {
  const uint32_t align = symbol->align < 16 ? 16 : symbol->align;
  const uint64_t offset = ((uint64_t)*end + align - 1) / align * align;
  if (offset + symbol->size > most)
    return refuse(maker, 0, "its variables need more than %u MiB of %s memory", most >> 20,
                  symbol->space == OPC_PTX_SPACE_SHARED ? "shared" : "local");
  *out = (uint32_t)offset;
  *end = (uint32_t)(offset + symbol->size);
  return true;
}

/* The value of a variable's address in its own space. Dynamic shared memory has none before a launch. */
static bool variable_offset(maker_t *maker, instance_t *instance, const opc_ptx_symbol_t *symbol, uint64_t *out) {
  uint32_t offset = 0;
  const bool frame = symbol->of_call || symbol->space == OPC_PTX_SPACE_LOCAL;
  opc_ptx_list_t *places = frame ? &instance->places : &maker->shared;
  if (symbol->space == OPC_PTX_SPACE_PARAM && !symbol->of_call) {
    *out = symbol->offset;
    return true;
  }
  if (symbol->space == OPC_PTX_SPACE_GLOBAL || symbol->space == OPC_PTX_SPACE_CONST) {
    *out = opc_ptx_variable_address(symbol);
    return *out != 0 ||
           refuse(maker, 0, "the variable %.*s is defined elsewhere", (int)symbol->name.length, symbol->name.at);
  }
  const place_t *place = place_find(places, symbol);
  if (place) {
    *out = place->offset;
    return true;
  }
  uint32_t *end = frame ? &maker->program->frame_bytes : &maker->program->shared_bytes;
  if (!allot(maker, symbol, frame ? FRAME_MOST : SHARED_MOST, end, &offset) ||
      !place_add(maker, places, symbol, offset))
    return false;
  *out = offset;
  return true;
}

/* ---- values ---- */

static uint32_t constant(maker_t *maker, opc_ptx_list_t *list, uint64_t bits) {
  opc_ptx_constant_t *items = list->items;
  for (uint32_t i = list->count; i > 0 && i + 64 > list->count; i--)
    if (items[i - 1].bits == bits) return items[i - 1].slot;
  opc_ptx_constant_t *added = opc_ptx_list_add(&maker->program->arena, list, sizeof *added);
  if (!added) {
    (void)no_memory(maker);
    return OPC_PTX_NO_SLOT;
  }
  *added = (opc_ptx_constant_t){bits, maker->program->registers++};
  return added->slot;
}

static uint32_t register_of(maker_t *maker, const instance_t *instance, uint32_t number) {
  uint32_t *slot = &instance->registers[number];
  if (*slot == OPC_PTX_NO_SLOT) *slot = maker->program->registers++;
  return *slot;
}

static uint32_t predicate_of(maker_t *maker, const instance_t *instance, uint32_t number) {
  uint32_t *slot = &instance->predicates[number];
  if (*slot == OPC_PTX_NO_SLOT) *slot = maker->program->predicates++;
  return *slot;
}

/* A number as an instruction of the type reads it. */
static uint64_t number_bits(const opc_ptx_operand_t *operand, opc_ptx_says_t type) {
  double wide;
  float narrow;
  uint32_t bits = (uint32_t)operand->bits;
  uint64_t out = operand->bits;
  if (operand->kind == OPC_PTX_OPERAND_DOUBLE && type == OPC_PTX_TYPE_F32) {
    memcpy(&wide, &out, sizeof wide);
    narrow = (float)wide;
    memcpy(&bits, &narrow, sizeof bits);
    return bits;
  }
  if (operand->kind == OPC_PTX_OPERAND_FLOAT && type == OPC_PTX_TYPE_F64) {
    memcpy(&narrow, &bits, sizeof narrow);
    wide = (double)narrow;
    memcpy(&out, &wide, sizeof out);
  }
  return out;
}

static uint32_t slot_of_value(maker_t *maker, instance_t *instance, const opc_ptx_operand_t *operand,
                              opc_ptx_says_t type) {
  uint64_t address = 0;
  switch (operand->kind) {
    case OPC_PTX_OPERAND_REGISTER:
      return register_of(maker, instance, operand->index);
    case OPC_PTX_OPERAND_SINK:
      return OPC_PTX_REGISTER_SINK;
    case OPC_PTX_OPERAND_SPECIAL:
      return constant(maker, &maker->program->specials, operand->index);
    case OPC_PTX_OPERAND_SYMBOL:
      if (operand->symbol->space == OPC_PTX_SPACE_SHARED && operand->symbol->external) {
        if (operand->bits == 0) return constant(maker, &maker->program->specials, OPC_PTX_SPECIAL_DYNAMIC_SHARED);
        (void)refuse(maker, 0, "an offset in dynamic shared memory as a constant");
        return OPC_PTX_NO_SLOT;
      }
      if (!variable_offset(maker, instance, operand->symbol, &address)) return OPC_PTX_NO_SLOT;
      return constant(maker, &maker->program->constants, address + operand->bits);
    default:
      return constant(maker, &maker->program->constants, number_bits(operand, type));
  }
}

static uint32_t mask_of(maker_t *maker, const instance_t *instance, const opc_ptx_operand_t *operand) {
  if (operand->kind == OPC_PTX_OPERAND_SINK) return OPC_PTX_PREDICATE_SINK;
  if (operand->kind == OPC_PTX_OPERAND_INTEGER)
    return operand->bits != 0 ? OPC_PTX_PREDICATE_TRUE : OPC_PTX_PREDICATE_FALSE;
  return predicate_of(maker, instance, operand->index);
}

/* ---- decoding ---- */

static const opc_ptx_operand_t *parts_of(const opc_ptx_function_t *function, const opc_ptx_operand_t *operand) {
  return (const opc_ptx_operand_t *)function->parts.items + operand->index;
}

static bool slot_add(opc_ptx_op_t *op, uint32_t slot, char letter) {
  if (op->slots == OPC_PTX_SLOTS) return false;
  if (letter != '\0' && strchr("dDVpqe", letter)) op->written |= (uint16_t)(1u << op->slots);
  if (letter != '\0' && strchr("pqP", letter)) op->predicate |= (uint16_t)(1u << op->slots);
  op->slot[op->slots++] = slot;
  return true;
}

static bool decode_address(maker_t *maker, instance_t *instance, const opc_ptx_operand_t *operand, opc_ptx_op_t *op) {
  const opc_ptx_operand_t *base = parts_of(instance->function, operand);
  opc_ptx_operand_t plain = *base;
  if (base->kind == OPC_PTX_OPERAND_SYMBOL) plain.bits = 0;
  op->base = slot_of_value(maker, instance, &plain, OPC_PTX_TYPE_U64);
  op->displacement = operand->bits + base->bits - plain.bits;
  if (base->kind != OPC_PTX_OPERAND_SYMBOL) return op->base != OPC_PTX_NO_SLOT;
  /* Without a space, or as a parameter of a call: where the variable is. */
  const bool frame = base->symbol->of_call || base->symbol->space == OPC_PTX_SPACE_LOCAL;
  if (frame) op->form.space = OPC_PTX_SPACE_LOCAL;
  else if (op->form.space == OPC_PTX_SPACE_GENERIC) op->form.space = (uint8_t)base->symbol->space;
  return op->base != OPC_PTX_NO_SLOT;
}

/* p|q and r|p */
static bool decode_pair(maker_t *maker, instance_t *instance, const opc_ptx_operand_t *operand, bool predicates,
                        opc_ptx_op_t *op) {
  const bool pair = operand->kind == OPC_PTX_OPERAND_PAIR;
  const opc_ptx_operand_t *first = pair ? parts_of(instance->function, operand) : operand;
  const opc_ptx_operand_t sink = {.kind = OPC_PTX_OPERAND_SINK}, *second = pair ? first + 1 : &sink;
  if (!opc_ptx_operand_fits(first, predicates ? 'p' : 'd', 1) || !opc_ptx_operand_fits(second, 'p', 1)) return false;
  return slot_add(
             op, predicates ? mask_of(maker, instance, first) : slot_of_value(maker, instance, first, OPC_PTX_TYPE_U32),
             predicates ? 'p' : 'd') &&
         slot_add(op, mask_of(maker, instance, second), 'p');
}

static bool decode_operand(maker_t *maker, instance_t *instance, char letter, const opc_ptx_operand_t *operand,
                           opc_ptx_op_t *op) {
  const opc_ptx_says_t type = op->form.types > 0 ? op->form.type[op->form.types - 1] : OPC_PTX_NOTHING;
  switch (letter) {
    case 'm':
      op->memory = true;
      return decode_address(maker, instance, operand, op);
    case 'M': {
      opc_ptx_op_t second = *op;
      if (!decode_address(maker, instance, operand, &second)) return false;
      op->copies = true;
      op->source = second.base;
      op->source_displacement = second.displacement;
      return true;
    }
    case 'c':
      return true;
    case 'l':
      op->target = operand->index;
      return true;
    case 't':
      op->target = operand->index;
      op->targets = operand->count;
      return true;
    case 'q':
    case 'e':
      return decode_pair(maker, instance, operand, letter == 'q', op);
    case 'p':
    case 'P':
      if (operand->negated) op->negated |= 1u << op->slots;
      return slot_add(op, mask_of(maker, instance, operand), letter);
    default:
      break;
  }
  if (operand->kind != OPC_PTX_OPERAND_VECTOR) {
    const uint32_t slot = slot_of_value(maker, instance, operand, type);
    return slot != OPC_PTX_NO_SLOT && slot_add(op, slot, letter);
  }
  const opc_ptx_operand_t *parts = parts_of(instance->function, operand);
  const bool written = letter == 'D' || letter == 'V';
  for (uint32_t i = 0; i < operand->count; i++) {
    if (!opc_ptx_operand_fits(&parts[i], written ? 'd' : 'a', 1)) return false;
    const uint32_t slot = slot_of_value(maker, instance, &parts[i], type);
    if (slot == OPC_PTX_NO_SLOT || !slot_add(op, slot, letter)) return false;
  }
  return true;
}

static opc_ptx_op_t *op_add(maker_t *maker, const instance_t *instance, const opc_ptx_statement_t *statement) {
  if (maker->program->ops.count == OPS_MOST) {
    (void)refuse(maker, statement->line, "more than %d instructions, with the functions that it calls", OPS_MOST);
    return NULL;
  }
  opc_ptx_op_t *op = opc_ptx_list_add(&maker->program->arena, &maker->program->ops, sizeof *op);
  if (!op) {
    (void)no_memory(maker);
    return NULL;
  }
  *op = (opc_ptx_op_t){.run = opc_ptx_nothing_run,
                       .form.vector = 1,
                       .guard = OPC_PTX_NO_GUARD,
                       .guard_negated = statement->guard_negated,
                       .base = OPC_PTX_REGISTER_SINK,
                       .line = statement->line,
                       .file = statement->file,
                       .source_line = statement->source_line,
                       .caller_file = statement->caller_file,
                       .caller_line = statement->caller_line};
  if (statement->guard != OPC_PTX_NO_GUARD) op->guard = predicate_of(maker, instance, statement->guard);
  return op;
}

static bool missing(maker_t *maker, const instance_t *instance, const opc_ptx_statement_t *statement) {
  const opc_ptx_operand_t *operands = opc_ptx_operands_of(instance->function, statement);
  if (maker->problem->message[0] != '\0') return false;
  for (uint32_t i = 0; i < statement->count; i++) {
    if (operands[i].kind != OPC_PTX_OPERAND_NAME) continue;
    const bool function = opc_ptx_function_find(maker->program->module, operands[i].name);
    return refuse(maker, statement->line, function ? "the address of the function %.*s is taken" : "unknown name %.*s",
                  (int)operands[i].name.length, operands[i].name.at);
  }
  (void)snprintf(maker->problem->form, sizeof maker->problem->form, "%.*s", (int)statement->opcode.length,
                 statement->opcode.at);
  return refuse(maker, statement->line, "the instruction %s is missing", maker->problem->form);
}

/* What the letters of the operands do not say. */
static bool operands_are_sound(const instance_t *instance, const opc_ptx_statement_t *statement,
                               const opc_ptx_row_t *row, const opc_ptx_op_t *op) {
  const uint32_t registers = opc_ptx_matrix_registers(&op->form, row->family);
  const opc_ptx_operand_t *operands = opc_ptx_operands_of(instance->function, statement);
  if (registers != 0) return registers == op->slots;
  if (row->family != opc_ptx_copy) return true;
  const uint64_t bytes = operands[2].bits;
  return operands[2].kind == OPC_PTX_OPERAND_INTEGER && (bytes == 4 || bytes == 8 || bytes == OPC_PTX_COPY_BYTES);
}

static bool decode(maker_t *maker, instance_t *instance, const opc_ptx_statement_t *statement) {
  opc_ptx_form_t form;
  opc_ptx_run_t *run;
  const opc_ptx_row_t *row = opc_ptx_form_find(instance->function, statement, &form, &run);
  if (!row) return missing(maker, instance, statement);
  opc_ptx_op_t *op = op_add(maker, instance, statement);
  if (!op) return false;
  op->run = run;
  op->form = form;
  op->flow = (uint8_t)row->flow;
  op->family = row->family;
  if (row->flow == OPC_PTX_FLOW_BARRIER && strcmp(row->name, "bar") == 0) op->form.flags |= OPC_PTX_FLAG_ALIGNED;
  if (row->worth == OPC_PTX_BOUNDED) maker->program->worth = OPC_PTX_BOUNDED;
  const opc_ptx_operand_t *operand = opc_ptx_operands_of(instance->function, statement);
  const opc_ptx_operand_t *const end = operand + statement->count;
  for (const char *letter = row->operands; *letter != '\0'; letter++) {
    const bool optional = letter[1] == '?';
    if (operand < end && opc_ptx_operand_fits(operand, *letter, form.vector)) {
      if (!decode_operand(maker, instance, *letter, operand, op)) return missing(maker, instance, statement);
      operand++;
    } else if (!slot_add(op, OPC_PTX_NO_SLOT, '\0')) {
      return missing(maker, instance, statement);
    }
    if (optional) letter++;
  }
  if (!operands_are_sound(instance, statement, row, op)) return missing(maker, instance, statement);
  operand = opc_ptx_operands_of(instance->function, statement);
  for (; operand < end; operand++) {
    if (operand->kind != OPC_PTX_OPERAND_SPECIAL || operand->index < OPC_PTX_SPECIAL_CLOCK) continue;
    if (!opc_ptx_span_begins(statement->opcode, "mov.")) return missing(maker, instance, statement);
    op->run = opc_ptx_clock;
    op->form.mode = (uint8_t)operand->index;
  }
  return true;
}

/* ---- calls ---- */

static bool emit(maker_t *maker, instance_t *instance);

/* Parameters of the function are those that the caller made: no copy. */
static bool bind(maker_t *maker, instance_t *caller, const opc_ptx_operand_t *list, const opc_ptx_list_t *formal,
                 instance_t *out, uint32_t line) {
  const uint32_t count = list ? list->count : 0;
  if (count != formal->count)
    return refuse(maker, line, "a call with %u arguments of a function with %u", count, formal->count);
  for (uint32_t i = 0; i < count; i++) {
    const opc_ptx_operand_t *actual = parts_of(caller->function, list) + i;
    const opc_ptx_symbol_t *symbol = ((opc_ptx_symbol_t **)formal->items)[i];
    uint64_t offset;
    if (actual->kind != OPC_PTX_OPERAND_SYMBOL || !actual->symbol->of_call || actual->symbol->size < symbol->size)
      return refuse(maker, line, "an argument of a call that is no .param variable of its size");
    if (!variable_offset(maker, caller, actual->symbol, &offset) ||
        !place_add(maker, &out->places, symbol, (uint32_t)offset))
      return false;
  }
  return true;
}

static bool instance_make(maker_t *maker, const opc_ptx_function_t *function, instance_t *caller, instance_t *out) {
  const size_t registers = function->registers + 1, predicates = function->predicates + 1;
  *out = (instance_t){.function = function, .caller = caller};
  out->registers = malloc((registers + predicates + function->statements.count + 1) * sizeof *out->registers);
  if (!out->registers) return no_memory(maker);
  out->predicates = out->registers + registers;
  out->starts = out->predicates + predicates;
  memset(out->registers, 0xff, (registers + predicates) * sizeof *out->registers);
  return true;
}

static bool is_being_called(const instance_t *instance, const opc_ptx_function_t *function) {
  for (; instance; instance = instance->caller)
    if (instance->function == function) return true;
  return false;
}

/* A jump over the call for lanes whose guard is false. */
static bool guard_around(maker_t *maker, instance_t *instance, const opc_ptx_statement_t *statement, uint32_t *out) {
  *out = UINT32_MAX;
  if (statement->guard == OPC_PTX_NO_GUARD) return true;
  *out = maker->program->ops.count;
  opc_ptx_op_t *op = op_add(maker, instance, statement);
  if (!op) return false;
  op->guard_negated = !op->guard_negated;
  op->flow = OPC_PTX_FLOW_BRANCH;
  return true;
}

static bool inline_call(maker_t *maker, instance_t *caller, const opc_ptx_statement_t *statement,
                        const opc_ptx_function_t *function, const opc_ptx_operand_t *returned,
                        const opc_ptx_operand_t *arguments) {
  instance_t callee;
  uint32_t around;
  if (is_being_called(caller, function)) return refuse(maker, statement->line, "recursion: %s", function->text_name);
  if (maker->depth == DEPTH_MOST) return refuse(maker, statement->line, "calls that are nested too deep");
  if (maker->calls++ == CALLS_MOST)
    return refuse(maker, statement->line, "more than %d calls, with those of the functions that it calls", CALLS_MOST);
  if (function->problem.message[0] != '\0') {
    *maker->problem = function->problem;
    return false;
  }
  if (!guard_around(maker, caller, statement, &around) || !instance_make(maker, function, caller, &callee))
    return false;
  maker->depth++;
  const bool sound = bind(maker, caller, returned, &function->returns, &callee, statement->line) &&
                     bind(maker, caller, arguments, &function->parameters, &callee, statement->line) &&
                     emit(maker, &callee);
  maker->depth--;
  free(callee.registers);
  if (sound && around != UINT32_MAX)
    ((opc_ptx_op_t *)maker->program->ops.items)[around].target = maker->program->ops.count;
  return sound;
}

/* The runtime's own functions, which have no body. */
static bool call_runtime(maker_t *maker, instance_t *caller, const opc_ptx_statement_t *statement,
                         const opc_ptx_operand_t *name, const opc_ptx_operand_t *arguments) {
  const bool assertion = opc_ptx_span_is(name->name, "__assertfail");
  uint64_t offset;
  if (!assertion && !opc_ptx_span_is(name->name, "vprintf"))
    return refuse(maker, statement->line, "the function %.*s has no body", (int)name->name.length, name->name.at);
  opc_ptx_op_t *op = op_add(maker, caller, statement);
  if (!op) return false;
  if (!assertion) return true; /* what it prints is dropped, the number of characters too */
  op->run = opc_ptx_assertion;
  op->flow = OPC_PTX_FLOW_TRAP;
  if (!arguments || arguments->count < 3) return refuse(maker, statement->line, "__assertfail with other arguments");
  for (uint32_t i = 0; i < 3; i++) {
    const opc_ptx_operand_t *argument = parts_of(caller->function, arguments) + i;
    if (argument->kind != OPC_PTX_OPERAND_SYMBOL || !argument->symbol->of_call)
      return refuse(maker, statement->line, "__assertfail with other arguments");
    if (!variable_offset(maker, caller, argument->symbol, &offset) || !slot_add(op, (uint32_t)offset, '\0'))
      return false;
  }
  return true;
}

/* call (returned), name, (arguments); the lists may be missing. */
static bool program_call(maker_t *maker, instance_t *instance, const opc_ptx_statement_t *statement) {
  const opc_ptx_operand_t *at = opc_ptx_operands_of(instance->function, statement);
  const opc_ptx_operand_t *const end = at + statement->count, *returned = NULL, *arguments = NULL;
  if (at < end && at->kind == OPC_PTX_OPERAND_LIST) returned = at++;
  const opc_ptx_operand_t *name = at < end ? at++ : NULL;
  if (at < end && at->kind == OPC_PTX_OPERAND_LIST) arguments = at++;
  if (name && name->kind == OPC_PTX_OPERAND_REGISTER) return refuse(maker, statement->line, "an indirect call");
  if (!name || name->kind != OPC_PTX_OPERAND_NAME || at != end)
    return refuse(maker, statement->line, "a call that is not understood");
  const opc_ptx_function_t *function = opc_ptx_function_find(maker->program->module, name->name);
  if (!function) return refuse(maker, statement->line, "unknown name %.*s", (int)name->name.length, name->name.at);
  if (!function->body && function->problem.message[0] == '\0')
    return call_runtime(maker, instance, statement, name, arguments);
  if (function->kernel) return refuse(maker, statement->line, "a call of a kernel");
  return inline_call(maker, instance, statement, function, returned, arguments);
}

/* ---- functions ---- */

/* Targets of branches were statements; returns of a called function go behind it. */
static bool aim(maker_t *maker, const instance_t *instance, uint32_t op_index, uint32_t end) {
  opc_ptx_program_t *program = maker->program;
  opc_ptx_op_t *op = &((opc_ptx_op_t *)program->ops.items)[op_index];
  if (op->flow == OPC_PTX_FLOW_RETURN && instance->caller) {
    op->flow = OPC_PTX_FLOW_BRANCH;
    op->target = end;
  } else if (op->flow == OPC_PTX_FLOW_BRANCH) {
    op->target = instance->starts[op->target];
  } else if (op->flow == OPC_PTX_FLOW_BRANCH_INDEX) {
    const opc_ptx_operand_t *parts = (const opc_ptx_operand_t *)instance->function->parts.items + op->target;
    op->target = program->targets.count;
    for (uint32_t i = 0; i < op->targets; i++) {
      uint32_t *target = opc_ptx_list_add(&program->arena, &program->targets, sizeof *target);
      if (!target) return no_memory(maker);
      if (parts[i].kind != OPC_PTX_OPERAND_LABEL)
        return refuse(maker, op->line, "an unknown label in a list of targets");
      *target = instance->starts[parts[i].index];
    }
  }
  return true;
}

static bool emit(maker_t *maker, instance_t *instance) {
  const opc_ptx_function_t *function = instance->function;
  const opc_ptx_statement_t *statements = function->statements.items;
  const uint32_t count = function->statements.count;
  uint32_t *own = calloc((size_t)count + 1, sizeof *own); /* operations that are this function's own, not a callee's */
  if (!own) return no_memory(maker);
  bool sound = true;
  for (uint32_t i = 0; i < count && sound; i++) {
    const opc_ptx_span_t opcode = statements[i].opcode;
    instance->starts[i] = maker->program->ops.count;
    own[i] = UINT32_MAX;
    if (opc_ptx_span_is(opcode, "call") || opc_ptx_span_is(opcode, "call.uni")) {
      sound = program_call(maker, instance, &statements[i]);
    } else {
      own[i] = maker->program->ops.count;
      sound = decode(maker, instance, &statements[i]);
    }
    if (!sound && maker->problem->line == 0) maker->problem->line = statements[i].line;
  }
  const uint32_t end = maker->program->ops.count;
  instance->starts[count] = end;
  for (uint32_t i = 0; i < count && sound; i++)
    if (own[i] != UINT32_MAX) sound = aim(maker, instance, own[i], end);
  free(own);
  return sound;
}

/* Lanes that run past the last instruction end. */
static bool program_finish(maker_t *maker) {
  static const opc_ptx_statement_t last = {.guard = OPC_PTX_NO_GUARD};
  opc_ptx_program_t *program = maker->program;
  opc_ptx_op_t *op = op_add(maker, NULL, &last);
  if (!op) return false;
  op->flow = OPC_PTX_FLOW_EXIT;
  program->shared_bytes = (program->shared_bytes + 15) / 16 * 16;
  program->frame_bytes = (program->frame_bytes + 15) / 16 * 16;
  return true;
}

opc_ptx_program_t *opc_ptx_program_make(const opc_ptx_module_t *module, size_t kernel, opc_ptx_problem_t *problem) {
  opc_ptx_program_t *program = calloc(1, sizeof *program);
  *problem = (opc_ptx_problem_t){0};
  if (!program) {
    (void)snprintf(problem->message, sizeof problem->message, "out of memory");
    return NULL;
  }
  program->module = module;
  program->function = ((opc_ptx_function_t **)module->kernels.items)[kernel];
  program->registers = OPC_PTX_REGISTERS_FIXED;
  program->predicates = OPC_PTX_PREDICATES_FIXED;
  maker_t maker = {.program = program, .problem = problem};
  instance_t instance = {0};
  *problem = program->function->problem;
  const bool sound = problem->message[0] == '\0' && instance_make(&maker, program->function, NULL, &instance) &&
                     emit(&maker, &instance) && program_finish(&maker);
  free(instance.registers);
  opc_ptx_arena_clear(&maker.scratch);
  if (sound) return program;
  opc_ptx_program_free(program);
  return NULL;
}

void opc_ptx_program_free(opc_ptx_program_t *program) {
  if (!program) return;
  opc_ptx_arena_clear(&program->arena);
  free(program);
}

opc_ptx_exactness_t opc_ptx_program_exactness(const opc_ptx_program_t *program) { return program->worth; }
uint32_t opc_ptx_program_parameter_bytes(const opc_ptx_program_t *program) {
  return program->function->parameter_bytes;
}
uint32_t opc_ptx_program_shared_bytes(const opc_ptx_program_t *program) { return program->shared_bytes; }
size_t opc_ptx_program_size(const opc_ptx_program_t *program) { return program->ops.count; }
