#include "memory/conversion_trap.h"

#include <stdatomic.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "base/process_state.h"
#include "memory/guard.h"
#include "memory/valgrind_requests.h"

static opc_conversion_site_t conversion_sites[OPC_CONVERSION_SITES];
static size_t conversion_site_count;

size_t opc_conversion_sites(const opc_conversion_site_t **out) {
  *out = conversion_sites;
  return conversion_site_count;
}

#if defined(__x86_64__)

#include <cpuid.h>

/* Intel SDM vol. 1, 10.2.3; vol. 3, 2.3; "asm/sigcontext.h" of Linux. */
enum {
  MXCSR_INVALID_MASK = 1 << 7,
  EFLAGS_STEP = 1 << 8,
  XSTATE_MAGIC_AT = 464,
  XSTATE_MAGIC = 0x46505853,
  XSTATE_HEADER_AT = 512,
  XSTATE_YMM_HIGH = 2,
  XSTATE_OPMASK = 5,
  XSTATE_ZMM_HIGH = 6,
  XSTATE_ZMM_MORE = 7
};

/* More would take longer than most calls. */
enum { OTHERS_MOST = 512, RECORDED_MOST = 1024 };

static uint64_t replaced_address; /* 0: none */
static opc_fp_control_t control_before;
static atomic_bool armed, ever_armed;
static atomic_int others_left, recorded_left;
static atomic_flag recording = ATOMIC_FLAG_INIT;
static unsigned state_offsets[XSTATE_ZMM_MORE + 1];

/* The model: a handler must not call the loader. */
#define OF_THREAD static _Thread_local __attribute__((tls_model("initial-exec")))
OF_THREAD bool has_armed; /* this thread armed it, once at least */
OF_THREAD bool stepping, masked_after;
/* What to write after the step. */
OF_THREAD bool replacing;
OF_THREAD opc_conversion_t replaced;
OF_THREAD double replaced_numbers[OPC_CONVERSION_LANES];
OF_THREAD bool replaced_lanes[OPC_CONVERSION_LANES];

/* ---- arming ---- */

/* A debugger takes the SIGTRAP after each step. Looked at once, because it costs as much as some calls. */
static bool is_traced(void) {
  static enum { TRACER_UNKNOWN = 0, TRACER_NONE, TRACER_THERE } tracer;
  char line[128];
  if (tracer != TRACER_UNKNOWN) return tracer == TRACER_THERE;
  FILE *status = fopen("/proc/self/status", "re");
  tracer = TRACER_NONE;
  while (status && fgets(line, sizeof line, status))
    if (strncmp(line, "TracerPid:", 10) == 0 && strtol(line + 10, NULL, 10) > 0) tracer = TRACER_THERE;
  if (status) fclose(status);
  return tracer == TRACER_THERE;
}

static bool handler_is_ours(int signal_number) {
  struct sigaction fault, other;
  return sigaction(SIGSEGV, NULL, &fault) == 0 && sigaction(signal_number, NULL, &other) == 0 &&
         (other.sa_flags & SA_SIGINFO) && fault.sa_sigaction == other.sa_sigaction;
}

const char *opc_conversion_trap_missing(void) {
  if (opc_valgrind_active()) return "Valgrind does not unmask floating-point exceptions";
  if (is_traced()) return "a debugger takes the signals of the trap";
  if (!opc_heap_guard_has_code()) return "no code of a library under test is known";
  if (!handler_is_ours(SIGFPE) || !handler_is_ours(SIGTRAP)) return "the library handles SIGFPE or SIGTRAP itself";
  if (!(opc_fp_control_read().vector & MXCSR_INVALID_MASK)) return "the library has unmasked floating-point exceptions";
  return NULL;
}

