/* Very large tensors whose memory must not be touched: for devices that only simulate kernels. */
#include <math.h>
#include <string.h>

#include "plan/variant/variant_table.h"

enum { ROWS = 65536 };                                    /* one more than gridDim.y and gridDim.z allow */
static const int64_t huge_numel = ((int64_t)1 << 31) + 1; /* one more than an int can count, and one more */
static const int64_t bytes_max = (int64_t)36 << 30; /* with a result of the same size it fits a device of 80 GiB */

static int count_dims(const opc_tensor_spec_t *spec, int64_t size) {
  int count = 0;
  for (int dim = 0; dim < spec->ndim; dim++) count += spec->sizes[dim] == size;
  return count;
}

/* Every dimension of this size in every tensor, so that equal sizes stay equal. A size of 1 broadcasts: it changes only
 * in a lone tensor. Nothing reads the values; for zeros the simulated device would fill gigabytes for nothing. */
static bool change_size(opc_variant_step_t *step, int64_t from, int64_t to) {
  opc_resized_t resized;
  const opc_resize_t resize = {
      .where = opc_resize_where_size, .context = &from, .add = to, .values = OPC_RESIZE_FORGET, .bytes_max = bytes_max};
  if (strcmp(step->path, "all") != 0 || to <= from || from < 1 || (from == 1 && step->tensors->count > 1)) return false;
  for (size_t i = 0; i < step->tensors->count; i++) {
    const opc_tensor_spec_t *spec = step->tensors->items[i].value->tensor;
    if (count_dims(spec, from) && opc_tensor_spec_numel(spec) == 0) return false;
  }
  return opc_tensors_resize(step->tensors, &resize, &resized) && resized.changed > 0;
}

bool opc_large_rows(opc_variant_step_t *step) { return change_size(step, step->number, ROWS); }

/* The smallest size that gives the largest tensor with this size more than 2^31 elements. */
static int64_t huge_size(const opc_variant_tensors_t *tensors, int64_t size) {
  int64_t smallest = 0;
  for (size_t i = 0; i < tensors->count && size > 0; i++) {
    const opc_tensor_spec_t *spec = tensors->items[i].value->tensor;
    int dims = count_dims(spec, size);
    double others = 1;
    for (int dim = 0; dim < spec->ndim; dim++) others *= spec->sizes[dim] == size ? 1 : (double)spec->sizes[dim];
    if (!dims || others == 0) continue;
    int64_t needed = (int64_t)floor(pow((double)huge_numel / others, 1.0 / dims)) + 1;
    if (!smallest || needed < smallest) smallest = needed;
  }
  return smallest;
}

bool opc_large_huge(opc_variant_step_t *step) {
  return change_size(step, step->number, huge_size(step->tensors, step->number));
}
