/* Compares a captured call with ordinary ones: the graph is replayed twice, with other values in the captured tensors,
 * and must give the same bits as a call with these values. */
#pragma once

#include "checks/cuda/cuda_watch.h"

typedef struct opc_capture_replay {
  size_t replays; /* number of compared replays */
  bool differs;
  const char *why_not; /* why nothing was compared; NULL: something was */
  opc_text_t text;     /* how it differs; opc_text_clear */
} opc_capture_replay_t;

/* `watch`: its last call was captured in watch->graph, and its stream is current. Returns an error if the harness
 * cannot make the calls. */
opc_status_t opc_capture_replay(opc_cuda_watch_t *watch, opc_capture_replay_t *out, opc_error_t *error) OPC_CHECKED;
