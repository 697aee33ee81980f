/* The settings of a project: .opcheck-c.json in the current folder, a link to the input. */
#include "fuzz.h"

#include <unistd.h>

#include "cli/settings.h"

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  static bool linked;
  const char *file = fuzz_file(bytes, size);
  opc_settings_t settings = {0};
  opc_error_t error = {0};
  if (!linked) {
    (void)unlink(OPC_SETTINGS_FILE);
    fuzz_expect(symlink(file, OPC_SETTINGS_FILE) == 0, "no link to the input");
    linked = true;
  }
  if (opc_settings_read(&settings, &error) != OPC_OK) fuzz_expect(error.message[0], "an error without words");
  fuzz_expect(settings.file, "the settings are not found");
  opc_settings_clear(&settings);
  return 0;
}
