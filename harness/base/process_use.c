#include "base/process_state.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/system.h"

static opc_status_t refused(const char *path, opc_error_t *error) {
  int why = errno;
  opc_error_set(error, OPC_ERR_SYSTEM, "cannot read %s: %s", path, strerror(why));
  errno = why;
  return OPC_ERR_SYSTEM;
}

static opc_status_t address_space_read(size_t *out_bytes, opc_error_t *error) {
  static const char path[] = "/proc/self/statm";
  char text[128];
  int fd = open(path, O_RDONLY | O_CLOEXEC);
  if (fd < 0) return refused(path, error);
  ssize_t length = read(fd, text, sizeof text - 1);
  close(fd);
  if (length <= 0) return refused(path, error);
  text[length] = '\0';
  *out_bytes = (size_t)strtoull(text, NULL, 10) * (size_t)sysconf(_SC_PAGESIZE);
  return OPC_OK;
}

static opc_status_t descriptors_count(size_t *out, opc_error_t *error) {
  static const char path[] = "/proc/self/fd";
  struct stat status;
  if (stat(path, &status) == 0 &&
      status.st_size > 0) { /* since Linux 6.2 the number of entries (proc_fd_getattr in fs/proc/fd.c) */
    *out = (size_t)status.st_size;
    return OPC_OK;
  }
  DIR *folder = opendir(path);
  if (!folder) return refused(path, error);
  size_t count = 0;
  for (const struct dirent *entry = readdir(folder); entry; entry = readdir(folder)) count += entry->d_name[0] != '.';
  closedir(folder);
  *out = count - 1; /* the descriptor of the folder itself */
  return OPC_OK;
}

static opc_status_t threads_count(size_t *out, opc_error_t *error) {
  static const char path[] = "/proc/self/task";
  struct stat status;
  if (stat(path, &status) != 0) return refused(path, error);
  *out =
      (size_t)status.st_nlink - 2; /* each thread is a subfolder (proc_task_getattr in the kernel's fs/proc/base.c) */
  return OPC_OK;
}

size_t opc_process_children(pid_t pid, pid_t *out, size_t size) {
  char path[96];
  size_t count = 0;
  snprintf(path, sizeof path, "/proc/%d/task", (int)pid);
  DIR *threads = opendir(path);
  for (const struct dirent *thread; threads && (thread = readdir(threads));) {
    if (thread->d_name[0] == '.') continue;
    snprintf(path, sizeof path, "/proc/%d/task/%.20s/children", (int)pid, thread->d_name);
    FILE *file = fopen(path, "re"); /* NULL: the thread has ended */
    for (int child; file && count < size && fscanf(file, "%d", &child) == 1;) out[count++] = child;
    if (file) fclose(file);
  }
  if (threads) closedir(threads);
  return count;
}

/* A program built with AddressSanitizer does not use glibc's malloc; then the sanitizer's function answers
 * (sanitizer/allocator_interface.h). */
extern size_t __sanitizer_get_current_allocated_bytes(void) __attribute__((weak));
extern size_t __sanitizer_get_heap_size(void) __attribute__((weak));

opc_status_t opc_process_use_read(opc_process_use_t *use, opc_error_t *error) {
  size_t address_space = 0;
  *use = (opc_process_use_t){0};
  OPC_RETURN_IF_ERROR(descriptors_count(&use->descriptors, error));
  OPC_RETURN_IF_ERROR(threads_count(&use->threads, error));
  OPC_RETURN_IF_ERROR(address_space_read(&address_space, error));
  /* Last: the lines above allocate and free. */
  const opc_heap_use_t heap = opc_heap_use();
  size_t of_malloc = heap.arenas;
  use->allocated_bytes = heap.used;
  if (__sanitizer_get_current_allocated_bytes && __sanitizer_get_heap_size) {
    of_malloc = __sanitizer_get_heap_size();
    use->allocated_bytes = __sanitizer_get_current_allocated_bytes();
  }
  use->mapped_bytes = address_space > of_malloc ? address_space - of_malloc : 0;
  return OPC_OK;
}
