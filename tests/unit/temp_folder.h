/* A temporary folder for the files of one test program, removed with its contents at the end. */
#ifndef OPC_TESTS_TEMP_FOLDER_H
#define OPC_TESTS_TEMP_FOLDER_H

#include <dirent.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "unit.h"

static char temp_folder[256];

static inline int temp_folder_make(void **state) {
  const char *base = getenv("TMPDIR");
  (void)state;
  snprintf(temp_folder, sizeof temp_folder, "%s/opc-unit-XXXXXX", base && *base ? base : "/tmp");
  return mkdtemp(temp_folder) ? 0 : -1;
}

static inline int temp_folder_remove(void **state) {
  char path[1024];
  (void)state;
  DIR *folder = opendir(temp_folder);
  for (struct dirent *entry; folder && (entry = readdir(folder)) != NULL;) {
    snprintf(path, sizeof path, "%s/%s", temp_folder, entry->d_name);
    unlink(path);
  }
  if (folder) closedir(folder);
  return rmdir(temp_folder);
}

/* Path of a file in the folder; one buffer, overwritten by the next call. */
static inline const char *temp_path(const char *name) {
  static char path[1024];
  snprintf(path, sizeof path, "%s/%s", temp_folder, name);
  return path;
}

static inline void temp_write(const char *name, const void *bytes, size_t size) {
  FILE *stream = fopen(temp_path(name), "wb");
  assert_non_null(stream);
  assert_int_equal(fwrite(bytes, 1, size, stream), size);
  assert_int_equal(fclose(stream), 0);
}

#endif
