/* A VALUE of the sample format becomes an argument: the schema's type decides how (model/value/value.h writes the
 * reverse). Ownership: the caller clears *out, which is NONE after a failure. */
#ifndef OPC_MODEL_VALUE_VALUE_READ_H
#define OPC_MODEL_VALUE_VALUE_READ_H

#include "model/json/json_read.h"
#include "model/value/value.h"

/* Type OTHER converts by the JSON alone: numbers, strings, lists, and the objects of the format. So do the `init`
 * values of an object, whose constructor has no schema here. type_text stands in messages. */
opc_status_t opc_value_read(opc_json_reader_t *reader, const json_t *json, const opc_type_t *type,
                            const char *type_text, opc_value_t *out) OPC_CHECKED;
/* The object behind "tensor". */
opc_status_t opc_tensor_spec_read(opc_json_reader_t *reader, const json_t *json, opc_tensor_spec_t **out) OPC_CHECKED;
/* The fill of a spec whose shape, dtype and filled_as are known already. */
opc_status_t opc_fill_read(opc_json_reader_t *reader, const json_t *json, opc_tensor_spec_t *spec) OPC_CHECKED;

opc_status_t opc_dtype_read(opc_json_reader_t *reader, const json_t *json, opc_dtype_t *out) OPC_CHECKED;
opc_status_t opc_device_read(opc_json_reader_t *reader, const json_t *json, opc_device_t *out) OPC_CHECKED;
/* A number, "nan", "inf" or "-inf" as double; with `what` for the message ("a number"). */
opc_status_t opc_floating_read(opc_json_reader_t *reader, const json_t *json, const char *what,
                               double *out) OPC_CHECKED;
/* {"complex": [re, im]}'s list. */
opc_status_t opc_complex_read(opc_json_reader_t *reader, const json_t *json, double *out_re,
                              double *out_im) OPC_CHECKED;
/* {"bits": "0x7fc00001"}'s string, for a number of `bytes` bytes. */
opc_status_t opc_bits_read(opc_json_reader_t *reader, const json_t *json, size_t bytes, uint64_t *out) OPC_CHECKED;

#endif
