/* A stub for every function that the real runtime exports and that is not covered. Covered functions are defined
 * elsewhere as strong symbols, and replace a stub of theirs when this library is linked. A stub records the call; then
 * it jumps to the real function with all registers as the caller left them, or returns cudaErrorNotSupported if there
 * is none. */
#include "cuda/state/cudart_table.h"

#if !defined(__x86_64__)
#error "the stubs are written for x86-64: add a jump with all argument registers kept for this architecture"
#endif

static const char *const names[] = {
#define OPC_CUDART_EXPORT(name) #name,
#define OPC_CUDART_EXPORT_PTSZ(name) #name, #name "_ptsz",
#define OPC_CUDART_EXPORT_PTDS(name) #name, #name "_ptds",
#include "cuda/wrapper/cudart_exports.def"
};
static _Atomic(void *) targets[sizeof names / sizeof names[0]];

static cudaError_t not_supported(void) { return opc_error_keep(cudaErrorNotSupported); }

/* Returns the address to jump to. Called only by the stubs. */
void *opc_uncovered(size_t i, void *caller);
void *opc_uncovered(size_t i, void *caller) {
  cudaError_t (*refuse)(void) = not_supported;
  opc_cuda_call_t call;
  opc_runtime_ready();
  if (opc_runtime.simulated) {
    if (opc_call_begin(&call, OPC_CUDA_UNCOVERED, names[i], caller)) opc_call_end(&call, cudaErrorNotSupported);
    return *(void **)&refuse;
  }
  void *target = atomic_load_explicit(&targets[i], memory_order_relaxed);
  if (!target) {
    target = opc_real_function(names[i]);
    atomic_store_explicit(&targets[i], target, memory_order_relaxed);
  }
  return target;
}

__asm__(
    ".pushsection .text\n"
    ".local opc_uncovered_leave\n"
    ".type opc_uncovered_leave, @function\n"
    "opc_uncovered_leave:\n" /* r11: the number of the function; on the stack: the return address */
    "  push %rbp\n"
    "  mov %rsp, %rbp\n"
    "  sub $192, %rsp\n"
    "  and $-16, %rsp\n"
    "  mov %rdi, 0(%rsp)\n  mov %rsi, 8(%rsp)\n  mov %rdx, 16(%rsp)\n  mov %rcx, 24(%rsp)\n  mov %r8, 32(%rsp)\n  mov "
    "%r9, 40(%rsp)\n  mov %rax, 48(%rsp)\n"
    "  movaps %xmm0, 64(%rsp)\n  movaps %xmm1, 80(%rsp)\n  movaps %xmm2, 96(%rsp)\n  movaps %xmm3, 112(%rsp)\n"
    "  movaps %xmm4, 128(%rsp)\n  movaps %xmm5, 144(%rsp)\n  movaps %xmm6, 160(%rsp)\n  movaps %xmm7, 176(%rsp)\n"
    "  mov %r11, %rdi\n"
    "  mov 8(%rbp), %rsi\n"
    "  call opc_uncovered\n"
    "  mov %rax, %r11\n"
    "  movaps 64(%rsp), %xmm0\n  movaps 80(%rsp), %xmm1\n  movaps 96(%rsp), %xmm2\n  movaps 112(%rsp), %xmm3\n"
    "  movaps 128(%rsp), %xmm4\n  movaps 144(%rsp), %xmm5\n  movaps 160(%rsp), %xmm6\n  movaps 176(%rsp), %xmm7\n"
    "  mov 0(%rsp), %rdi\n  mov 8(%rsp), %rsi\n  mov 16(%rsp), %rdx\n  mov 24(%rsp), %rcx\n  mov 32(%rsp), %r8\n  mov "
    "40(%rsp), %r9\n  mov 48(%rsp), %rax\n"
    "  leave\n"
    "  jmp *%r11\n"
    ".popsection\n");

/* .set counts the stubs in the order of the list, as in names[]. */
__asm__(".pushsection .text\n.set opc_stub, 0\n.popsection\n");
#define STUB(name)                       \
  __asm__(                               \
      ".pushsection .text\n"             \
      ".weak " name                      \
      "\n"                               \
      ".type " name ", @function\n" name \
      ":\n"                              \
      "  mov $opc_stub, %r11d\n"         \
      "  jmp opc_uncovered_leave\n"      \
      ".size " name ", .-" name          \
      "\n"                               \
      ".set opc_stub, opc_stub + 1\n"    \
      ".popsection\n");
#define OPC_CUDART_EXPORT(name) STUB(#name)
#define OPC_CUDART_EXPORT_PTSZ(name) STUB(#name) STUB(#name "_ptsz")
#define OPC_CUDART_EXPORT_PTDS(name) STUB(#name) STUB(#name "_ptds")
#include "cuda/wrapper/cudart_exports.def"
