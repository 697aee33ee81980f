/* What kernels did wrong on the simulated device (cuda/log/launch.h) while an operator ran: accesses outside their
 * memory become accesses like those of host code (memory/guard.h), and the others are kept here.
 *
 * Only kernels of the libraries under test count. Ownership: valid until the next reset. Threads: one. */
#pragma once

#include "checks/call/call.h"
#include "cuda/log/launch.h"

/* After a call, while its arguments are there. */
void opc_device_faults_take(const opc_call_t *call);
/* Together with opc_guard_accesses_reset. */
void opc_device_faults_reset(void);
/* The first fault that is no access outside memory: on a GPU it ends the context. NULL: none. */
const opc_device_fault_t *opc_device_fault_fatal(void);
