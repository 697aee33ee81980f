/* Where the code is that a finding is about, in words for people. */
#pragma once

#include <jansson.h>

#include "base/text.h"

/* Adds "scale.cpp:12" if the finding names a place; else where the kernel was registered that its check judges, as in
 * "Meta kernel registered at ops.py:12"; else where the operator was, "registered at ops.cpp:5 in libmy_ops.so". Adds
 * nothing if none is known. `finding` has the location, `record` is the result of its case, `op` the operator's. */
void opc_finding_place(const json_t *finding, const json_t *record, const json_t *op, opc_text_t *out);
