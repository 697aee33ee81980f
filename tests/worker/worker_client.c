#include "worker_client.h"

#include <errno.h>
#include <fcntl.h>
#include <poll.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/syscall.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "memory/cpu_memory.h"
#include "memory/heap_pages.h"

enum { PATIENCE_MS = 60000, ARGUMENTS = 16 };

static json_t *next_message(opc_channel_t *channel) {
  for (;;) {
    json_t *message = NULL;
    opc_channel_event_t event = opc_channel_next(channel, &message);
    if (event == OPC_CHANNEL_LINE) return message;
    if (event == OPC_CHANNEL_END) return NULL;
    assert_int_not_equal(event, OPC_CHANNEL_GARBAGE);
    struct pollfd waiting = {.fd = channel->fd, .events = POLLIN};
    assert_int_equal(poll(&waiting, 1, PATIENCE_MS), 1);
  }
}

/* fds become descriptors 3, 4… of the program. */
static pid_t execute(const char *const *arguments, const int *fds, int fd_count, int output) {
  char *words[ARGUMENTS] = {(char *)(uintptr_t)WORKER_PATH};
  int count = 1;
  for (int i = 0; arguments[i]; i++) {
    assert_true(count < ARGUMENTS - 1);
    words[count++] = (char *)(uintptr_t)arguments[i];
  }
  pid_t pid = fork();
  if (pid == 0) {
    int moved[8];
    for (int i = 0; i < fd_count; i++) moved[i] = fcntl(fds[i], F_DUPFD_CLOEXEC, 64);
    for (int i = 0; i < fd_count; i++) dup2(moved[i], OPC_CONTROL_FD + i);
    dup2(output, STDOUT_FILENO);
    dup2(output, STDERR_FILENO);
    setpgid(0, 0);
    setenv("GLIBC_TUNABLES", OPC_SCRATCH_MEMORY_TUNABLE ":" OPC_HEAP_PAGES_TUNABLE, 1); /* as opcheck-c does */
    execv(WORKER_PATH, words);
    _exit(127);
  }
  assert_true(pid > 0);
  return pid;
}

static int memory_file(const char *name) {
  int fd = memfd_create(name, MFD_CLOEXEC);
  assert_true(fd >= 0);
  fcntl(fd, F_SETFL, O_APPEND);
  return fd;
}

void client_start(client_t *client, const char *const *arguments) {
  opc_error_t error;
  int other = -1;
  assert_int_equal(opc_channel_open(&client->control, &other, &error), OPC_OK);
  client->output = memory_file("worker");
  client->pid = execute(arguments, &other, 1, client->output);
  close(other);
}

json_t *client_until(client_t *client, const char *kind) {
  for (;;) {
    json_t *message = next_message(&client->control);
    if (!message) return NULL;
    if (!kind || strcmp(json_string_value(json_object_get(message, "t")), kind) == 0) return message;
    json_decref(message);
  }
}

int client_wait(client_t *client) {
  int status = 0;
  assert_int_equal(waitpid(client->pid, &status, 0), client->pid);
  opc_channel_close(&client->control);
  close(client->output);
  return status;
}

int client_finish(client_t *client) {
  opc_channel_finish(&client->control);
  return client_wait(client);
}

static void child_prepare(client_child_t *child, int *out_other, int *out_box) {
  opc_error_t error;
  *child = (client_child_t){.pidfd = -1, .control = OPC_CHANNEL_INIT};
  assert_int_equal(opc_channel_open(&child->channel, out_other, &error), OPC_OK);
  *out_box = memory_file("blackbox");
  child->output = memory_file("output");
  assert_int_equal(ftruncate(*out_box, OPC_CRASH_RECORD_SIZE), 0);
  child->box = mmap(NULL, OPC_CRASH_RECORD_SIZE, PROT_READ | PROT_WRITE, MAP_SHARED, *out_box, 0);
  assert_ptr_not_equal(child->box, MAP_FAILED);
  child->box->magic = OPC_CRASH_RECORD_MAGIC;
}

