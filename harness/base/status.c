#include "base/status.h"

#include <stdio.h>
#include <string.h>

opc_status_t opc_error_set(opc_error_t *error, opc_status_t code, const char *format, ...) {
  if (error) {
    va_list arguments;
    va_start(arguments, format);
    error->code = code;
    vsnprintf(error->message, sizeof error->message, format, arguments);
    va_end(arguments);
  }
  return code;
}

opc_status_t opc_out_of_memory(opc_error_t *error) { return opc_error_set(error, OPC_ERR_MEMORY, "out of memory"); }

opc_status_t opc_error_prefix(opc_error_t *error, const char *format, ...) {
  if (!error) return OPC_ERR_SYSTEM;
  char old[OPC_ERROR_MESSAGE_SIZE];
  char prefix[256];
  memcpy(old, error->message, sizeof old);
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(prefix, sizeof prefix, format, arguments);
  va_end(arguments);
  /* A message that is too long is cut at its end, never at its beginning. */
  int used = snprintf(error->message, sizeof error->message, "%s: ", prefix);
  if (used > 0 && (size_t)used < sizeof error->message) {
    size_t room = sizeof error->message - (size_t)used - 1;
    size_t length = strnlen(old, sizeof old);
    if (length > room) length = room;
    memcpy(error->message + used, old, length);
    error->message[(size_t)used + length] = '\0';
  }
  return error->code;
}
