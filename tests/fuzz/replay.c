/* fuzz_NAME FOLDER: calls the target for each file of the folder. Ends with 1 where there is none, or one cannot be
 * read, or took too long. Used where there is no libFuzzer. */
#include "fuzz.h"

#include <dirent.h>
#include <time.h>

static const double longest_seconds = 2; /* of processor time */

static double seconds_used(void) {
  struct timespec now;
  clock_gettime(CLOCK_PROCESS_CPUTIME_ID, &now);
  return (double)now.tv_sec + (double)now.tv_nsec / 1e9;
}

static bool replay_file(const char *path) {
  FILE *file = fopen(path, "rbe");
  if (!file || fseek(file, 0, SEEK_END) != 0) return false;
  const size_t size = (size_t)ftell(file);
  uint8_t *bytes = malloc(size); /* exactly: a read past the end is seen */
  rewind(file);
  const bool whole = (bytes || size == 0) && fread(bytes, 1, size, file) == size;
  (void)fclose(file);
  const double before = seconds_used();
  if (whole) (void)LLVMFuzzerTestOneInput(bytes, size);
  free(bytes);
  return whole && seconds_used() - before < longest_seconds;
}

int main(int argc, char **argv) {
  int files = 0, bad = 0;
  DIR *folder = argc == 2 ? opendir(argv[1]) : NULL;
  if (!folder) return 2;
  for (struct dirent *entry; (entry = readdir(folder)) != NULL;) {
    char path[4096];
    if (entry->d_name[0] == '.') continue;
    files++;
    snprintf(path, sizeof path, "%s/%s", argv[1], entry->d_name);
    (void)fprintf(stderr, "%s\n", entry->d_name); /* the last one is to blame for a crash */
    if (replay_file(path)) continue;
    (void)fprintf(stderr, "  cannot be read, or took more than %.0f s\n", longest_seconds);
    bad++;
  }
  closedir(folder);
  return files > 0 && bad == 0 ? 0 : 1;
}