static void find_state_offsets(void) {
  enum { LEAF_XSTATE = 0xd };
  for (unsigned component = XSTATE_YMM_HIGH; component <= XSTATE_ZMM_MORE; component++) {
    unsigned size = 0, offset = 0, more, unused;
    if (__get_cpuid_count(LEAF_XSTATE, component, &size, &offset, &more, &unused) && size > 0)
      state_offsets[component] = offset;
  }
}

void opc_conversion_trap_arm(uint64_t replaced_at) {
  if (!state_offsets[XSTATE_YMM_HIGH]) find_state_offsets();
  conversion_site_count = 0;
  replaced_address = replaced_at;
  control_before = opc_fp_control_read();
  atomic_store(&others_left, OTHERS_MOST);
  atomic_store(&recorded_left, RECORDED_MOST);
  has_armed = true;
  stepping = false;
  atomic_store(&ever_armed, true);
  atomic_store(&armed, true);
  opc_fp_control_t unmasked = control_before;
  unmasked.vector &= ~(uint64_t)MXCSR_INVALID_MASK;
  opc_fp_control_write(unmasked);
}

void opc_conversion_trap_disarm(void) {
  opc_fp_control_write(control_before);
  atomic_store(&armed, false);
}

/* ---- registers of the interrupted thread ---- */

/* The part of the extended state in the signal's frame; NULL: it is not there, because it is all zeros. */
static unsigned char *state_part(const ucontext_t *context, int component) {
  unsigned char *start = (unsigned char *)context->uc_mcontext.fpregs;
  uint32_t magic;
  uint64_t present;
  if (!start) return NULL;
  memcpy(&magic, start + XSTATE_MAGIC_AT, sizeof magic);
  if (magic != XSTATE_MAGIC || !state_offsets[component]) return NULL;
  memcpy(&present, start + XSTATE_HEADER_AT, sizeof present);
  return present >> component & 1 ? start + state_offsets[component] : NULL;
}

/* Sixteen bytes of a vector register, counted from its low end; NULL: they are zeros. */
static unsigned char *vector_part(const ucontext_t *context, unsigned number, size_t part) {
  enum { PART = 16, HIGH = 32, WHOLE = 64, FIRST_OF_MORE = 16 };
  unsigned char *at;
  if (number >= FIRST_OF_MORE) {
    at = state_part(context, XSTATE_ZMM_MORE);
    return at ? at + (size_t)(number - FIRST_OF_MORE) * WHOLE + part * PART : NULL;
  }
  if (part == 0) return (unsigned char *)&context->uc_mcontext.fpregs->_xmm[number];
  at = state_part(context, part == 1 ? XSTATE_YMM_HIGH : XSTATE_ZMM_HIGH);
  if (!at) return NULL;
  return part == 1 ? at + (size_t)number * PART : at + (size_t)number * HIGH + (part - 2) * PART;
}

static unsigned char *vector_element(const ucontext_t *context, unsigned number, size_t element, size_t size) {
  enum { PART = 16 };
  unsigned char *part = vector_part(context, number, element * size / PART);
  return part ? part + element * size % PART : NULL;
}

static greg_t *general_register(ucontext_t *context, unsigned number) {
  static const int numbers[] = {REG_RAX, REG_RCX, REG_RDX, REG_RBX, REG_RSP, REG_RBP, REG_RSI, REG_RDI,
                                REG_R8,  REG_R9,  REG_R10, REG_R11, REG_R12, REG_R13, REG_R14, REG_R15};
  return &context->uc_mcontext.gregs[numbers[number & 15]];
}

static uint64_t operand_address(ucontext_t *context, const opc_conversion_t *conversion) {
  const opc_operand_t *operand = &conversion->operand;
  uint64_t address = (uint64_t)(int64_t)operand->displacement;
  if (operand->base == OPC_OPERAND_NEXT) address += (uint64_t)context->uc_mcontext.gregs[REG_RIP] + conversion->length;
  else if (operand->base >= 0) address += (uint64_t)*general_register(context, (unsigned)operand->base);
  if (operand->index >= 0) address += (uint64_t)*general_register(context, (unsigned)operand->index) * operand->scale;
  return address;
}

