#include "supervise/jobs/time_left.h"

static const double least_seconds = 3, share = 0.15; /* of a new estimate, for each operator */
enum { LEAST_DONE = 5 };

double opc_time_left(opc_time_left_t *left, double now, uint64_t done, uint64_t total) {
  if (left->began <= 0) left->began = now;
  const double took = now - left->began;
  if (done < LEAST_DONE || took < least_seconds || done >= total) return 0;
  const double estimate = now + took / (double)done * (double)(total - done);
  if (left->end <= 0) left->end = estimate;
  else
    for (; left->done < done; left->done++) left->end += share * (estimate - left->end);
  left->done = done;
  return left->end > now ? left->end - now : 0;
}
