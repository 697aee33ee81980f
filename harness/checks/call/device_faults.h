/* What kernels did wrong on the simulated device (cuda/log/launch.h) while an operator ran: accesses outside their
 * memory become accesses like those of host code (memory/guard.h), and so do races and values that nothing has written,
 * where a check asks for them. The others are kept here.
 *
 * Only kernels of the libraries under test count. Ownership: valid until the next reset. Threads: one. */
#pragma once

#include "checks/call/call.h"
#include "cuda/log/launch.h"

/* From now on kernels are watched for races, values that nothing has written, barriers in divergent code and unfinished
 * copies; off: not any more. Only where all tensors have memory of their own (device_zones.h) is it known what is new.
 */
void opc_device_faults_watch(bool on);
/* On: the calls from now on have arguments that the check made, for which nobody vouches (model/case/call_kind.def);
 * what their kernels do wrong is not kept. */
void opc_device_faults_of_others(bool on);
/* Before a call: its arguments are written. */
void opc_device_faults_begin(const opc_call_t *call);
/* After a call, while its arguments are there. */
void opc_device_faults_take(const opc_call_t *call);
/* Together with opc_guard_accesses_reset. */
void opc_device_faults_reset(void);
/* The first fault that is no access outside memory: on a GPU it ends the context. NULL: none. */
const opc_device_fault_t *opc_device_fault_fatal(void);
