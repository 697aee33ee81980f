/* Streams and events of the simulated devices. Work in a stream is done as soon as it is submitted (opc_stream_put),
 * except host functions: these run in order on a thread of their own, as in CUDA, so that one that takes a lock held by
 * its caller does not deadlock. */
#include <sys/mman.h>
#include <time.h>
#include <unistd.h>

#include "cuda/simulated/simulated.h"

/* ---- host functions ---- */

typedef struct job {
  cudaHostFn_t function;
  cudaStreamCallback_t callback; /* or this */
  cudaStream_t stream;
  void *data;
} job_t;

enum { JOBS_MAX = 1024 };
static pthread_cond_t jobs_changed = PTHREAD_COND_INITIALIZER;
static job_t jobs[JOBS_MAX];
static size_t jobs_put, jobs_done;
static pid_t runner_of; /* the process that has the thread: a forked child does not have it */
static _Thread_local bool is_runner;

static void *jobs_run(void *unused) {
  (void)unused;
  is_runner = true;
  pthread_mutex_lock(&opc_lock_jobs);
  for (;;) {
    while (jobs_done == jobs_put) pthread_cond_wait(&jobs_changed, &opc_lock_jobs);
    const job_t job = jobs[jobs_done % JOBS_MAX];
    pthread_mutex_unlock(&opc_lock_jobs);
    if (job.function) job.function(job.data);
    else job.callback(job.stream, cudaSuccess, job.data);
    pthread_mutex_lock(&opc_lock_jobs);
    jobs_done++;
    pthread_cond_broadcast(&jobs_changed);
  }
  return NULL;
}

static cudaError_t job_put(const job_t *job) {
  pthread_t thread;
  cudaError_t code = cudaSuccess;
  pthread_mutex_lock(&opc_lock_jobs);
  if (runner_of != getpid()) {
    jobs_done = jobs_put = 0;
    if (pthread_create(&thread, NULL, jobs_run, NULL) == 0) {
      pthread_detach(thread);
      runner_of = getpid();
    } else {
      code = cudaErrorOperatingSystem;
    }
  }
  while (code == cudaSuccess && jobs_put - jobs_done == JOBS_MAX && !is_runner)
    pthread_cond_wait(&jobs_changed, &opc_lock_jobs);
  if (code == cudaSuccess) {
    jobs[jobs_put++ % JOBS_MAX] = *job;
    pthread_cond_broadcast(&jobs_changed);
  }
  pthread_mutex_unlock(&opc_lock_jobs);
  return code;
}

static bool host_functions_pending(void) {
  pthread_mutex_lock(&opc_lock_jobs);
  const bool pending = runner_of == getpid() && jobs_done != jobs_put;
  pthread_mutex_unlock(&opc_lock_jobs);
  return pending;
}

void opc_host_functions_wait(void) {
  if (is_runner || runner_of == 0)
    return; /* a host function that waits for itself is another error, which CUDA forbids */
  pthread_mutex_lock(&opc_lock_jobs);
  const size_t until = jobs_put;
  while (runner_of == getpid() && jobs_done < until) pthread_cond_wait(&jobs_changed, &opc_lock_jobs);
  pthread_mutex_unlock(&opc_lock_jobs);
}

static cudaError_t host_function_check(const opc_work_t *work) {
  return work->of.host.function ? cudaSuccess : cudaErrorInvalidValue;
}

static cudaError_t host_function_run(const opc_work_t *work) {
  const cudaError_t code = host_function_check(work);
  return code == cudaSuccess ? job_put(&(job_t){.function = work->of.host.function, .data = work->of.host.data}) : code;
}

cudaError_t opc_sim_cudaLaunchHostFunc(cudaStream_t stream, cudaHostFn_t function, void *data) {
  const opc_work_t work = {.type = cudaGraphNodeTypeHost,
                           .check = host_function_check,
                           .run = host_function_run,
                           .of.host = {function, data}};
  return opc_stream_put(stream, &work);
}

/* Callbacks are not supported in a capture. */

cudaError_t opc_sim_cudaStreamAddCallback(cudaStream_t stream, cudaStreamCallback_t function, void *data,
                                          unsigned flags) {
  const cudaError_t code = opc_capture_asked(stream);
  if (code != cudaSuccess) return code;
  if (!function || flags != 0) return cudaErrorInvalidValue;
  return job_put(&(job_t){.callback = function, .stream = stream, .data = data});
}

