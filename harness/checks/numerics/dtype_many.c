#include "checks/numerics/dtype_many.h"

#include <math.h>
#include <stdlib.h>

#include "base/system.h"

/* Odd, as a size that was no multiple of a tile does not become one. */
enum { FEWER = 9, MANY = 65, NUMEL_MOST = MANY << 13, RESULT_MOST = 1 << 20 };
/* Processor time of one call. A comparison makes up to 60 calls. */
static const double fewer_seconds = 0.005, many_seconds = 0.02;
/* A first call also loads pages and code. */
enum { TRIES = 3 };

static opc_status_t grow(const opc_again_t *again, int64_t factor, opc_sample_t *out, opc_replay_t *values,
                         bool *out_can, opc_error_t *error) {
  const opc_tensor_spec_t *first = opc_sample_tensor(again->sample, 0);
  int64_t size = first && first->ndim ? first->sizes[first->ndim - 1] : 0;
  const opc_resize_t resize = {.where = opc_resize_where_size,
                               .context = &size,
                               .factor = factor,
                               .values = OPC_RESIZE_GIVEN,
                               .numel_max = NUMEL_MOST};
  opc_resized_t resized;
  opc_again_t longer = *again;
  *out_can = false;
  if (size < 2) return OPC_OK;
  OPC_RETURN_IF_ERROR(opc_sample_copy(again->sample, out, error));
  OPC_RETURN_IF_ERROR(opc_sample_resize(out, &resize, &resized, out_can, error));
  if (!*out_can) return OPC_OK;
  longer.sample = out;
  again->replay->repeats = true;
  const opc_status_t status = opc_again_values(&longer, values, error);
  again->replay->repeats = false;
  return status;
}

static opc_status_t try_within(const opc_again_t *again, double most, opc_result_t *out, bool *out_quick,
                               opc_error_t *error) {
  double seconds = INFINITY;
  *out_quick = true;
  for (int i = 0; *out_quick && i < TRIES && seconds > most; i++) {
    opc_result_clear(out);
    const double began = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID);
    OPC_RETURN_IF_ERROR(opc_again_try(again, out, out_quick, error));
    seconds = opc_clock_of(CLOCK_PROCESS_CPUTIME_ID) - began;
  }
  *out_quick = *out_quick && seconds <= most;
  return OPC_OK;
}

static opc_status_t is_quick(const opc_again_t *again, bool *out, opc_error_t *error) {
  OPC_SCOPED(opc_sample_clear) opc_sample_t sample = {0};
  OPC_SCOPED(opc_replay_clear) opc_replay_t values = {0};
  OPC_SCOPED(opc_result_clear) opc_result_t result = {0};
  OPC_RETURN_IF_ERROR(grow(again, FEWER, &sample, &values, out, error));
  if (!*out) return OPC_OK;
  opc_again_t longer = *again;
  longer.sample = &sample;
  longer.replay = &values;
  longer.label = (opc_call_label_t){OPC_CALL_KIND_ON_OTHERS, "longer rows"};
  OPC_RETURN_IF_ERROR(try_within(&longer, fewer_seconds, &result, out, error));
  for (size_t i = 0; i < result.count; i++) *out = *out && result.items[i].size <= RESULT_MOST;
  return OPC_OK;
}

int64_t opc_dtype_many_factor(opc_dtype_t dtype) { return dtype == OPC_DTYPE_BFLOAT16 ? FEWER : MANY; }

opc_status_t opc_dtype_many(const opc_again_t *again, int64_t factor, opc_sample_t *sample, opc_replay_t *values,
                            bool *out_can, opc_error_t *error) {
  OPC_RETURN_IF_ERROR(is_quick(again, out_can, error));
  return *out_can ? grow(again, factor, sample, values, out_can, error) : OPC_OK;
}

opc_status_t opc_dtype_try_many(const opc_again_t *many, opc_result_t *out, bool *out_quick, opc_error_t *error) {
  return try_within(many, many_seconds, out, out_quick, error);
}

/* Equal numbers may all lie where a result jumps, on the edge of a bin for example. These differ, and none is larger
 * than it was. */
static double dtype_many_spread(double number, int64_t index) {
  enum { STEPS = 1021 };
  return fabs(number) * (1.0 - (double)((uint64_t)index * 2654435761U % STEPS) / (2 * STEPS));
}

void opc_dtype_make_positive(opc_replay_t *values) {
  for (size_t i = 0; i < values->count; i++) {
    struct opc_replay_tensor_arg *arg = &values->tensor_args[i];
    const size_t size = opc_dtype_size(arg->dtype);
    if (opc_dtype_class(arg->dtype) != OPC_CLASS_FLOATING) continue;
    for (int64_t k = 0; k < arg->numel; k++) {
      char *at = (char *)arg->bytes + (size_t)k * size;
      const opc_number_t number = {.kind = OPC_NUMBER_FLOAT,
                                   .f = dtype_many_spread(opc_number_load_double(arg->dtype, at), k)};
      (void)opc_number_store(number, arg->dtype, at);
    }
    free(arg->converted);
    arg->converted = NULL;
  }
}
