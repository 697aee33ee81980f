/* A file of expected failures, and cases that its patterns are compared with. */
#include "fuzz.h"

#include "supervise/common/run_options.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static const char id[] = "ns::op.overload/stride/cpu/float32/s-0123abcd/x.transposed+y.offset";
  opc_xfail_t *list = NULL;
  opc_error_t error = {0};
  const opc_status_t status = opc_xfail_read(fuzz_file(bytes, size), &list, &error);
  fuzz_expect(status == OPC_OK || error.message[0], "neither a list nor an error");
  if (status == OPC_OK) {
    (void)opc_xfail_match(list, id, OPC_RULE_NONE);
    (void)opc_xfail_match(list, id, OPC_RULE_stride_wrong_result);
    opc_xfail_skip(list, id, OPC_SKIP_REJECTED);
    for (size_t i = 0; list && i < list->count; i++) (void)opc_xfail_is_of(&list->entries[i], "ns::op.overload");
  }
  opc_xfail_free(list);
  return 0;
}
