/* Where a field stands in a JSON text, for messages about files that people write. Threads: any. */
#ifndef OPC_MODEL_JSON_JSON_LOCATE_H
#define OPC_MODEL_JSON_JSON_LOCATE_H

/* Line and column (from 1) of a field such as "samples[2].args[1].tensor.shape" in a JSON text that is well-formed; the
 * nearest enclosing field that exists when it does not. */
void opc_json_locate(const char *text, const char *field, int *out_line, int *out_column);

#endif
