/* What a worker sends: messages on a channel, and the values that are made of them. */
#include "fuzz.h"

#include <sys/socket.h>
#include <unistd.h>

#include "model/sample/tried.h"
#include "model/schema/schema.h"
#include "result/case_result.h"
#include "wire/channel.h"

enum { LONGEST = 1 << 16 }; /* what the socket takes at once */

/* Whatever can be a plain line is the same object when it is read. */
static void wire_plain(const json_t *message) {
  opc_text_t line = {0};
  if (opc_plain_line_write(&line, message)) {
    json_t *again = opc_plain_line_read(line.data + 1, line.length - 1);
    fuzz_expect(again && json_equal(message, again), "a plain line is read as something else");
    json_decref(again);
  }
  opc_text_clear(&line);
}

static void wire_result(const json_t *message) {
  opc_case_result_t *result = NULL;
  opc_error_t error = {0};
  const opc_status_t status = opc_case_result_decode(message, &result, &error);
  fuzz_expect(status == OPC_OK || error.message[0], "an error without words");
  json_t *line = status == OPC_OK ? opc_case_result_encode(result) : NULL;
  fuzz_expect(status != OPC_OK || line, "a result that cannot be written");
  json_decref(line);
  opc_case_result_free(result);
}

static void wire_message(const json_t *message) {
  opc_error_t error = {0};
  opc_tried_t tried = {0};
  opc_operator_t op = {0};
  opc_class_t class_ = {0};
  wire_plain(message);
  wire_result(message);
  if (opc_tried_read(message, &tried, &error) != OPC_OK) fuzz_expect(error.message[0], "an error without words");
  opc_tried_clear(&tried);
  if (opc_operator_from_json(message, &op, &error) == OPC_OK) json_decref(opc_operator_to_json(&op));
  opc_operator_clear(&op);
  if (opc_class_from_json(message, &class_, &error) == OPC_OK) json_decref(opc_class_to_json(&class_));
  opc_class_clear(&class_);
}

int LLVMFuzzerTestOneInput(const uint8_t *bytes, size_t size) {
  int other = -1;
  json_t *message = NULL;
  opc_error_t error;
  opc_channel_t channel = OPC_CHANNEL_INIT;
  fuzz_expect(opc_channel_open(&channel, &other, &error) == OPC_OK, "no channel");
  const ssize_t sent = send(other, bytes, size < LONGEST ? size : LONGEST, MSG_NOSIGNAL);
  fuzz_expect(sent >= 0, "the channel takes nothing");
  (void)close(other);
  for (opc_channel_event_t event; (event = opc_channel_next(&channel, &message)) != OPC_CHANNEL_END;) {
    fuzz_expect(event != OPC_CHANNEL_NOTHING, "an end that is not seen");
    if (event == OPC_CHANNEL_LINE) wire_message(message);
    if (event == OPC_CHANNEL_LINE) json_decref(message);
    message = NULL;
  }
  opc_channel_close(&channel);
  return 0;
}
