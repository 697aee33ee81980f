/* Converts addresses to named frames, for crash reports and findings with an instruction.
 *
 * Ownership: plain structs; the symboliser and the maps are the caller's. Threads: one. */
#pragma once

#include <jansson.h>

#include "base/text.h"
#include "supervise/symbols/symbolise.h"

enum { OPC_FRAMES_SHOWN = 16 };

typedef struct opc_frames {
  opc_frame_t frames[OPC_FRAMES_SHOWN];
  size_t count;
  const opc_frame_t *own; /* the first frame in the library under test, preferably of its own code; otherwise the first
                             known frame; NULL: none is known */
} opc_frames_t;

/* first_is_instruction: the first address is an instruction's; otherwise it is a return address, like all others.
 * library (may be NULL): path that identifies the library's own frames, or the Python module that registered the
 * operator. */
void opc_frames_resolve(opc_symboliser_t *symboliser, const opc_maps_t *maps, const char *library,
                        const uint64_t *addresses, size_t count, bool first_is_instruction, opc_frames_t *out);
/* Appends " in identity_kernel (conv.cpp:34)" or " in memcpy, called from identity_kernel (conv.cpp:34)"; nothing if no
 * frame is known. */
void opc_frames_say(const opc_frames_t *frames, opc_text_t *out);
/* "libops.so+0x1234" */
void opc_frame_place(const opc_frame_t *frame, char *out, size_t size);
/* [{"module", "offset", "symbol", "file", "line"}…], with the known fields of each, up to the call of the operator:
 * neither the harness's frames nor those of libtorch's boxing. New reference. */
json_t *opc_frames_json(const opc_frames_t *frames);

/* Resolves the "raw_frames" in a result's evidence.accesses to "frames"; appends the location to the message, followed
 * by the "remark". */
void opc_frames_name_accesses(json_t *result, opc_symboliser_t *symboliser, const opc_maps_t *maps,
                              const char *library);
