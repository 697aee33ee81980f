/* What a call must leave as it was: read, changed, and put back. And who holds a tensor. */
#include "bridge_test.h"

static void what_is_written_is_read(void **state) {
  int64_t usual[OPC_SETTING_COUNT], other[OPC_SETTING_COUNT], now[OPC_SETTING_COUNT];
  (void)state;
  opc_bridge_settings_read(usual);
  assert_int_equal(usual[OPC_SETTING_GRAD_MODE], 1);
  assert_int_equal(usual[OPC_SETTING_CPP_STREAMS], 0);
  assert_string_equal(opc_bridge_dtype_name(usual[OPC_SETTING_DEFAULT_DTYPE]), "Float");

  opc_bridge_settings_other(usual, other);
  assert_int_equal(other[OPC_SETTING_GRAD_MODE], 0);
  assert_string_equal(opc_bridge_dtype_name(other[OPC_SETTING_DEFAULT_DTYPE]), "Double");
  assert_int_equal(other[OPC_SETTING_THREADS], usual[OPC_SETTING_THREADS] + 1);
  other[OPC_SETTING_INFERENCE_MODE] = other[OPC_SETTING_FORWARD_GRAD] = 0;
  other[OPC_SETTING_ONEDNN] = !other[OPC_SETTING_ONEDNN];
  other[OPC_SETTING_SEED] = 7;
  opc_bridge_settings_write(other);
  opc_bridge_settings_read(now);
  assert_memory_equal(now, other, sizeof now);

  opc_bridge_settings_write(usual);
  opc_bridge_settings_read(now);
  assert_memory_equal(now, usual, sizeof now);
}

static void seeds_and_modes_show(void **state) {
  int64_t before[OPC_SETTING_COUNT], after[OPC_SETTING_COUNT];
  char text[64];
  (void)state;
  opc_bridge_settings_read(before);
  opc_bridge_seed(1234);
  opc_bridge_grad_mode(false);
  opc_bridge_settings_read(after);
  assert_int_equal(after[OPC_SETTING_SEED], 1234);
  assert_int_equal(after[OPC_SETTING_GRAD_MODE], 0);
  opc_bridge_settings_write(before);
  opc_bridge_settings_read(after);
  assert_memory_equal(before, after, sizeof before);
  opc_bridge_keys_text(0, text, sizeof text);
  assert_string_equal(text, "");
}

static void references_are_counted(void **state) {
  const int64_t sizes[] = {2, 3};
  opc_tensor_spec_t *spec = opc_tensor_spec_new(OPC_DTYPE_FLOAT32, 2, sizes);
  opc_storage_t *storage = NULL;
  opc_tensor_t *tensor = NULL;
  size_t impl = 0, held = 0;
  (void)state;
  assert_non_null(spec);
  assert_ok(opc_storage_new(24, spec->device, &storage, &error));
  assert_ok(opc_tensor_new(spec, storage, &tensor, &error));
  opc_tensor_uses(tensor, &impl, &held);
  assert_int_equal(impl, 1);
  assert_int_equal(held, 2);

  opc_tensor_t *again = opc_tensor_ref(tensor);
  opc_storage_free(storage);
  opc_tensor_uses(tensor, &impl, &held);
  assert_int_equal(impl, 2);
  assert_int_equal(held, 1);
  opc_tensor_free(again);
  opc_tensor_uses(tensor, &impl, &held);
  assert_int_equal(impl, 1);
  opc_tensor_uses(NULL, &impl, &held);
  assert_int_equal(impl, 0);
  opc_tensor_free(tensor);
  opc_tensor_spec_free(spec);
}

int main(void) {
  static const struct CMUnitTest tests[] = {
      cmocka_unit_test(what_is_written_is_read),
      cmocka_unit_test(seeds_and_modes_show),
      cmocka_unit_test(references_are_counted),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
