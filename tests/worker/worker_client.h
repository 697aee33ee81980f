/* The supervisor's side of wire/protocol.h, reduced to what tests need: every step blocks, and fails the test if the
 * expected message does not come. */
#ifndef OPC_TESTS_WORKER_CLIENT_H
#define OPC_TESTS_WORKER_CLIENT_H

#include <jansson.h>
#include <stdbool.h>
#include <sys/types.h>

#include "wire/channel.h"
#include "wire/protocol.h"

typedef struct client {
  pid_t pid;
  int output;
  opc_channel_t control;
} client_t;

typedef struct client_child {
  int id;
  pid_t pid;
  int pidfd;
  int output;
  opc_channel_t channel;
  opc_channel_t control; /* of a worker that is itself the batch's child */
  opc_crash_record_t *box;
} client_child_t;

/* Starts the worker with these arguments (NULL at the end). */
void client_start(client_t *client, const char *const *arguments);
/* Reads messages until one of this kind arrives (new reference); NULL: any. */
json_t *client_until(client_t *client, const char *kind);
/* Ends the control channel and waits for the worker. Returns its wait status. */
int client_finish(client_t *client);
/* Waits for a worker that ends by itself. Returns its wait status. */
int client_wait(client_t *client);

void child_fork(client_t *client, client_child_t *child, int id, int memory_mib);
/* Starts a worker that is itself a batch's child. */
void child_exec(client_child_t *child, const char *const *arguments);
void child_send(client_child_t *child, json_t *command); /* takes the reference */
/* The next message (new reference); NULL at the end of the channel. */
json_t *child_next(client_child_t *child);
/* The same for the control channel of such a worker. */
json_t *control_next(client_child_t *child);
/* Ends its channel, waits until it is reaped, then releases it. Returns its wait status. */
int child_finish(client_t *client, client_child_t *child);
/* Waits until it is reaped; the crash record and the output are kept until child_release. Returns its wait status. */
int child_reaped(client_t *client, client_child_t *child);
void child_release(client_child_t *child);
/* Its printed output; valid until the next call. */
const char *child_output(const client_child_t *child);

/* A command for the operator with one float32[2, 3] sample named "s" of this source; `extra` (may be NULL) is merged in
 * and released. */
json_t *command_cases(const char *operator_name, const char *source, json_t *extra);
json_t *command_try(const char *operator_name);

#endif
