/* How the simulated CUDA device (cuda/log/launch.h) affects a call: no kernel runs, so results of kernels that are read
 * back mean nothing, and libraries with a statically linked CUDA runtime do not work.
 *
 * Ownership: nothing is kept. Threads: one. */
#pragma once

#include "base/text.h"
#include "cuda/log/launch.h"

/* Begins the log that opc_simulated_cause reads, unless a check later begins its own. */
void opc_simulated_case_begin(void);
/* Whether the simulated device, not the arguments, may be why a call threw `message`. */
typedef enum opc_simulated_cause {
  OPC_SIMULATED_NONE = 0, /* no sign of it */
  OPC_SIMULATED_LACKS,    /* it used a function that the device lacks: it would throw for any arguments */
  OPC_SIMULATED_READ      /* it read memory that a kernel should have written */
} opc_simulated_cause_t;
/* log: of the call. Adds the cause to *out as text. */
opc_simulated_cause_t opc_simulated_cause_in(const opc_cuda_log_t *log, const char *message, opc_text_t *out);
/* The same for the log begun last, which this ends. NONE on any other device. */
opc_simulated_cause_t opc_simulated_cause(const char *message, opc_text_t *out);
