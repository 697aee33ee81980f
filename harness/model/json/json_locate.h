/* Finds the position of a field in a JSON text, for messages about files written by people. Threads: any. */
#pragma once

/* Line and column (from 1) of a field such as "samples[2].args[1].tensor.shape" in well-formed JSON text. If the field
 * does not exist: of the nearest enclosing field that does. */
void opc_json_locate(const char *text, const char *field, int *out_line, int *out_column);
