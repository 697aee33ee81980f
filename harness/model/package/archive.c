#include "model/package/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "base/owned.h"

static const char signature[] = {'P', 'K', 3, 4};

/* Checks the file's type before libzip does: libzip reports the same error for a text file and a truncated package. */
static opc_status_t look_at_file(int fd, uint64_t *out_size, opc_error_t *error) {
  struct stat about;
  char start[sizeof signature];
  if (fd < 0 || fstat(fd, &about) != 0)
    return opc_error_set(error, OPC_ERR_IO, "it cannot be read: %s", strerror(errno));
  if (!S_ISREG(about.st_mode))
    return opc_error_set(error, OPC_ERR_UNSUPPORTED, "it is not a package: it is %s",
                         S_ISDIR(about.st_mode) ? "a folder" : "not a regular file");
  if (about.st_size == 0) return opc_error_set(error, OPC_ERR_UNSUPPORTED, "the file is empty");
  ssize_t got = pread(fd, start, sizeof start, 0);
  if (got < 0) return opc_error_set(error, OPC_ERR_IO, "it cannot be read: %s", strerror(errno));
  if ((size_t)got < sizeof start || memcmp(start, signature, sizeof start) != 0)
    return opc_error_set(error, OPC_ERR_UNSUPPORTED,
                         "it is not a package: a .pt2 is a zip file, but this does not begin like one");
  *out_size = (uint64_t)about.st_size;
  return OPC_OK;
}

static opc_status_t cannot_open(int code, opc_error_t *error) {
  zip_error_t why;
  opc_status_t status = code == ZIP_ER_MEMORY                        ? OPC_ERR_MEMORY
                        : code == ZIP_ER_READ || code == ZIP_ER_OPEN ? OPC_ERR_IO
                                                                     : OPC_ERR_INPUT;
  if (code == ZIP_ER_NOZIP)
    return opc_error_set(
        error, status,
        "it ends too early: the directory that a zip file ends with is missing; copy or export it again");
  zip_error_init_with_code(&why, code);
  (void)opc_error_set(error, status, "its directory is broken (%s): copy or export it again", zip_error_strerror(&why));
  zip_error_fini(&why);
  return status;
}

static opc_status_t list_entries(opc_archive_t *archive, opc_error_t *error) {
  zip_int64_t count = zip_get_num_entries(archive->zip, 0);
  archive->entries = calloc((size_t)count + 1, sizeof *archive->entries);
  if (!archive->entries)
    return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a directory of %lld entries", (long long)count);
  for (zip_int64_t i = 0; i < count; i++) {
    zip_stat_t about;
    if (zip_stat_index(archive->zip, (zip_uint64_t)i, 0, &about) != 0 || !(about.valid & ZIP_STAT_NAME) ||
        !(about.valid & ZIP_STAT_SIZE))
      return opc_error_set(error, OPC_ERR_INPUT, "entry %lld of its directory is broken: copy or export it again",
                           (long long)i);
    archive->entries[archive->count++] =
        (opc_archive_entry_t){.name = about.name,
                              .index = (uint64_t)i,
                              .size = about.size,
                              .stored = (about.valid & ZIP_STAT_COMP_METHOD) && about.comp_method == ZIP_CM_STORE};
  }
  return OPC_OK;
}

opc_status_t opc_archive_open(const char *path, opc_archive_t *out, opc_error_t *error) {
  int code = 0;
  OPC_SCOPED(opc_archive_close) opc_archive_t archive = {0};
  OPC_SCOPED(opc_scope_close) int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  *out = (opc_archive_t){0};
  OPC_RETURN_IF_ERROR(look_at_file(fd, &archive.size, error));
  archive.zip = zip_fdopen(fd, 0, &code);
  if (!archive.zip) return cannot_open(code, error);
  fd = -1; /* now owned by libzip */
  OPC_RETURN_IF_ERROR(list_entries(&archive, error));
  OPC_MOVE(out, archive);
  return OPC_OK;
}

opc_status_t opc_archive_open_bytes(const char *bytes, size_t size, opc_archive_t *out, opc_error_t *error) {
  OPC_SCOPED(zip_error_fini) zip_error_t why;
  OPC_SCOPED(opc_archive_close) opc_archive_t archive = {.size = size};
  zip_error_init(&why);
  *out = (opc_archive_t){0};
  if (size < sizeof signature || memcmp(bytes, signature, sizeof signature) != 0)
    return opc_error_set(error, OPC_ERR_UNSUPPORTED, "it is not a zip file");
  zip_source_t *source = zip_source_buffer_create(bytes, size, 0, &why);
  if (source) archive.zip = zip_open_from_source(source, ZIP_RDONLY, &why);
  if (source && !archive.zip) zip_source_free(source);
  if (!archive.zip) return cannot_open(zip_error_code_zip(&why), error);
  OPC_RETURN_IF_ERROR(list_entries(&archive, error));
  OPC_MOVE(out, archive);
  return OPC_OK;
}

/* Requests one byte more than there is: libzip compares the checksum when it reaches the end. */
static opc_status_t read_whole(zip_file_t *file, const opc_archive_entry_t *entry, char *bytes, opc_error_t *error) {
  uint64_t have = 0;
  zip_int64_t got = 1;
  while (got > 0 && have <= entry->size) {
    got = zip_fread(file, bytes + have, entry->size + 1 - have);
    if (got > 0) have += (uint64_t)got;
  }
  if (got == 0 && have == entry->size) return OPC_OK;
  if (got < 0 && zip_error_code_zip(zip_file_get_error(file)) == ZIP_ER_CRC)
    return opc_error_set(error, OPC_ERR_INPUT, "%s in it is damaged (its checksum is wrong): copy or export it again",
                         entry->name);
  return opc_error_set(error, OPC_ERR_INPUT, "%s in it is damaged (%s): copy or export it again", entry->name,
                       got < 0 ? zip_file_strerror(file) : "its size differs from what its directory says");
}

opc_status_t opc_archive_read(const opc_archive_t *archive, const opc_archive_entry_t *entry, char **out,
                              opc_error_t *error) {
  *out = NULL;
  if (!entry->stored)
    return opc_error_set(error, OPC_ERR_UNSUPPORTED, "%s in it is compressed, which libtorch does not do", entry->name);
  if (entry->size > archive->size)
    return opc_error_set(error, OPC_ERR_INPUT, "%s in it is larger than the file: copy or export it again",
                         entry->name);
  zip_file_t *file = zip_fopen_index(archive->zip, entry->index, 0);
  if (!file)
    return opc_error_set(error, OPC_ERR_INPUT, "%s in it is not where its directory says (%s): copy or export it again",
                         entry->name, zip_strerror(archive->zip));
  char *bytes = malloc((size_t)entry->size + 1);
  opc_status_t status = bytes ? read_whole(file, entry, bytes, error)
                              : opc_error_set(error, OPC_ERR_MEMORY, "out of memory for %s, %llu bytes", entry->name,
                                              (unsigned long long)entry->size);
  (void)zip_fclose(file);
  if (status != OPC_OK) {
    free(bytes);
    return status;
  }
  bytes[entry->size] = '\0';
  *out = bytes;
  return OPC_OK;
}

void opc_archive_close(opc_archive_t *archive) {
  if (archive->zip) zip_discard(archive->zip);
  free(archive->entries);
  *archive = (opc_archive_t){0};
}
