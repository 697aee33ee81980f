/* clang-format off */
/* Messages between opcheck-c and opcheck-worker, as JSON objects (channel.h transports them). Both are built from one
 * source tree: there is no version skew, a mismatch is an error.
 *
 * 0. Command line:
 *    opcheck-worker [--preload LIB]… [--mode cpu|cuda|cuda-sim] [--exec-batch MEMORY_MIB] [--namespace NS]…
 *                   [--module NAME]… [--tool memcheck] [--sandbox SINCE] [--package MODEL.pt2] LIB…
 *    stdout and stderr are already a memfd (its tail is evidence), stdin is /dev/null, LD_LIBRARY_PATH is set for
 *    --torch.
 *    --exec-batch: one process per batch, for libraries that make forking unsafe. Fd 3 reports the loading as usual and
 *    is closed after "ready". Then the process itself is the child: fd 4 is the batch channel, fd 5 the crash record,
 *    fd 6 the output memfd.
 *    --namespace: also lists operators of this namespace that none of the libraries registered, including libtorch's
 *    own.
 *    --module: a Python interpreter hosts the worker (harness/worker/python/host.py) and imports this module after the
 *    libraries; reported as a library is, with its name.
 *    --package: loaded after the libraries and reported in the same way. Its operators are its models, with
 *    "kind":"package", "package_bytes":N and, if the package describes its inputs, "package_inputs":[VALUE…], and
 *    "package_example":true if these are the example inputs of its export.
 *    --tool memcheck: the process runs under Valgrind; errors count while an operator runs. MEMORY_MIB is then the
 *    limit for tensors; the total limit is four times that and 1 GiB.
 *    MEMORY_MIB and memory_mib: address space that a child may add to the worker's mappings; 0: no limit. The CUDA
 *    modes have no limit either: CUDA reserves far more than it uses, and so does the simulated device. In these modes
 *    the wrappers of the CUDA runtime (cuda/log/launch.h) are preloaded; LD_PRELOAD is restored to the user's value
 *    before anything else happens.
 *    --sandbox: children run in it (worker/process/confine.h). SINCE: when the run began, in seconds since 1970.
 *    Exit code 125 of the worker or a child: internal error, its output says why. Each child is a process group of
 *    its own (setpgid(0, 0)), so that processes that it forks can be ended with it.
 *
 * 1. Control channel: a SOCK_STREAM socketpair, fd 3 of the worker.
 *    worker -> supervisor
 *      {"t":"hello","protocol":1,"torch":"2.11.0","cuda":"13.0","cuda_missing":TEXT|null}
 *                                                     TEXT: libtorch_cuda should be loaded (any mode but cpu), but
 *                                                     cannot be
 *      {"t":"loading","library":PATH}                 before dlopen: this library causes a death from now on
 *      {"t":"loaded","library":PATH,"note":TEXT,"changed":false} | {"t":"load_failed","library":PATH,"message":TEXT}
 *                                                     ("kind":KIND in load_failed: the message is complete)
 *                                                     preloads are reported in the same way, with their own paths;
 *                                                     note: what is a stub in this process (bridge/api/prepare.h), ""
 *                                                     if nothing; changed: loading it changed the process's state
 *                                                     (opc_load_state_of)
 *      {"t":"operator", …opc_operator_to_json…}       after all is loaded, in order of registration, with the kernels
 *                                                     of all libraries; those of --namespace, without a library, come
 *                                                     last, sorted by name
 *      {"t":"class", …opc_class_to_json…}
 *      {"t":"terminate","message":TEXT}               from the std::terminate handler
 *      {"t":"ready","pid":N,"threads":N,"cuda_initialised":false,"cpu_seconds":S,"sandbox":TEXT}
 *                                                     S: of the process so far; threads > 1 or cuda_initialised:
 *                                                     forking is unsafe, use --exec-batch.
 *                                                     TEXT: what the sandbox cannot do on this kernel, "" if
 *                                                     nothing
 *      {"t":"forked","child":ID,"pid":N}              with a pidfd by SCM_RIGHTS
 *      {"t":"reaped","child":ID,"status":WAITSTATUS,"max_rss_kib":N}
 *                                                     its process group was killed, its working directory removed
 *      {"t":"fork_failed","child":ID,"message":TEXT}
 *    supervisor -> worker
 *      {"t":"fork","child":ID,"memory_mib":N}         with three fds by SCM_RIGHTS: batch channel, crash record memfd,
 *                                                     output memfd
 *    End of file on fd 3: the worker kills its children and exits.
 *
 * 2. Batch channel: a SOCK_STREAM socketpair per child.
 *    supervisor -> child
 *      {"t":"cases","operator":NAME,"library":PATH,"samples":[SAMPLE…],"checks":[NAME…],"devices":["cpu"…],"seed":N,
 *        "library":PATH         only if the operator is a library's file, for which the worker has no operator
 *        "neighbours":N         cases of neighbours for each sample; -1: as many as it has of its own
 *                               (plan/cases/planner.h)
 *        "only":CASE|null       run only this case
 *        "only_ran":true        default: false. It has run before: the plan is known to contain it
 *        "only_if_quick":true   default: false. It did not run: like any other case, it is skipped if its input would
 *                               take too long (checks/runner/slow_input.h)
 *        "after":CASE|null      run the cases after this one in the plan
 *        "from":CASE|null,"to":CASE|null    run this range of the plan (bisection), both ends included
 *        "skip":["CHECK RANK"…] skip cases of the check whose input has this rank or a worse one; reported as
 *                               skip/after_crash
 *        "crashed":[CASE…]      the operator crashed or hung on the arguments of these cases: skip also the cases of
 *                               other checks with the same device, dtype, sample and variant. A case without a sample:
 *                               it hung with this variant, skip all cases of the variant. Both lists are for cases
 *                               after a crash, and empty if a finding is confirmed alone
 *        "out_of_time":WHY      skip all variants, because no time is left; with "out_of_time_for_all":true, skip
 *                               unmodified samples too
 *        "by_yield":true        the plan is ordered by yield (plan/cases/planner.h); with "themselves_only":true, only
 *                               its first turn
 *        "found":{CASE:RULE}    findings of cases of unmodified samples that other children ran
 *        "since":CASE|null      with "after" or "from": this child acts as if it had run the cases from this one on
 *      }
 *      {"t":"try","operator":NAME,"device":"cpu"…,"sample":SAMPLE,"seed":N,"values":true,
 *        "without_meta":true}
 *                               one call of a search; values: return those of small outputs; without_meta: do not ask
 *                               the Meta kernel. On devices other than the CPU it only matters whether the operator
 *                               returns
 *    End of file: the child exits with exit code 0.
 *    SAMPLE is the sample file's object with "source":"file|recorded|searched" added. "unchecked":true: with these
 *    arguments, for which nobody vouches, the operator is known to go out of bounds; only check memory runs on it. If
 *    also "uninitialised":true, the result depends on uninitialised memory; only check initialisation runs on it.
 *    "by_recipe":true: a recipe specifies the arguments.
 *    child -> supervisor
 *      {"t":"result","case":ID,"verdict":…,"severity":…,"rule":…,"reason":…,"standing":…,"message":…,"evidence":{},
 *       "seconds":S}
 *        severity and rule only for a finding, reason only for a skip
 *        "memcheck":{"number":N,"errors":N,"listed":true}   in results and "tried", if Valgrind counted errors: the
 *                               case's number in Valgrind's XML, how many, and whether its log lists them
 *      {"t":"done","planned":N,"left_out":N}   a "cases" command is finished: N results were sent for it. left_out:
 *                               with by_yield and out_of_time_for_all, of each check only the first case has a result;
 *                               so many others have none
 *      {"t":"spent"}                instead of "done": the process exits, another one must run the rest. The last case
 *                               broke it (a fault in a CUDA kernel, rule launch.asynchronous_error), or the next one
 *                               needs other memory on the device
 *      {"t":"tried","outcome":"returned|rejected|no_kernel|…|uninitialised|unclean","message":TEXT,"seconds":S,
 *        "cpu_seconds":S,       of this child so far
 *        outcome uninitialised: it stayed within its tensors, but its result depends on uninitialised memory
 *        outcome unclean: it returned, but wrote outside its tensors, or its result depends on out-of-bounds or
 *                               uninitialised memory
 *        "site":TEXT,           of a rejection: return addresses inside the operator's library, as offsets; "" if none
 *        "returns":[{"shape":[…],"dtype":…,"values":[…]}|null…],  a list is replaced by its tensors; null: not a
 *                               tensor; values: of small ones, on request
 *        "mutated":[PATH…],     arguments whose bytes changed
 *        "effect":true,         a non-empty tensor output, a mutated argument, or a non-tensor result
 *        "depends_on_values":true,  a second call with another fill seed gave other bytes (computed only if effect), or
 *                               was rejected
 *        "steady":true,         a repeated call gave the same result
 *        "digest":TEXT,         of the bytes of outputs and mutated arguments
 *        "access":{"argument":PATH,"write":B,"beyond":N,"place":TEXT},   of an unclean try: next to which argument ("":
 *                               memory that the operator allocated), how many bytes past its end (negative: before it),
 *                               at which instruction ("lib.so+1a2b")
 *        "refused_on_meta":TEXT   of a clean try: the operator's own Meta kernel refuses the arguments
 *      {"t":"refused","message":TEXT}   the command itself was wrong (harness error)
 *
 * 3. Crash record: a memfd of OPC_CRASH_RECORD_SIZE bytes that child and supervisor map. The child writes the case
 * before it runs; the fault handler writes the crash. The supervisor reads it for time limits and after a death. As no
 * message is needed, starting a case costs no system call. */
