/* What opcheck-c and opcheck-worker say to each other, as JSON objects (how they travel: channel.h). Both are built
 * from one source tree: no version skew is possible, a mismatch is an error.
 *
 * 0. Command line: opcheck-worker [--preload LIB]… [--mode cpu|cuda|cuda-sim] [--exec-batch MEMORY_MIB] [--namespace
 * NS]… [--tool memcheck]
 *    [--package MODEL.pt2] LIB…
 *    stdout and stderr are a memfd already (its tail is evidence), stdin is /dev/null, LD_LIBRARY_PATH is set for
 * --torch.
 *    --exec-batch: a process a batch, for libraries that make forking unsafe. Fd 3 reports the loading as usual and is
 * closed after "ready"; then the process is the child itself: fd 4 is the batch channel, fd 5 the crash record, fd 6
 * the output memfd.
 *    --namespace: the operators of this namespace are listed as well that none of the libraries registered, libtorch's
 * own among them.
 *    --package: loaded after the libraries, and reported in the same way: its operators are its models, with
 * "kind":"package", "package_bytes":N and, where the package says so, "package_inputs":[VALUE…], and
 * "package_example":true where these are the ones that it was exported with.
 *    --tool memcheck: the process runs under Valgrind; errors count while an operator runs. MEMORY_MIB is the limit of
 * tensors then, four times that and 1 GiB the one of all. MEMORY_MIB and memory_mib: address space that a child may add
 * to what the worker had mapped; 0: no limit. In the modes of CUDA there is none either: CUDA reserves far more than it
 * uses, and so does the simulated device. For these modes the wrappers of CUDA's runtime (cuda/log/launch.h) are
 * preloaded; LD_PRELOAD is as the user has set it again before anything else happens. Exit code 125, of the worker or a
 * child: it could not work, its output says why. Each child is a process group of its own (setpgid(0, 0)), so that what
 * it forks can be ended with it.
 *
 * 1. Control channel: a SOCK_STREAM socketpair, fd 3 of the worker.
 *    worker -> supervisor
 *      {"t":"hello","protocol":1,"torch":"2.11.0","cuda":"13.0","cuda_missing":TEXT|null}   TEXT: libtorch_cuda was to
 * be loaded (any mode but cpu) and cannot be
 *      {"t":"loading","library":PATH}                 before dlopen: a death now is this library's
 *      {"t":"loaded","library":PATH,"note":TEXT} | {"t":"load_failed","library":PATH,"message":TEXT}
 *                                                     ("kind":KIND with load_failed: the message needs no more words)
 *                                                     preloads are reported in the same way, with their own paths;
 *                                                     note: what is inert in this process (bridge/api/prepare.h), ""
 * when nothing
 *      {"t":"operator", …opc_operator_to_json…}       when all is loaded, in order of registration, with the kernels of
 * all the libraries; those of --namespace, without a library, behind all others in order of name
 *      {"t":"class", …opc_class_to_json…}
 *      {"t":"terminate","message":TEXT}               from the std::terminate handler
 *      {"t":"ready","pid":N,"threads":N,"cuda_initialised":false,"cpu_seconds":S}   S: of the process so far; threads >
 * 1 or cuda: forking is unsafe, use exec-per-batch
 *      {"t":"forked","child":ID,"pid":N}              with a pidfd by SCM_RIGHTS
 *      {"t":"reaped","child":ID,"status":WAITSTATUS,"max_rss_kib":N}   its process group was killed, its working
 * directory removed
 *      {"t":"fork_failed","child":ID,"message":TEXT}
 *    supervisor -> worker
 *      {"t":"fork","child":ID,"memory_mib":N}          with three fds by SCM_RIGHTS: batch channel, crash record memfd,
 * output memfd End of file on fd 3: the worker kills its children and leaves.
 *
 * 2. Batch channel: a SOCK_STREAM socketpair a child.
 *    supervisor -> child
 *      {"t":"cases","operator":NAME,"library":PATH,"samples":[SAMPLE…],"checks":[NAME…],"devices":["cpu"…],"seed":N,
 *        "library": only where the operator is a library's file, which the worker has no operator for
 *        "only":CASE|null,      run exactly this case
 *        "only_ran":true,       left out: false. It has run before: the plan is known to have it
 *        "after":CASE|null,     run what comes after this case in the plan
 *        "from":CASE|null,"to":CASE|null    run this stretch of the plan (bisection), both ends included
 *        "skip":["CHECK RANK"…],  cases of the check whose input has this rank or a worse one are not run: reported as
 *                               skip/after_crash
 *        "crashed":[CASE…]}     the operator crashed or hung on the arguments of these cases: the cases of other checks
 * with the same device, dtype, sample and variant are not run either. Without a sample: it hung with this variant, and
 * no case of it is run. Both lists are for the cases behind a crash, and left out with "only" "out_of_time":S no
 * variant is run any more: the operator's cases have taken more than S seconds; nor, with "out_of_time_for_all":true, a
 * sample itself
 *      {"t":"try","operator":NAME,"device":"cpu"…,"sample":SAMPLE,"seed":N,"values":true}     one call of a search;
 * values: of small outputs are wanted. On another device than the CPU all that counts is that the operator returns End
 * of file: the child leaves with exit code 0. SAMPLE is the sample file's object with "source":"file|recorded|searched"
 * added, and "unchecked":true where the operator is known to leave its tensors with these arguments, which nobody
 * promises to be right: only check memory runs on it, or with "uninitialised":true, where the result depends on memory
 * that nothing initialised, only check initialisation; "by_recipe":true where a recipe says what they have to be.
 *    child -> supervisor
 *      {"t":"result","case":ID,"verdict":…,"severity":…,"rule":…,"reason":…,"standing":…,"message":…,"evidence":{},
 * "seconds":S}
 *        severity and rule only of a finding, reason only of a skip
 *        "memcheck":{"number":N,"errors":N,"listed":true}   of results and of "tried", where Valgrind counted errors:
 * the case's number in Valgrind's XML, how many, and whether they are listed in its log
 *      {"t":"done","planned":N}     all of a "cases" command is through: N results were sent for it
 *      {"t":"spent"}                in place of "done": the process leaves, and the rest is for another one. The last
 * case broke it (a fault in a CUDA kernel, rule launch.asynchronous_error), or the next one wants other memory on the
 * device
 *      {"t":"tried","outcome":"returned|rejected|no_kernel|…|uninitialised|unclean","message":TEXT,"seconds":S,
 *        "cpu_seconds":S,          of this child so far
 *        uninitialised: it returned within its tensors, and its result follows memory that nothing initialised
 *        unclean: it returned, but wrote outside its tensors, or its result follows what lies around them or was never
 * initialised "site":TEXT,              of a rejection: return addresses inside the operator's library, as offsets; ""
 * where there are none "returns":[{"shape":[…],"dtype":…,"values":[…]}|null…],  a list's tensors in its place; null:
 * not a tensor; values: of small ones, when wanted "mutated":[PATH…],        arguments whose bytes changed
 *        "effect":true,            a non-empty tensor output, a mutated argument, or a non-tensor result
 *        "depends_on_values":true, a second call with another fill seed gave other bytes (only computed when effect),
 * or was refused "steady":true,            the same call again came to the same "digest":TEXT,            of the bytes
 * of outputs and changed arguments "access":{"argument":PATH,"write":B,"beyond":N,"place":TEXT}}  of an unclean try:
 * beside which argument ("": the operator's own memory), how many bytes behind its end (negative: before it), at which
 * instruction ("lib.so+1a2b")
 *      {"t":"refused","message":TEXT}   the command itself was wrong (harness error)
 *
 * 3. Crash record: a memfd of OPC_CRASH_RECORD_SIZE bytes that child and supervisor map. The child writes the case
 * before it runs; the fault handler writes the crash. The supervisor reads it for deadlines and after a death. No
 * message is needed, so a begin costs no system call. */
