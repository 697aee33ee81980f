/* Inside check determinism: one call of the operator under given conditions, and its outcome.
 *
 * All calls run in guarded memory with the same poison, so uninitialised memory and memory outside a tensor look the
 * same to each of them. Other checks report such accesses. Ownership: opc_trial_outcome_clear, opc_generators_clear.
 * Threads: one. */
#pragma once

#include "checks/call/argument_places.h"
#include "checks/call/replay.h"
#include "checks/call/result.h"
#include "checks/framework/check.h"

typedef enum opc_trial_condition {
  OPC_TRIAL_ELSEWHERE = 1 << 0, /* tensors at other addresses and in the opposite order, malloc's small blocks at other
                                   addresses; on the CPU */
  OPC_TRIAL_NO_GRAD = 1 << 1,   /* grad mode off */
  OPC_TRIAL_REQUIRES_GRAD = 1 << 2,     /* every floating and complex argument that is not written requires grad */
  OPC_TRIAL_DEFAULT_DTYPE = 1 << 3,     /* float64 is the default dtype */
  OPC_TRIAL_OTHER_SEED = 1 << 4,        /* another seed for the generators; the arguments' values stay */
  OPC_TRIAL_ONLY_DETERMINISTIC = 1 << 5 /* torch.use_deterministic_algorithms(True) */
} opc_trial_condition_t;

typedef struct opc_trial {
  opc_case_context_t *context;
  const opc_sample_t *sample;
  opc_replay_t *values;   /* NULL: the sample's own fills */
  unsigned conditions;    /* OPC_TRIAL_… */
  opc_places_t *places;   /* NULL: addresses from libtorch's allocator */
  opc_call_label_t label; /* name of the call in a crash report */
} opc_trial_t;

typedef struct opc_trial_outcome {
  opc_call_outcome_t outcome;
  opc_result_t result; /* with mutable arguments; empty unless it returned */
  opc_text_t message;  /* of a call that did not return */
} opc_trial_outcome_t;
void opc_trial_outcome_clear(opc_trial_outcome_t *outcome);

/* The memory that trials run in. The runner resets it after the case; opc_trial_memory_end resets what the runner does
 * not. */
void opc_trial_memory_begin(void);
void opc_trial_memory_end(void);

/* Makes the arguments, calls the operator once, takes the outcome. */
opc_status_t opc_trial_run(const opc_trial_t *trial, opc_trial_outcome_t *out, opc_error_t *error) OPC_CHECKED;
/* The steps of opc_trial_run, for conditions other than ELSEWHERE. Whatever the status, the caller clears the call,
 * then frees the places. */
opc_status_t opc_trial_make(const opc_trial_t *trial, opc_call_t *call, opc_error_t *error) OPC_CHECKED;
void opc_trial_call(const opc_trial_t *trial, opc_call_t *call);
opc_status_t opc_trial_take(const opc_call_t *call, opc_trial_outcome_t *out, opc_error_t *error) OPC_CHECKED;
/* The same without copies that can be avoided, for an outcome that is cleared before the call. */
opc_status_t opc_trial_look(const opc_call_t *call, opc_trial_outcome_t *out, opc_error_t *error) OPC_CHECKED;

/* ---- generators ---- */

/* Finds whether a call draws numbers from a default generator that it may use on its device: keep the states, make the
 * call with the context's seed, then ask. The caller clears them in any case. */
typedef struct opc_generators {
  struct opc_generator_state {
    void *bytes;
    size_t size;
  } states[2]; /* of the CPU, and of the device if that is another */
} opc_generators_t;
opc_status_t opc_generators_keep(const opc_case_context_t *context, opc_generators_t *out,
                                 opc_error_t *error) OPC_CHECKED;
opc_status_t opc_generators_used(const opc_case_context_t *context, const opc_generators_t *kept, bool *out_used,
                                 opc_error_t *error) OPC_CHECKED;
void opc_generators_clear(opc_generators_t *generators);
/* opc_trial_run between the two. *out_random: the call drew numbers from a default generator; false on errors. */
opc_status_t opc_trial_run_watched(const opc_trial_t *trial, opc_trial_outcome_t *out, bool *out_random,
                                   opc_error_t *error) OPC_CHECKED;

/* ---- comparing ---- */

/* True: two calls returned different bits, or one threw and the other returned. *out (may be NULL) then says where:
 * "returns[0][1] is 1, NAME has 2…". */
bool opc_trial_differ(const opc_trial_outcome_t *left, const opc_trial_outcome_t *right, const char *right_name,
                      opc_text_t *out);

/* ---- determinism_record.c: outcomes as bytes, for memory shared by two processes ---- */

/* Both sides of a fork are the same program at the same address, so structs are copied unchanged; but the operator may
 * have damaged the bytes. The caller clears what is read.
 *
 * The call that an outcome belongs to. */
typedef struct opc_record_key {
  size_t stage, sample;
} opc_record_key_t;

/* Bytes used; 0: there is not enough room. */
size_t opc_record_write(void *room, size_t size, opc_record_key_t key, const opc_trial_outcome_t *outcome);
/* Bytes used; 0: there is no whole record, and nothing to clear. */
size_t opc_record_read(const void *bytes, size_t size, opc_record_key_t *out_key, opc_trial_outcome_t *out);

/* ---- other values ---- */

/* Other values for the sample's tensors, valid as far as the fills show: random fills draw other numbers; given
 * floating numbers other than 0 move, and keep their integer parts and their order. *out_changed: some value differs.
 * The caller clears *out. */
opc_status_t opc_trial_other_values(opc_case_context_t *context, const opc_sample_t *sample, opc_replay_t *out,
                                    bool *out_changed, opc_error_t *error) OPC_CHECKED;

/* True: something was read or written out of bounds since the case began. The memory check reports that, and bits may
 * differ because of it. */
bool opc_trial_out_of_bounds(void);
