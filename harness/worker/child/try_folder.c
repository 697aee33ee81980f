#include "worker/child/try.h"

#include <dirent.h>
#include <fcntl.h>
#include <stdint.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "worker/child/child_folder.h"

static const char file_name[] = "input.bin";
static const char file_bytes[] = "opcheck-c: sixty-four bytes that stand for whatever a file holds";

static void remove_others(int folder) {
  int copy = openat(folder, ".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  DIR *entries = copy >= 0 ? fdopendir(copy) : NULL;
  if (!entries) {
    if (copy >= 0) close(copy);
    return;
  }
  for (const struct dirent *entry; (entry = readdir(entries));) {
    if (strcmp(entry->d_name, ".") == 0 || strcmp(entry->d_name, "..") == 0 || strcmp(entry->d_name, file_name) == 0)
      continue;
    if (unlinkat(folder, entry->d_name, 0) != 0) opc_child_folder_remove(entry->d_name);
  }
  closedir(entries);
}

/* Nothing was added to the folder or removed from it since the last look. File systems count time in ticks of up to ten
 * milliseconds, old ones in seconds: a change in the tick of the one before leaves the same time. So the look before
 * must have come later than that tick. */
static bool is_as_before(int folder) {
  enum { TICK = 20 * 1000 * 1000 };
  static struct timespec changed;
  static bool settled;
  struct timespec now = {0};
  struct stat info;
  if (fstat(folder, &info) != 0 || clock_gettime(CLOCK_REALTIME, &now) != 0) return false;
  const bool same = info.st_mtim.tv_sec == changed.tv_sec && info.st_mtim.tv_nsec == changed.tv_nsec;
  const bool as_before = same && settled;
  changed = info.st_mtim;
  const int64_t age = (now.tv_sec - changed.tv_sec) * INT64_C(1000000000) + now.tv_nsec - changed.tv_nsec;
  settled = changed.tv_nsec != 0 && age > TICK;
  return as_before;
}

void opc_try_folder_reset(void) {
  static int folder = -1;
  struct stat info;
  if (folder < 0) folder = open(".", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
  if (folder < 0 || fchdir(folder) != 0) return;
  if (!is_as_before(folder)) remove_others(folder);
  if (stat(file_name, &info) == 0 && S_ISREG(info.st_mode) && info.st_size == sizeof file_bytes - 1) return;
  (void)unlink(file_name);
  int file = open(file_name, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);
  if (file < 0) return;
  if (write(file, file_bytes, sizeof file_bytes - 1) < 0) (void)unlink(file_name);
  close(file);
}