#ifndef OPC_WIRE_PROTOCOL_H
#define OPC_WIRE_PROTOCOL_H

#include <stdint.h>

enum {
  OPC_PROTOCOL_VERSION = 1,
  OPC_CONTROL_FD = 3,
  OPC_BATCH_FD = 4, /* --exec-batch: batch channel, crash record, output */
  OPC_BATCH_FDS = 3,
  OPC_LOG_FD = 7, /* --tool memcheck: Valgrind's log; the worker closes it */
  OPC_CRASH_RECORD_SIZE = 8192,
  OPC_CRASH_RECORD_FRAMES = 48,
  OPC_CRASH_RECORD_CASE_SIZE = 768,
  OPC_CRASH_RECORD_INPUT_SIZE = 4096
};

typedef struct opc_crash_record {
  uint32_t magic;              /* OPC_CRASH_RECORD_MAGIC, written by the supervisor */
  volatile uint32_t running;   /* 1 while a case or a try runs */
  volatile uint64_t sequence;  /* counts cases and tries of this child */
  volatile int64_t started_ns; /* CLOCK_MONOTONIC when it began */
  char case_id[OPC_CRASH_RECORD_CASE_SIZE];
  char why[128];     /* why the case is tried; "" for a try */
  char standing[32]; /* of the case's input (model/case/standing.h); "" where it has none */
  char phase[128]; /* "the operator", "the Meta kernel"…; "the operator, …": once more on the case's own arguments */
  char input[OPC_CRASH_RECORD_INPUT_SIZE]; /* the arguments of a case that "only" or "to" names, as a JSON object of
                                          strings; "" for any other */
  volatile uint32_t crashed;               /* 1 once the fault handler has filled in the rest */
  int32_t signal,
      code;         /* si_signo, si_code; signal 0: exit() was called with status `code`, and frames say from where */
  uint64_t address; /* si_addr */
  uint64_t program_counter;
  uint32_t frame_count;
  uint64_t
      frames[OPC_CRASH_RECORD_FRAMES]; /* the first is program_counter for a signal; the others are return addresses */
  char terminate_text[1024];           /* what std::terminate was called for; why a child left with exit code 125 */
} opc_crash_record_t;

_Static_assert(sizeof(opc_crash_record_t) <= OPC_CRASH_RECORD_SIZE, "the crash record has outgrown its file");

enum { OPC_CRASH_RECORD_MAGIC = 0x6f706362 };

#endif
