#include "wire/channel.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>
#include <sys/socket.h>
#include <sys/time.h>
#include <unistd.h>

enum { READ_SIZE = 16 << 10 };

opc_status_t opc_channel_open(opc_channel_t *channel, int *out_other, opc_error_t *error) {
  int pair[2];
  *channel = (opc_channel_t)OPC_CHANNEL_INIT;
  *out_other = -1;
  if (socketpair(AF_UNIX, SOCK_STREAM | SOCK_CLOEXEC, 0, pair) != 0) {
    return opc_error_set(error, OPC_ERR_SYSTEM, "cannot make a socket pair: %s", strerror(errno));
  }
  struct timeval limit = {.tv_sec = 10};
  (void)setsockopt(pair[0], SOL_SOCKET, SO_SNDTIMEO, &limit, sizeof limit);
  channel->fd = pair[0];
  *out_other = pair[1];
  return OPC_OK;
}

static void keep_fds(opc_channel_t *channel, struct msghdr *message) {
  for (struct cmsghdr *header = CMSG_FIRSTHDR(message); header; header = CMSG_NXTHDR(message, header)) {
    if (header->cmsg_level != SOL_SOCKET || header->cmsg_type != SCM_RIGHTS) continue;
    size_t count = (header->cmsg_len - CMSG_LEN(0)) / sizeof(int);
    for (size_t i = 0; i < count; i++) {
      int fd;
      memcpy(&fd, CMSG_DATA(header) + i * sizeof fd, sizeof fd);
      if (channel->fd_count < sizeof channel->fds / sizeof channel->fds[0]) channel->fds[channel->fd_count++] = fd;
      else close(fd);
    }
  }
}

/* False: nothing was added, because there is no data, at the end, or out of memory (which also ends the channel). */
static bool read_more(opc_channel_t *channel) {
  if (channel->ended || channel->fd < 0) return false;
  if (channel->capacity - channel->length < READ_SIZE) {
    size_t capacity = channel->capacity * 2 + READ_SIZE;
    char *data = realloc(channel->data, capacity);
    if (!data) {
      channel->ended = true;
      return false;
    }
    channel->data = data;
    channel->capacity = capacity;
  }
  union {
    char bytes[CMSG_SPACE(sizeof(int) * OPC_CHANNEL_FDS)];
    struct cmsghdr align;
  } control;
  struct iovec vector = {.iov_base = channel->data + channel->length, .iov_len = channel->capacity - channel->length};
  struct msghdr message = {
      .msg_iov = &vector, .msg_iovlen = 1, .msg_control = control.bytes, .msg_controllen = sizeof control.bytes};
  ssize_t got;
  do {
    got = recvmsg(channel->fd, &message, MSG_DONTWAIT | MSG_CMSG_CLOEXEC);
  } while (got < 0 && errno == EINTR);
  if (got > 0) {
    keep_fds(channel, &message);
    channel->length += (size_t)got;
    return true;
  }
  if (got == 0 || (errno != EAGAIN && errno != EWOULDBLOCK)) channel->ended = true;
  return false;
}

static json_t *read_line(char *line, size_t length) {
  if (length > 0 && line[0] == OPC_PLAIN_LINE_MARK) return opc_plain_line_read(line + 1, length - 1);
  return json_loadb(line, length, JSON_ALLOW_NUL, NULL);
}

opc_channel_event_t opc_channel_next(opc_channel_t *channel, json_t **out) {
  *out = NULL;
  for (;;) {
    char *end = channel->length > channel->scanned
                    ? memchr(channel->data + channel->scanned, '\n', channel->length - channel->scanned)
                    : NULL;
    if (end) {
      size_t length = (size_t)(end - channel->data);
      *out = read_line(channel->data, length);
      channel->length -= length + 1;
      channel->scanned = 0;
      memmove(channel->data, end + 1, channel->length);
      if (json_is_object(*out)) return OPC_CHANNEL_LINE;
      json_decref(*out);
      *out = NULL;
      return OPC_CHANNEL_GARBAGE;
    }
    channel->scanned = channel->length;
    if (channel->length > (channel->line_limit ? channel->line_limit : OPC_CHANNEL_LINE_LIMIT)) {
      channel->length = channel->scanned = 0;
      return OPC_CHANNEL_GARBAGE;
    }
    if (!read_more(channel)) return channel->ended ? OPC_CHANNEL_END : OPC_CHANNEL_NOTHING;
  }
}

int opc_channel_take_fd(opc_channel_t *channel) {
  if (channel->fd_count == 0) return -1;
  int fd = channel->fds[0];
  channel->fd_count--;
  memmove(channel->fds, channel->fds + 1, channel->fd_count * sizeof channel->fds[0]);
  return fd;
}

/* With its newline; NULL: out of memory. */
static char *channel_write_line(const json_t *object, size_t *out_length) {
  OPC_SCOPED(opc_text_clear) opc_text_t plain = {0};
  if (opc_plain_line_write(&plain, object)) {
    opc_text_add(&plain, "\n");
    *out_length = plain.length;
    return opc_text_take(&plain);
  }
  char *line = json_dumps(object, JSON_COMPACT);
  if (!line) return NULL;
  *out_length = strlen(line) + 1;
  line[*out_length - 1] = '\n'; /* in the place of the NUL: the length is known */
  return line;
}

opc_status_t opc_channel_send(opc_channel_t *channel, const json_t *object, const int *fds, size_t fd_count,
                              opc_error_t *error) {
  if (channel->fd < 0 || fd_count > OPC_CHANNEL_FDS)
    return opc_error_set(error, OPC_ERR_SYSTEM, "the channel is closed");
  size_t length, sent = 0;
  OPC_SCOPED(opc_scope_free) char *line = channel_write_line(object, &length);
  if (!line) return opc_out_of_memory(error);
  union {
    char bytes[CMSG_SPACE(sizeof(int) * OPC_CHANNEL_FDS)];
    struct cmsghdr align;
  } control;
  while (sent < length) {
    struct iovec vector = {.iov_base = line + sent, .iov_len = length - sent};
    struct msghdr message = {.msg_iov = &vector, .msg_iovlen = 1};
    if (sent == 0 && fd_count > 0) {
      message.msg_control = control.bytes;
      message.msg_controllen = CMSG_SPACE(sizeof(int) * fd_count);
      struct cmsghdr *header = CMSG_FIRSTHDR(&message);
      header->cmsg_level = SOL_SOCKET;
      header->cmsg_type = SCM_RIGHTS;
      header->cmsg_len = CMSG_LEN(sizeof(int) * fd_count);
      memcpy(CMSG_DATA(header), fds, sizeof(int) * fd_count);
    }
    ssize_t written = sendmsg(channel->fd, &message, MSG_NOSIGNAL);
    if (written > 0) sent += (size_t)written;
    else if (written < 0 && errno != EINTR)
      return opc_error_set(error, OPC_ERR_SYSTEM, "cannot send: %s", strerror(errno));
  }
  return OPC_OK;
}

void opc_channel_finish(opc_channel_t *channel) {
  if (channel->fd >= 0) (void)shutdown(channel->fd, SHUT_WR);
}

void opc_channel_close(opc_channel_t *channel) {
  for (int fd; (fd = opc_channel_take_fd(channel)) >= 0;) close(fd);
  if (channel->fd >= 0) close(channel->fd);
  free(channel->data);
  *channel = (opc_channel_t)OPC_CHANNEL_INIT;
}
