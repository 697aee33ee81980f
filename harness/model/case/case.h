/* A case and its id: `ns::op.overload/check/device/dtype/SAMPLE/VARIANT`, "-" for a part that does not apply.
 * The id is the filter, the JUnit name, and the argument of --case (scripts of users depend on its form). */
#ifndef OPC_MODEL_CASE_CASE_H
#define OPC_MODEL_CASE_CASE_H

#include "base/status.h"

#ifdef __cplusplus
extern "C" {
#endif

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
/* The reverse; "-" comes back as an empty part. OPC_ERR_USAGE with words that say what a case id looks like. A '/'
 * inside a sample's name is not allowed (names are checked when read). */
opc_status_t opc_case_id_parse(const char *text, opc_case_id_t *out, opc_error_t *error) OPC_CHECKED;
/* How far a case is from the plainest one: every transformation counts before another dtype does. */
int opc_case_id_complexity(const opc_case_id_t *id);

#ifdef __cplusplus
}
#endif
#endif