/* Which lanes the instruction converts: bit 0 is the first. */
static uint64_t lanes_converted(const ucontext_t *context, const opc_conversion_t *conversion) {
  uint64_t lanes = UINT64_MAX;
  const unsigned char *masks = conversion->mask ? state_part(context, XSTATE_OPMASK) : NULL;
  if (conversion->mask && !masks) return 0;
  if (masks) memcpy(&lanes, masks + conversion->mask * sizeof lanes, sizeof lanes);
  return lanes;
}

static double number_at(const void *at, bool is_double) {
  double number;
  float narrow;
  if (is_double) memcpy(&number, at, sizeof number);
  else {
    memcpy(&narrow, at, sizeof narrow);
    number = (double)narrow;
  }
  return number;
}

/* The lanes whose number does not fit. The exception was raised, so an operand in memory can be read. False: none. */
static bool find_misfits(ucontext_t *context, const opc_conversion_t *conversion, double *numbers, bool *misfits) {
  static const double zero;
  const size_t size = conversion->from_double ? sizeof(double) : sizeof(float);
  const uint64_t converted = lanes_converted(context, conversion);
  bool any = false;
  if (conversion->from_memory && conversion->operand.segment) return false;
  for (size_t i = 0; i < conversion->lanes; i++) {
    misfits[i] = false;
    if (!(converted >> i & 1)) continue; /* may lie on a page that cannot be read */
    const void *at = vector_element(context, conversion->from, i, size);
    if (conversion->from_memory)
      at = (const char *)(uintptr_t)operand_address(context, conversion) + (conversion->repeats ? 0 : i * size);
    numbers[i] = number_at(at ? at : &zero, conversion->from_double);
    misfits[i] = !opc_conversion_fits(conversion, numbers[i]);
    any |= misfits[i];
  }
  return any;
}

/* ---- sites ---- */

static opc_conversion_site_t *site_at(uint64_t address) {
  for (size_t i = 0; i < conversion_site_count; i++)
    if (conversion_sites[i].address == address) return &conversion_sites[i];
  return NULL;
}

/* The new site; NULL: it is known, or there are too many, or another thread records. */
static opc_conversion_site_t *note_site(uint64_t address, const opc_conversion_t *conversion, double number) {
  if (atomic_flag_test_and_set(&recording)) return NULL;
  opc_conversion_site_t *site = site_at(address), *added = NULL;
  if (!site && conversion_site_count < OPC_CONVERSION_SITES) {
    site = added = &conversion_sites[conversion_site_count++];
    *site = (opc_conversion_site_t){.address = address,
                                    .conversion = *conversion,
                                    .number = number,
                                    .other = opc_conversion_other(conversion, number)};
  }
  if (site) site->times++;
  atomic_flag_clear(&recording);
  return added;
}

/* Code around the instruction; a compiler keeps what belongs together within this. */
static opc_code_window_t window_around(uint64_t address, size_t behind) {
  enum { BEFORE = 128, AFTER = 256 };
  size_t before = BEFORE;
  while (before > 0 && !opc_heap_guard_code_after((const void *)(uintptr_t)(address - before))) before /= 2;
  return (opc_code_window_t){.code = (const unsigned char *)(uintptr_t)(address - before),
                             .size = before + (behind < AFTER ? behind : AFTER),
                             .at = before};
}