/* ---- streams ---- */

/* Handles are unmapped addresses: dereferencing one faults. */
static uint64_t handle_new(void) {
  static atomic_uint_least64_t last;
  static const uint64_t first = 0x00005ca1ab1e0000, step = 64;
  return first + step * atomic_fetch_add(&last, 1);
}

cudaError_t opc_sim_cudaStreamCreateWithPriority(cudaStream_t *out, unsigned flags, int priority) {
  (void)priority; /* out-of-range values are clamped */
  if (!out || (flags & ~(unsigned)cudaStreamNonBlocking) != 0) return cudaErrorInvalidValue;
  *out = (cudaStream_t)(uintptr_t)handle_new();
  return cudaSuccess;
}

cudaError_t opc_sim_cudaStreamCreateWithFlags(cudaStream_t *out, unsigned flags) {
  return opc_sim_cudaStreamCreateWithPriority(out, flags, 0);
}
cudaError_t opc_sim_cudaStreamCreate(cudaStream_t *out) {
  return opc_sim_cudaStreamCreateWithPriority(out, cudaStreamDefault, 0);
}

cudaError_t opc_sim_cudaStreamDestroy(cudaStream_t stream) {
  opc_stream_t found;
  if (!opc_stream_find(stream, &found)) return cudaErrorInvalidResourceHandle;
  opc_capture_stream_ends(stream);
  return cudaSuccess;
}