void child_fork(client_t *client, client_child_t *child, int id, int memory_mib) {
  opc_error_t error;
  int other = -1, box = -1;
  child_prepare(child, &other, &box);
  child->id = id;
  int fds[] = {other, box, child->output};
  json_t *command = json_pack("{s:s, s:i, s:i}", "t", "fork", "child", id, "memory_mib", memory_mib);
  assert_int_equal(opc_channel_send(&client->control, command, fds, 3, &error), OPC_OK);
  json_decref(command);
  close(other);
  close(box);
  json_t *forked = client_until(client, "forked");
  assert_non_null(forked);
  assert_int_equal(json_integer_value(json_object_get(forked, "child")), id);
  child->pid = (pid_t)json_integer_value(json_object_get(forked, "pid"));
  child->pidfd = opc_channel_take_fd(&client->control);
  assert_true(child->pid > 0);
  assert_true(child->pidfd >= 0);
  json_decref(forked);
}

void child_exec(client_child_t *child, const char *const *arguments) {
  opc_error_t error;
  int other = -1, box = -1, control = -1;
  child_prepare(child, &other, &box);
  assert_int_equal(opc_channel_open(&child->control, &control, &error), OPC_OK);
  int fds[] = {control, other, box, child->output};
  child->pid = execute(arguments, fds, 4, child->output);
  close(control);
  close(other);
  close(box);
}

void child_send(client_child_t *child, json_t *command) {
  opc_error_t error;
  assert_non_null(command);
  assert_int_equal(opc_channel_send(&child->channel, command, NULL, 0, &error), OPC_OK);
  json_decref(command);
}

json_t *child_next(client_child_t *child) { return next_message(&child->channel); }

json_t *control_next(client_child_t *child) { return next_message(&child->control); }

int child_reaped(client_t *client, client_child_t *child) {
  json_t *reaped = client_until(client, "reaped");
  assert_non_null(reaped);
  assert_int_equal(json_integer_value(json_object_get(reaped, "child")), child->id);
  assert_true(json_integer_value(json_object_get(reaped, "max_rss_kib")) > 0);
  int status = (int)json_integer_value(json_object_get(reaped, "status"));
  json_decref(reaped);
  return status;
}

int child_finish(client_t *client, client_child_t *child) {
  opc_channel_finish(&child->channel);
  int status = child_reaped(client, child);
  child_release(child);
  return status;
}

void child_release(client_child_t *child) {
  opc_channel_close(&child->channel);
  opc_channel_close(&child->control);
  munmap(child->box, OPC_CRASH_RECORD_SIZE);
  close(child->output);
  if (child->pidfd >= 0) close(child->pidfd);
}

const char *child_output(const client_child_t *child) {
  static char text[4096];
  ssize_t length = pread(child->output, text, sizeof text - 1, 0);
  text[length > 0 ? length : 0] = '\0';
  return text;
}

static json_t *sample(const char *source) {
  return json_pack("{s:s, s:s, s:[{s:{s:[i, i]}}]}", "name", "s", "source", source, "args", "tensor", "shape", 2, 3);
}

json_t *command_cases(const char *operator_name, const char *source, json_t *extra) {
  json_t *only = sample(source), *command;
  json_object_set_new(only, "operator", json_string(operator_name));
  command = json_pack("{s:s, s:s, s:[o], s:[], s:[s], s:i, s:n, s:n, s:n, s:n, s:[], s:[]}", "t", "cases", "operator",
                      operator_name, "samples", only, "checks", "devices", "cpu", "seed", 0, "only", "after", "from",
                      "to", "skip", "crashed");
  if (extra) json_object_update(command, extra);
  json_decref(extra);
  return command;
}

json_t *command_try(const char *operator_name) {
  json_t *tried = sample("searched");
  json_object_set_new(tried, "operator", json_string(operator_name));
  return json_pack("{s:s, s:s, s:o, s:i}", "t", "try", "operator", operator_name, "sample", tried, "seed", 0);
}
