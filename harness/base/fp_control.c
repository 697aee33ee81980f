#include <fenv.h>

#include "base/process_state.h"

#if defined(__x86_64__)

/* Intel SDM vol. 1, 10.2.3 and 8.1.5. The low bits of MXCSR are flags. */
enum { MXCSR_CONTROL = 0xffc0, MXCSR_FLUSH = 0x8040 };

opc_fp_control_t opc_fp_control_read(void) {
  unsigned vector = 0;
  unsigned short scalar = 0;
  __asm__ volatile("stmxcsr %0\n\tfnstcw %1" : "=m"(vector), "=m"(scalar));
  return (opc_fp_control_t){.vector = vector & MXCSR_CONTROL, .scalar = scalar};
}

void opc_fp_control_write(opc_fp_control_t control) {
  unsigned vector = (unsigned)control.vector;
  unsigned short scalar = (unsigned short)control.scalar;
  __asm__ volatile("ldmxcsr %0\n\tfldcw %1" : : "m"(vector), "m"(scalar));
}

opc_fp_control_t opc_fp_control_flushing(opc_fp_control_t control) {
  control.vector |= MXCSR_FLUSH;
  return control;
}

#elif defined(__aarch64__)

enum { FPCR_FLUSH = 1 << 24 };

opc_fp_control_t opc_fp_control_read(void) {
  uint64_t control;
  __asm__ volatile("mrs %0, fpcr" : "=r"(control));
  return (opc_fp_control_t){.vector = control};
}

void opc_fp_control_write(opc_fp_control_t control) { __asm__ volatile("msr fpcr, %0" : : "r"(control.vector)); }

opc_fp_control_t opc_fp_control_flushing(opc_fp_control_t control) {
  control.vector |= FPCR_FLUSH;
  return control;
}

#else

opc_fp_control_t opc_fp_control_read(void) { return (opc_fp_control_t){.vector = (uint64_t)fegetround()}; }
void opc_fp_control_write(opc_fp_control_t control) { fesetround((int)control.vector); }
opc_fp_control_t opc_fp_control_flushing(opc_fp_control_t control) { return control; }

#endif
