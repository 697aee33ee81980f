/* A row of addresses as named frames: what a crash report and a finding with an instruction show.
 *
 * Ownership: plain structs; the symboliser and the maps are the caller's. Threads: one. */
#ifndef OPC_SUPERVISE_SYMBOLS_FRAMES_H
#define OPC_SUPERVISE_SYMBOLS_FRAMES_H

#include <jansson.h>

#include "base/text.h"
#include "supervise/symbols/symbolise.h"

enum { OPC_FRAMES_SHOWN = 16 };

typedef struct opc_frames {
  opc_frame_t frames[OPC_FRAMES_SHOWN];
  size_t count;
  const opc_frame_t *own; /* the first frame in the library under test, of its own code where it has such, else the
                             first known one; NULL: none is known */
} opc_frames_t;

/* first_is_instruction: the first address is of an instruction; all others, and otherwise it too, are return addresses.
 * library (may be NULL): the path under which frames are the library's own. */
void opc_frames_resolve(opc_symboliser_t *symboliser, const opc_maps_t *maps, const char *library,
                        const uint64_t *addresses, size_t count, bool first_is_instruction, opc_frames_t *out);
/* " in identity_kernel (conv.cpp:34)", " in memcpy, called from identity_kernel (conv.cpp:34)"; nothing where nothing
 * is known. */
void opc_frames_say(const opc_frames_t *frames, opc_text_t *out);
/* "libops.so+0x1234" */
void opc_frame_place(const opc_frame_t *frame, char *out, size_t size);
/* [{"module", "offset", "symbol", "file", "line"}…], what is known of each. New reference. */
json_t *opc_frames_json(const opc_frames_t *frames);

/* Names the "raw_frames" in a result's evidence.accesses: they become "frames"; the message says where, and the
 * "remark" behind it. */
void opc_frames_name_accesses(json_t *result, opc_symboliser_t *symboliser, const opc_maps_t *maps,
                              const char *library);

#endif
