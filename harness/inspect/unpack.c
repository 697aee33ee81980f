#include "inspect/unpack.h"
#include "base/text.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

static const uint64_t largest_total = UINT64_C(16)
                                      << 30; /* unpacked size: anything larger is a mistake or malicious, not a wheel */

bool opc_is_zip(const char *path) {
  struct stat about;
  char start[4] = "";
  const int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  const bool zip = fd >= 0 && fstat(fd, &about) == 0 && S_ISREG(about.st_mode) &&
                   read(fd, start, sizeof start) == (ssize_t)sizeof start && memcmp(start, "PK\3\4", sizeof start) == 0;
  if (fd >= 0) (void)close(fd);
  return zip;
}

/* Whether it stays inside the target folder. */
static bool is_safe(const char *name) {
  if (*name == '\0' || *name == '/') return false;
  for (const char *part = name; part != NULL; part = strchr(part, '/') != NULL ? strchr(part, '/') + 1 : NULL) {
    if (strncmp(part, "..", 2) == 0 && (part[2] == '/' || part[2] == '\0')) return false;
  }
  return true;
}

/* "x.so", "x.so.1.2", the samples and recipes next to them, and the files that package_hint.h reads. */
static bool is_wanted(const char *name) {
  const char *base = opc_base_name(name), *so = strstr(base, ".so");
  const bool library =
      so != NULL && (so[3] == '\0' || (so[3] == '.' && strspn(so + 3, ".0123456789") == strlen(so + 3)));
  const bool inputs = strstr(name, ".samples.json") != NULL || strstr(name, ".recipes.json") != NULL;
  return library || inputs || strstr(name, ".dist-info/METADATA") != NULL || strstr(name, ".dist-info/RECORD") != NULL;
}

static opc_status_t make_folders(char *path, size_t from, opc_error_t *error) {
  for (char *slash = strchr(path + from, '/'); slash != NULL; slash = strchr(slash + 1, '/')) {
    *slash = '\0';
    const bool made = mkdir(path, 0700) == 0 || errno == EEXIST;
    if (!made) (void)opc_error_set(error, OPC_ERR_IO, "cannot make the folder %s: %s", path, strerror(errno));
    *slash = '/';
    if (!made) return OPC_ERR_IO;
  }
  return OPC_OK;
}

static opc_status_t copy_out(zip_file_t *entry, FILE *file, const char *name, uint64_t *left, opc_error_t *error) {
  char block[1 << 16];
  zip_int64_t got;
  while ((got = zip_fread(entry, block, sizeof block)) > 0) {
    if ((uint64_t)got > *left)
      return opc_error_set(error, OPC_ERR_IO, "it unpacks to more than %llu GiB",
                           (unsigned long long)(largest_total >> 30));
    *left -= (uint64_t)got;
    if (fwrite(block, 1, (size_t)got, file) != (size_t)got)
      return opc_error_set(error, OPC_ERR_IO, "cannot write %s: %s", name, strerror(errno));
  }
  return got == 0 ? OPC_OK
                  : opc_error_set(error, OPC_ERR_IO, "%s in it is damaged: %s", name, zip_file_strerror(entry));
}

static opc_status_t unpack_entry(zip_t *archive, zip_uint64_t index, const char *name, const char *folder,
                                 uint64_t *left, opc_error_t *error) {
  char path[PATH_MAX];
  if (snprintf(path, sizeof path, "%s/%s", folder, name) >= (int)sizeof path)
    return opc_error_set(error, OPC_ERR_IO, "the name %.100s… is too long", name);
  opc_status_t status = make_folders(path, strlen(folder) + 1, error);
  if (status != OPC_OK) return status;
  zip_file_t *entry = zip_fopen_index(archive, index, 0);
  FILE *file = fopen(path, "wxe"); /* x: a duplicate name must not overwrite an existing file */
  if (entry == NULL)
    status = opc_error_set(error, OPC_ERR_IO, "%s in it cannot be read: %s", name, zip_strerror(archive));
  else if (file == NULL) status = opc_error_set(error, OPC_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  else status = copy_out(entry, file, name, left, error);
  if (file != NULL && fclose(file) != 0 && status == OPC_OK)
    status = opc_error_set(error, OPC_ERR_IO, "cannot write %s: %s", path, strerror(errno));
  if (entry != NULL) (void)zip_fclose(entry);
  return status;
}

opc_status_t opc_unpack(const char *path, const char *folder, opc_error_t *error) {
  int code = 0;
  uint64_t left = largest_total;
  zip_t *archive = zip_open(path, ZIP_RDONLY, &code);
  if (archive == NULL) {
    zip_error_t why;
    zip_error_init_with_code(&why, code);
    (void)opc_error_set(error, OPC_ERR_IO, "it cannot be unpacked: %s", zip_error_strerror(&why));
    zip_error_fini(&why);
    return OPC_ERR_IO;
  }
  opc_status_t status = OPC_OK;
  const zip_int64_t count = zip_get_num_entries(archive, 0);
  for (zip_int64_t i = 0; status == OPC_OK && i < count; i++) {
    const char *name = zip_get_name(archive, (zip_uint64_t)i, 0);
    if (name == NULL || !is_safe(name) || !is_wanted(name)) continue;
    status = unpack_entry(archive, (zip_uint64_t)i, name, folder, &left, error);
  }
  zip_discard(archive);
  return status;
}
