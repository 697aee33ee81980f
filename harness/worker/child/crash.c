#include "worker/child/batch.h"

#include <errno.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <ucontext.h>
#include <unistd.h>
#include <unwind.h>

#include "bridge/api/bridge.h"
#include "cuda/log/launch.h"
#include "memory/conversion_trap.h"
#include "memory/device_zones.h"
#include "memory/guard.h"
#include "memory/trap.h"

enum { CRASH_STACK_SIZE = 128 << 10 };

static opc_crash_record_t *own_record;
static pid_t crash_owner;
static const opc_launch_api_t *crash_cuda; /* looked up before, because a handler cannot do that */
static atomic_flag crash_entered = ATOMIC_FLAG_INIT;

opc_status_t opc_crash_map(int fd, opc_crash_record_t **out, opc_error_t *error) {
  void *memory = mmap(NULL, OPC_CRASH_RECORD_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, fd, 0);
  if (memory == MAP_FAILED)
    return opc_error_set(error, OPC_ERR_SYSTEM, "cannot map the crash record: %s", strerror(errno));
  opc_crash_record_t *record = memory;
  if (record->magic != OPC_CRASH_RECORD_MAGIC) {
    munmap(memory, OPC_CRASH_RECORD_SIZE);
    return opc_error_set(error, OPC_ERR_PROTOCOL, "the crash record has no magic");
  }
  *out = record;
  return OPC_OK;
}

/* ---- frames ---- */

typedef struct frame_walk {
  uint64_t start; /* frames above this one belong to the handler; 0: all are wanted */
  bool started;
  int depth;
  uint64_t *frames;
  uint32_t *count;
  uint32_t room;
} frame_walk_t;

static _Unwind_Reason_Code walk_frame(struct _Unwind_Context *context, void *argument) {
  frame_walk_t *walk = argument;
  int before_instruction = 0;
  uint64_t address = _Unwind_GetIPInfo(context, &before_instruction);
  if (!walk->started && (walk->start == 0 || address == walk->start)) walk->started = true;
  if (walk->started) {
    if (*walk->count >= walk->room) return _URC_END_OF_STACK;
    walk->frames[(*walk->count)++] = address;
  }
  return ++walk->depth < 4 * OPC_CRASH_RECORD_FRAMES ? _URC_NO_REASON : _URC_END_OF_STACK;
}

/* Frames from the one that executes `start`; if the unwinder never reaches it, only that address is known. */
static void walk_frames(uint64_t start, uint64_t *frames, uint32_t room, uint32_t *count) {
  *count = 0;
  frame_walk_t walk = {.start = start, .frames = frames, .count = count, .room = room};
  _Unwind_Backtrace(walk_frame, &walk);
  if (*count == 0 && start) {
    frames[0] = start;
    *count = 1;
  }
}

static void record_frames(uint64_t start) {
  walk_frames(start, own_record->frames, OPC_CRASH_RECORD_FRAMES, &own_record->frame_count);
}

static uint64_t context_counter(const ucontext_t *context) {
#if defined(__x86_64__)
  return (uint64_t)context->uc_mcontext.gregs[REG_RIP];
#elif defined(__aarch64__)
  return context->uc_mcontext.pc;
#else
  (void)context;
  return 0;
#endif
}

/* After a call through a null pointer there is no code at the program counter, and the unwinder stops at once. If the
 * context looks as if the function had returned to its caller, the stack can be walked. The process ends after this, so
 * nothing is restored. */
static void leave_null_function(ucontext_t *context) {
#if defined(__x86_64__)
  greg_t *registers = context->uc_mcontext.gregs;
  registers[REG_RIP] = *(const greg_t *)registers[REG_RSP];
  registers[REG_RSP] += (greg_t)sizeof(greg_t);
#elif defined(__aarch64__)
  context->uc_mcontext.pc = context->uc_mcontext.regs[30];
#else
  (void)context;
#endif
}

/* ---- ways to end ---- */

/* A process forked by the operator shares the crash record's memory, but must not write to it. */
static bool owns_record(void) { return own_record && getpid() == crash_owner; }

static bool context_is_write(const ucontext_t *context) {
#if defined(__x86_64__)
  enum { PAGE_FAULT_WRITE = 2 }; /* Intel SDM, page-fault error code, W/R */
  return (context->uc_mcontext.gregs[REG_ERR] & PAGE_FAULT_WRITE) != 0;
#elif defined(__aarch64__)
  enum { ESR_WRITE_NOT_READ = 1 << 6 };
  const struct _aarch64_ctx *record = (const struct _aarch64_ctx *)context->uc_mcontext.__reserved;
  for (; record->magic != 0; record = (const struct _aarch64_ctx *)((const char *)record + record->size))
    if (record->magic == ESR_MAGIC) return (((const struct esr_context *)record)->esr & ESR_WRITE_NOT_READ) != 0;
  return true;
#else
  (void)context;
  return true;
#endif
}

