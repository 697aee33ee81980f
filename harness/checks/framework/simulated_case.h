/* What the simulated CUDA device (cuda/log/launch.h) changes for whoever judges a call on it: no kernel has run, so
 * nothing that came back from the device by a kernel's work says anything, and libraries that bring a runtime of their
 * own do not work there.
 *
 * Ownership: nothing is kept. Threads: one. */
#ifndef OPC_CHECKS_FRAMEWORK_SIMULATED_CASE_H
#define OPC_CHECKS_FRAMEWORK_SIMULATED_CASE_H

#include "base/text.h"
#include "cuda/log/launch.h"

/* They are watched from now on: the log that opc_simulated_cause asks for begins here, where no check begins one of its
 * own. */
void opc_simulated_case_begin(void);
/* Whether a call that threw `message` may have thrown for the simulated device's sake and not for its arguments'. */
typedef enum opc_simulated_cause {
  OPC_SIMULATED_NONE = 0, /* nothing speaks for it */
  OPC_SIMULATED_LACKS,    /* it used what the device does not have: it would with any arguments */
  OPC_SIMULATED_READ      /* it read what a kernel should have written */
} opc_simulated_cause_t;
/* log: of the call. Adds the cause in words to *out. */
opc_simulated_cause_t opc_simulated_cause_in(const opc_cuda_log_t *log, const char *message, opc_text_t *out);
/* The same by the log that was begun last, which ends. NONE on any other device. */
opc_simulated_cause_t opc_simulated_cause(const char *message, opc_text_t *out);

#endif