/* True: the instruction is a conversion in the code under test, of a number that does not fit. */
static bool look_at_conversion(ucontext_t *context, opc_conversion_site_t **out_site) {
  const uint64_t address = (uint64_t)context->uc_mcontext.gregs[REG_RIP];
  const size_t behind = opc_heap_guard_code_after((const void *)(uintptr_t)address);
  opc_conversion_t conversion;
  double numbers[OPC_CONVERSION_LANES];
  bool misfits[OPC_CONVERSION_LANES];
  size_t first = 0;
  if (!behind || !opc_conversion_decode((const unsigned char *)(uintptr_t)address, behind, &conversion) ||
      !find_misfits(context, &conversion, numbers, misfits))
    return false;
  const opc_code_window_t window = window_around(address, behind);
  bool any = false;
  for (size_t i = conversion.lanes; i-- > 0;) {
    if (!misfits[i]) continue;
    first = i;
    any |= !opc_conversion_is_of_unsigned(&conversion, numbers[i], &window);
  }
  if (!any || opc_conversion_is_tested(&conversion, &window)) return true;
  *out_site = note_site(address, &conversion, numbers[first]);
  if (has_armed && address == replaced_address) {
    replacing = true;
    replaced = conversion;
    memcpy(replaced_numbers, numbers, sizeof numbers);
    memcpy(replaced_lanes, misfits, sizeof misfits);
  }
  return true;
}

static void replace_results(ucontext_t *context) {
  const size_t size = replaced.bits / 8U;
  for (size_t i = 0; i < replaced.lanes; i++) {
    if (!replaced_lanes[i]) continue;
    const uint64_t other = opc_conversion_other(&replaced, replaced_numbers[i]);
    unsigned char *lane = replaced.to_vector ? vector_element(context, replaced.to, i, size) : NULL;
    if (!replaced.to_vector) *general_register(context, replaced.to) = (greg_t)other;
    else if (lane) memcpy(lane, &other, size); /* low bytes first */
  }
}

/* ---- signals ---- */

static bool take_one(atomic_int *left) { return atomic_load(left) > 0 && atomic_fetch_sub(left, 1) > 0; }

static bool on_invalid(ucontext_t *context, opc_conversion_site_t **out_site) {
  uint32_t *control = &context->uc_mcontext.fpregs->mxcsr;
  const bool on = atomic_load(&armed);
  /* Otherwise the operator itself wants to be stopped. */
  if ((*control & MXCSR_INVALID_MASK) || (!on && (has_armed || !atomic_load(&ever_armed)))) return false;
  *control |= MXCSR_INVALID_MASK;
  if (!on) return true; /* a thread that was started while it was armed */
  const bool conversion = look_at_conversion(context, out_site);
  masked_after = !take_one(conversion ? &recorded_left : &others_left);
  if (masked_after && !replacing) return true;
  stepping = true;
  context->uc_mcontext.gregs[REG_EFL] |= EFLAGS_STEP;
  return true;
}

static bool after_step(ucontext_t *context) {
  if (!stepping) return false;
  stepping = false;
  context->uc_mcontext.gregs[REG_EFL] &= ~(greg_t)EFLAGS_STEP;
  if (replacing) replace_results(context);
  replacing = false;
  if (!masked_after && atomic_load(&armed)) context->uc_mcontext.fpregs->mxcsr &= ~(uint32_t)MXCSR_INVALID_MASK;
  return true;
}

bool opc_conversion_fault(int signal_number, const siginfo_t *info, ucontext_t *context,
                          opc_conversion_site_t **out_site) {
  *out_site = NULL;
  if (signal_number == SIGFPE && info->si_code == FPE_FLTINV) return on_invalid(context, out_site);
  return signal_number == SIGTRAP && info->si_code == TRAP_TRACE && after_step(context);
}

#else

const char *opc_conversion_trap_missing(void) { return "conversions are trapped on x86-64 only"; }
void opc_conversion_trap_arm(uint64_t replaced) { (void)replaced; }
void opc_conversion_trap_disarm(void) {}

bool opc_conversion_fault(int signal_number, const siginfo_t *info, ucontext_t *context,
                          opc_conversion_site_t **out_site) {
  (void)signal_number;
  (void)info;
  (void)context;
  *out_site = NULL;
  return false;
}

#endif
