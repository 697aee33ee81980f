/* One end of a socket pair that carries JSON objects, one per line, and file descriptors. Most objects are sent as
 * plain lines (opc_plain_line_write), all others as JSON; sender and reader see only objects. The other end may be
 * hostile: line length is limited, anything that is not an object is reported as garbage, and reading never blocks.
 *
 * Ownership: opc_channel_close; received JSON belongs to the caller, sent JSON stays the caller's. Threads: one. A
 * zeroed channel has fd 0: use OPC_CHANNEL_INIT. */
#pragma once

#include <jansson.h>

#include "base/text.h"

enum { OPC_CHANNEL_LINE_LIMIT = 4 << 20, OPC_CHANNEL_FDS = 4 /* of one object */ };

typedef struct opc_channel {
  int fd; /* -1: closed */
  char *data;
  size_t length, capacity, scanned;
  size_t line_limit;            /* 0: OPC_CHANNEL_LINE_LIMIT */
  bool ended;                   /* end of file was read */
  int fds[2 * OPC_CHANNEL_FDS]; /* of a line that is not complete yet, and of the next, which came with its end */
  size_t fd_count;
} opc_channel_t;

#define OPC_CHANNEL_INIT \
  { .fd = -1 }

typedef enum opc_channel_event {
  OPC_CHANNEL_NOTHING = 0, /* no complete line yet */
  OPC_CHANNEL_LINE,        /* *out is an object */
  OPC_CHANNEL_GARBAGE,     /* not an object, or longer than the limit */
  OPC_CHANNEL_END
} opc_channel_event_t;

/* Creates a pair; *out_other is also close-on-exec, and the caller's. */
opc_status_t opc_channel_open(opc_channel_t *channel, int *out_other, opc_error_t *error) OPC_CHECKED;
/* Reads available data and returns the next line. */
opc_channel_event_t opc_channel_next(opc_channel_t *channel, json_t **out);
/* The oldest received descriptor, -1: none; the caller closes it. */
int opc_channel_take_fd(opc_channel_t *channel);
/* Sends one object, waiting up to 10 s for the reader; descriptors go with the first byte. OPC_ERR_SYSTEM: the other
 * end is closed. */
opc_status_t opc_channel_send(opc_channel_t *channel, const json_t *object, const int *fds, size_t fd_count,
                              opc_error_t *error) OPC_CHECKED;
/* The other end reads end of file; its remaining messages can still be read. */
void opc_channel_finish(opc_channel_t *channel);
void opc_channel_close(opc_channel_t *channel);

/* A line format for objects: a mark that cannot begin JSON, then the members, each a key and a value. Every value has a
 * byte for its type in front and a separator behind, and numbers are sent as their bits. To write and read JSON means
 * to examine every character several times: for an operator with 200 cases that took a tenth of all processor time
 * (measured).
 *
 * Ownership: the text and the object are the caller's. Threads: any. The line may come from a hostile process: whatever
 * it contains, reading it gives an object that JSON could represent, or NULL. */

enum { OPC_PLAIN_LINE_MARK = 0x01 };

/* Writes the line, without a newline, and replaces the old content. False: a string has a control character, or values
 * lie in one another 64 deep. */
bool opc_plain_line_write(opc_text_t *out, const json_t *object);
/* Reads the line after the mark; overwrites the bytes. NULL: not such a line, or out of memory. */
json_t *opc_plain_line_read(char *line, size_t length);