static cudaError_t usable(cudaStream_t stream) {
  int device;
  return opc_stream_usable(stream, &device) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

cudaError_t opc_sim_cudaStreamSynchronize(cudaStream_t stream) {
  const cudaError_t code = opc_capture_asked(stream);
  if (code == cudaSuccess) opc_host_functions_wait();
  return code;
}

cudaError_t opc_sim_cudaStreamQuery(cudaStream_t stream) {
  const cudaError_t code = opc_capture_asked(stream);
  return code == cudaSuccess && host_functions_pending() ? cudaErrorNotReady : code;
}

cudaError_t opc_sim_cudaStreamGetPriority(cudaStream_t stream, int *out) {
  opc_stream_t found = {0};
  if (!out) return cudaErrorInvalidValue;
  (void)opc_stream_find(stream, &found);
  *out = found.priority;
  return usable(stream);
}

cudaError_t opc_sim_cudaStreamGetFlags(cudaStream_t stream, unsigned *out) {
  opc_stream_t found = {0};
  if (!out) return cudaErrorInvalidValue;
  (void)opc_stream_find(stream, &found);
  *out = found.flags;
  return usable(stream);
}

cudaError_t opc_sim_cudaStreamGetId(cudaStream_t stream, unsigned long long *out) {
  opc_stream_t found = {0};
  if (!out) return cudaErrorInvalidValue;
  *out = opc_stream_find(stream, &found) ? found.id
         : stream == cudaStreamPerThread ? 2 + 2 * (unsigned long long)opc_thread.device
                                         : 1;
  return usable(stream);
}

cudaError_t opc_sim_cudaStreamGetDevice(cudaStream_t stream, int *out) {
  if (!out) return cudaErrorInvalidValue;
  return opc_stream_usable(stream, out) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

/* ---- events ---- */

enum { EVENTS_MAX = 1 << 20 };
typedef struct event {
  atomic_bool live;
  bool recorded;
  unsigned flags;
  int device;
  struct timespec at;
  opc_captured_t captured; /* set if a capture recorded it last */
} event_t;
static event_t *events; /* handles are never reused, so that a destroyed one is recognised */
static atomic_size_t event_count;

static event_t *event_of(cudaEvent_t handle) {
  event_t *event = (event_t *)(void *)handle;
  if (!events || event < events || event >= events + atomic_load(&event_count) ||
      ((uintptr_t)event - (uintptr_t)events) % sizeof *event != 0)
    return NULL;
  return atomic_load(&event->live) ? event : NULL;
}

cudaError_t opc_sim_cudaEventCreateWithFlags(cudaEvent_t *out, unsigned flags) {
  if (!out || (flags & ~(unsigned)(cudaEventBlockingSync | cudaEventDisableTiming | cudaEventInterprocess)) != 0)
    return cudaErrorInvalidValue;
  if ((flags & cudaEventInterprocess) != 0 && (flags & cudaEventDisableTiming) == 0) return cudaErrorInvalidValue;
  pthread_mutex_lock(&opc_lock_streams);
  if (!events) events = opc_reserve(EVENTS_MAX * sizeof *events, PROT_READ | PROT_WRITE);
  event_t *event = events && atomic_load(&event_count) < EVENTS_MAX ? &events[atomic_fetch_add(&event_count, 1)] : NULL;
  if (event) {
    event->flags = flags;
    event->device = opc_thread.device;
    atomic_store(&event->live, true);
  }
  pthread_mutex_unlock(&opc_lock_streams);
  *out = (cudaEvent_t)(void *)event;
  return event ? cudaSuccess : cudaErrorMemoryAllocation;
}

cudaError_t opc_sim_cudaEventCreate(cudaEvent_t *out) {
  return opc_sim_cudaEventCreateWithFlags(out, cudaEventDefault);
}

cudaError_t opc_sim_cudaEventDestroy(cudaEvent_t handle) {
  event_t *event = event_of(handle);
  return event && atomic_exchange(&event->live, false) ? cudaSuccess : cudaErrorInvalidResourceHandle;
}

/* An event and the stream in which it is recorded must be on the same device (CUDA Programming Guide, "Stream and Event
 * Behavior"). */
cudaError_t opc_sim_cudaEventRecordWithFlags(cudaEvent_t handle, cudaStream_t stream, unsigned flags) {
  event_t *event = event_of(handle);
  int device;
  if (!event || !opc_stream_usable(stream, &device) || device != event->device) return cudaErrorInvalidResourceHandle;
  if ((flags & ~(unsigned)cudaEventRecordExternal) != 0) return cudaErrorInvalidValue;
  const cudaError_t code = opc_capture_record(stream, &event->captured, (flags & cudaEventRecordExternal) != 0);
  if (code != cudaSuccess) return code;
  clock_gettime(CLOCK_MONOTONIC, &event->at);
  event->recorded = true;
  return cudaSuccess;
}

cudaError_t opc_sim_cudaEventRecord(cudaEvent_t event, cudaStream_t stream) {
  return opc_sim_cudaEventRecordWithFlags(event, stream, 0);
}

/* An event that was never recorded counts as complete. */
cudaError_t opc_sim_cudaStreamWaitEvent(cudaStream_t stream, cudaEvent_t handle, unsigned flags) {
  const event_t *event = event_of(handle);
  if (!event) return cudaErrorInvalidResourceHandle;
  if ((flags & ~(unsigned)cudaEventWaitExternal) != 0) return cudaErrorInvalidValue;
  const cudaError_t code = usable(stream);
  return code == cudaSuccess && event->recorded
             ? opc_capture_wait(stream, &event->captured, (flags & cudaEventWaitExternal) != 0)
             : code;
}

cudaError_t opc_sim_cudaEventSynchronize(cudaEvent_t handle) {
  const event_t *event = event_of(handle);
  if (!event) return cudaErrorInvalidResourceHandle;
  const cudaError_t code = opc_capture_asked_event(&event->captured);
  if (code == cudaSuccess) opc_host_functions_wait();
  return code;
}

cudaError_t opc_sim_cudaEventQuery(cudaEvent_t handle) {
  const event_t *event = event_of(handle);
  if (!event) return cudaErrorInvalidResourceHandle;
  const cudaError_t code = opc_capture_asked_event(&event->captured);
  return code == cudaSuccess && host_functions_pending() ? cudaErrorNotReady : code;
}

cudaError_t opc_sim_cudaEventElapsedTime(float *out, cudaEvent_t from, cudaEvent_t to) {
  const event_t *start = event_of(from), *end = event_of(to);
  if (!out) return cudaErrorInvalidValue;
  if (!start || !end || !start->recorded || !end->recorded ||
      ((start->flags | end->flags) & cudaEventDisableTiming) != 0)
    return cudaErrorInvalidResourceHandle;
  *out =
      (float)((double)(end->at.tv_sec - start->at.tv_sec) * 1e3 + (double)(end->at.tv_nsec - start->at.tv_nsec) * 1e-6);
  return cudaSuccess;
}
