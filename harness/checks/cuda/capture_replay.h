/* A captured call against ordinary ones: the graph is replayed with other values in the tensors that it was captured
 * with, twice, and gives the bits of a call that is given these values. */
#ifndef OPC_CHECKS_CUDA_CAPTURE_REPLAY_H
#define OPC_CHECKS_CUDA_CAPTURE_REPLAY_H

#include "checks/cuda/cuda_watch.h"

typedef struct opc_capture_replay {
  size_t replays; /* compared */
  bool differs;
  const char *why_not; /* nothing was compared; NULL: it was */
  opc_text_t text;     /* how it differs; opc_text_clear */
} opc_capture_replay_t;

/* `watch`: its last call was captured in watch->graph, and its stream is current. Fails where the harness cannot make
 * calls. */
opc_status_t opc_capture_replay(opc_cuda_watch_t *watch, opc_capture_replay_t *out, opc_error_t *error) OPC_CHECKED;

#endif
