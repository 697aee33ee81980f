/* A case and its id: `ns::op.overload/check/device/dtype/SAMPLE/VARIANT`, with "-" for a part that does not apply. The
 * id is the filter, the JUnit name, and the argument of --case (users' scripts depend on its form). */
#pragma once

#include <stddef.h>

#include "base/status.h"

enum { OPC_CASE_ID_SIZE = 768 };

typedef struct opc_case_id {
  char operator_name[256];
  char check[32];
  char device[16];
  char dtype[16];
  char sample[128];
  char variant[256];
} opc_case_id_t;

/* Formats into out (OPC_CASE_ID_SIZE bytes); empty parts become "-". */
void opc_case_id_format(const opc_case_id_t *id, char out[OPC_CASE_ID_SIZE]);
/* The reverse; "-" becomes an empty part. OPC_ERR_USAGE with a message that shows the form of a case id. A sample's
 * name cannot contain '/' (checked when it is read). */
opc_status_t opc_case_id_parse(const char *text, opc_case_id_t *out, opc_error_t *error) OPC_CHECKED;
/* Distance of a case from the plainest one: every transformation counts more than another dtype. */
int opc_case_id_complexity(const opc_case_id_t *id);
/* Length of the argument's name with which a variant begins, the one that it changes: 7 for
 * "tensors[1].sliced+x.offset". 0: it changes none or all ("plain", "all.sliced"), or calls a method ("add.called"). */
size_t opc_case_changed_argument(const char *variant);