/* A forbidden access to guarded memory, or by host code to the memory of a simulated device, and a conversion that is
 * trapped are recorded, and the operator continues. */
static bool is_noted(int signal_number, const siginfo_t *info, ucontext_t *context) {
  opc_access_t *access = NULL;
  opc_conversion_site_t *site = NULL;
  if (opc_conversion_fault(signal_number, info, context, &site)) {
    if (site) walk_frames(context_counter(context), site->frames, OPC_CONVERSION_FRAMES, &site->frame_count);
    return true;
  }
  if ((signal_number != SIGSEGV && signal_number != SIGBUS) || info->si_code <= 0 || info->si_code == SI_KERNEL)
    return false;
  if (opc_trap_fault((uint64_t)(uintptr_t)info->si_addr)) return true;
  if (crash_cuda &&
      crash_cuda->host_access((uint64_t)(uintptr_t)info->si_addr, context_counter(context), context_is_write(context)))
    return true;
  if (!opc_guard_fault((uint64_t)(uintptr_t)info->si_addr, context_is_write(context), &access)) return false;
  if (access) walk_frames(context_counter(context), access->frames, OPC_ACCESS_FRAMES, &access->frame_count);
  return true;
}

/* The number of the CUDA device whose memory this is, plus one; 0: not known to be a device's. */
static int32_t device_of(uint64_t address) {
  opc_cuda_address_t where;
  if (!crash_cuda) return 0;
  if (opc_device_zones_hold(address)) return crash_cuda->current_device() + 1;
  if (!crash_cuda->locate(address, &where) || where.place != OPC_CUDA_DEVICE) return 0;
  return where.device + 1;
}

static void on_fault(int signal_number, siginfo_t *info, void *context) {
  if (is_noted(signal_number, info, context)) return;
  if (owns_record() && !atomic_flag_test_and_set(&crash_entered)) {
    uint64_t counter = context_counter(context);
    own_record->signal = signal_number;
    own_record->code = info->si_code;
    own_record->address = (uint64_t)(uintptr_t)info->si_addr;
    own_record->device = info->si_code > 0 && info->si_code != SI_KERNEL ? device_of(own_record->address) : 0;
    own_record->program_counter = counter;
    own_record->frame_count = 0;
    /* Set before the frames are walked: if the stack is so corrupt that the walk faults too, the other fields
     * remain. */
    own_record->crashed = 1;
    if (counter == 0) leave_null_function(context);
    record_frames(context_counter(context));
  }
  struct sigaction action = {.sa_handler = SIG_DFL};
  sigaction(signal_number, &action, NULL);
  raise(signal_number); /* pending until the handler returns */
}

static void on_process_exit(int status, void *unused) {
  (void)unused;
  if (!owns_record()) return;
  if (!atomic_flag_test_and_set(&crash_entered)) {
    own_record->signal = 0;
    own_record->code = status;
    record_frames(0);
    own_record->crashed = 1;
  }
  /* The destructors of a library under test may crash or hang, which would hide the call of exit. */
  fflush(NULL);
  _exit(status);
}

static void crash_on_terminate(const char *text) {
  if (owns_record()) snprintf(own_record->terminate_text, sizeof own_record->terminate_text, "%s", text);
}

opc_status_t opc_crash_install(opc_crash_record_t *record, opc_error_t *error) {
  static const int signals[] = {SIGSEGV, SIGBUS, SIGFPE, SIGILL, SIGABRT, SIGTRAP, SIGSYS};
  void *memory = mmap(NULL, CRASH_STACK_SIZE, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS | MAP_STACK, -1, 0);
  if (memory == MAP_FAILED) return opc_error_set(error, OPC_ERR_SYSTEM, "no signal stack: %s", strerror(errno));
  stack_t stack = {.ss_sp = memory, .ss_size = CRASH_STACK_SIZE};
  if (sigaltstack(&stack, NULL) != 0)
    return opc_error_set(error, OPC_ERR_SYSTEM, "no signal stack: %s", strerror(errno));

  own_record = record;
  crash_cuda = opc_launch();
  crash_owner = getpid();
  record_frames(0); /* the unwinder allocates and takes locks on first use */
  record->frame_count = 0;
  atomic_flag_clear(&crash_entered);

  struct sigaction action = {.sa_sigaction = on_fault, .sa_flags = SA_SIGINFO | SA_ONSTACK};
  sigemptyset(&action.sa_mask);
  sigset_t unblocked;
  sigemptyset(&unblocked);
  for (size_t i = 0; i < sizeof signals / sizeof *signals; i++) {
    sigaction(signals[i], &action, NULL);
    sigaddset(&unblocked, signals[i]);
  }
  sigprocmask(SIG_UNBLOCK, &unblocked, NULL);
  if (on_exit(on_process_exit, NULL) != 0) return opc_error_set(error, OPC_ERR_MEMORY, "no exit handler");
  opc_bridge_on_terminate(crash_on_terminate);
  return OPC_OK;
}
