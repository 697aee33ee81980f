#include <inttypes.h>

#include "recording/merge_recordings.h"

static const char *const reason_words[] = {
    "",
#define OPC_REASON(constant, words) words,
#include "recording/reasons.def"
#undef OPC_REASON
};

static const char *many(uint64_t count) { return count == 1 ? "" : "s"; }

void opc_recordings_report(const opc_recordings_t *recordings, const char *output, FILE *to) {
  uint64_t seen = 0, operators = 0;
  for (size_t i = 0; i < recordings->operator_count; i++) {
    seen += recordings->operators[i].seen;
    operators += recordings->operators[i].written > 0;
  }
  if (recordings->samples)
    fprintf(to,
            "opcheck-c: %" PRIu64 " sample%s of %" PRIu64 " operator%s in %s, from %" PRIu64 " call%s in %" PRIu64
            " process%s\n",
            recordings->samples, many(recordings->samples), operators, many(operators), output, seen, many(seen),
            recordings->processes, recordings->processes == 1 ? "" : "es");
  for (size_t i = 0; i < recordings->operator_count; i++) {
    const opc_recordings_operator_t *op = &recordings->operators[i];
    if (op->seen == 0 && op->written == 0) continue;
    fprintf(to, "  %-40s %8" PRIu64 " call%s %6" PRIu64 " sample%s\n", op->name, op->seen, op->seen == 1 ? " " : "s",
            op->written, many(op->written));
    for (size_t r = 1; r < OPC_REASON_COUNT; r++)
      if (op->left_out[r])
        fprintf(to, "      %" PRIu64 " call%s left out: %s\n", op->left_out[r], many(op->left_out[r]), reason_words[r]);
  }
  if (recordings->damaged)
    fprintf(to, "  %" PRIu64 " call%s lost: the line was not finished when the disk was full or the machine stopped\n",
            recordings->damaged, many(recordings->damaged));
}
