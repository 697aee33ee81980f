/* The "expect" object of a sample: a person's promises about the result. */
#pragma once

#include "model/json/json_read.h"
#include "model/sample/sample.h"

/* Reads into sample->expect; sample->arguments must be set, as paths are checked against them. */
opc_status_t opc_expect_read(opc_json_reader_t *reader, const json_t *json, const opc_operator_t *op,
                             opc_sample_t *sample) OPC_CHECKED;
/* New reference; JSON null if nothing is promised; NULL: out of memory. */
json_t *opc_expect_to_json(const opc_expect_t *expect);