/* clang-format on */
#pragma once

#include <stdint.h>

#include "base/process_state.h"

enum {
  OPC_PROTOCOL_VERSION = 1,
  OPC_CONTROL_FD = 3,
  OPC_BATCH_FD = 4, /* --exec-batch: batch channel, crash record, output memfd */
  OPC_BATCH_FDS = 3,
  OPC_LOG_FD = 7, /* --tool memcheck: Valgrind's log; the worker closes it */
  OPC_CRASH_RECORD_SIZE = 8192,
  OPC_CRASH_RECORD_FRAMES = 48,
  OPC_CRASH_RECORD_CASE_SIZE = 768,
  OPC_CRASH_RECORD_INPUT_SIZE = 4096
};

typedef struct opc_crash_record {
  uint32_t magic;              /* OPC_CRASH_RECORD_MAGIC, set by the supervisor */
  volatile uint32_t running;   /* 1 while a case or a try runs */
  volatile uint64_t sequence;  /* number of cases and tries of this child */
  volatile int64_t started_ns; /* CLOCK_MONOTONIC when it began */
  char case_id[OPC_CRASH_RECORD_CASE_SIZE];
  char why[128];                           /* why the case is tried; "" for a try */
  char provenance[32];                     /* of the case's input (model/case/case.h); "" if it has none */
  uint32_t call_kind;                      /* opc_call_kind_t of the running call (model/case/case.h) */
  uint32_t refused_before;                 /* refusals.count when the case began */
  opc_refusals_t refusals;                 /* of this child and what it started; the warden writes them */
  char detail[128];                        /* more about it, for people; of ON_LAYOUT: the layout */
  char input[OPC_CRASH_RECORD_INPUT_SIZE]; /* the arguments of a case named by "only" or "to", as a JSON object of
                                              strings; "" for any other */
  volatile uint32_t crashed;               /* 1 once the fault handler has filled in the rest */
  int32_t signal, code; /* si_signo, si_code; signal 0: exit() was called with status `code`, frames say from where */
  uint64_t address;     /* si_addr */
  int32_t device;       /* the address is in memory of CUDA device device - 1; 0: it is not */
  uint64_t program_counter;
  uint32_t frame_count;
  uint64_t
      frames[OPC_CRASH_RECORD_FRAMES]; /* the first is program_counter for a signal; the others are return addresses */
  char terminate_text[1024];           /* why std::terminate was called; why a child exited with code 125 */
} opc_crash_record_t;

_Static_assert(sizeof(opc_crash_record_t) <= OPC_CRASH_RECORD_SIZE, "the crash record has outgrown its file");

enum { OPC_CRASH_RECORD_MAGIC = 0x6f706362 };
