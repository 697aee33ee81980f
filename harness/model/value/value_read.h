/* Converts a VALUE of the sample format to an argument, by the schema's type (model/value/value.h has the reverse).
 * Ownership: the caller clears *out, which is NONE after a failure. */
#pragma once

#include "model/json/json_read.h"
#include "model/value/value.h"

/* Words of the sample format, for reading and writing it. */

#define OPC_DOUBLE_NAN_BITS UINT64_C(0x7ff8000000000000)

/* Indexed by opc_fill_kind_t; kinds with a parameter are objects with this key. NULL-terminated. */
extern const char *const opc_fill_words[];
/* Indexed by opc_special_t; the first entry is not a word of the format. NULL-terminated. */
extern const char *const opc_special_words[];

/* Type OTHER converts by the JSON alone: numbers, strings, lists, and the objects of the format. So do the `init`
 * values of an object, as no schema of its constructor is available here. type_text is for messages. */
opc_status_t opc_value_read(opc_json_reader_t *reader, const json_t *json, const opc_type_t *type,
                            const char *type_text, opc_value_t *out) OPC_CHECKED;
/* The object under the key "tensor". */
opc_status_t opc_tensor_spec_read(opc_json_reader_t *reader, const json_t *json, opc_tensor_spec_t **out) OPC_CHECKED;
/* The fill of a spec whose shape, dtype and filled_as are already set. */
opc_status_t opc_fill_read(opc_json_reader_t *reader, const json_t *json, opc_tensor_spec_t *spec) OPC_CHECKED;

opc_status_t opc_dtype_read(opc_json_reader_t *reader, const json_t *json, opc_dtype_t *out) OPC_CHECKED;
opc_status_t opc_device_read(opc_json_reader_t *reader, const json_t *json, opc_device_t *out) OPC_CHECKED;
/* A number, "nan", "inf" or "-inf" as double; `what` ("a number") is for the message. */
opc_status_t opc_floating_read(opc_json_reader_t *reader, const json_t *json, const char *what,
                               double *out) OPC_CHECKED;
/* The list in {"complex": [re, im]}. */
opc_status_t opc_complex_read(opc_json_reader_t *reader, const json_t *json, double *out_re,
                              double *out_im) OPC_CHECKED;
/* The absolute path of a file that a sample names, beside the sample's own: the sample is sent to processes whose
 * current folder may differ. free(*out). */
opc_status_t opc_file_read_path(opc_json_reader_t *reader, const char *name, char **out) OPC_CHECKED;
/* The string in {"bits": "0x7fc00001"}, for a number of `bytes` bytes. */
opc_status_t opc_bits_read(opc_json_reader_t *reader, const json_t *json, size_t bytes, uint64_t *out) OPC_CHECKED;
