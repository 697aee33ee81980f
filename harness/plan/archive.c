#include "plan/archive.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

enum {
  LOCAL_HEADER = 0x04034b50,
  CENTRAL_HEADER = 0x02014b50,
  END_RECORD = 0x06054b50,
  END64_RECORD = 0x06064b50,
  END64_LOCATOR = 0x07064b50,
  LOCAL_SIZE = 30,
  CENTRAL_SIZE = 46,
  END_SIZE = 22,
  END64_SIZE = 56,
  LOCATOR_SIZE = 20,
  COMMENT_MAX = 65535,
  EXTRA_ZIP64 = 1,
  ENTRIES_MAX = 1 << 20
};
static const uint64_t directory_max = (uint64_t)256 << 20;

/* ---- bytes ---- */

static uint64_t number(const unsigned char *at, int bytes) {
  uint64_t value = 0;
  for (int i = bytes - 1; i >= 0; i--) value = value << 8 | at[i];
  return value;
}

static opc_status_t read_at(const opc_archive_t *archive, uint64_t offset, void *out, size_t size, opc_error_t *error) {
  if (offset > archive->size || size > archive->size - offset)
    return opc_error_set(error, OPC_ERR_INPUT, "it ends too early (%llu bytes, its directory speaks of more): copy or export it again",
                         (unsigned long long)archive->size);
  for (size_t done = 0; done < size;) {
    ssize_t got = pread(archive->fd, (char *)out + done, size - done, (off_t)(offset + done));
    if (got < 0 && errno == EINTR) continue;
    if (got <= 0) return opc_error_set(error, OPC_ERR_IO, "it cannot be read: %s", got < 0 ? strerror(errno) : "it became shorter meanwhile");
    done += (size_t)got;
  }
  return OPC_OK;
}

static uint32_t checksum(const unsigned char *bytes, size_t size) {
  uint32_t table[256], crc = 0xffffffffu;
  for (uint32_t i = 0; i < 256; i++) {
    table[i] = i;
    for (int bit = 0; bit < 8; bit++) table[i] = table[i] & 1 ? table[i] >> 1 ^ 0xedb88320u : table[i] >> 1;
  }
  for (size_t i = 0; i < size; i++) crc = crc >> 8 ^ table[(crc ^ bytes[i]) & 0xff];
  return crc ^ 0xffffffffu;
}

/* ---- the directory ---- */

typedef struct directory {
  uint64_t offset, size, count;
} directory_t;

static opc_status_t find_directory64(const opc_archive_t *archive, uint64_t end_record, directory_t *out, opc_error_t *error) {
  unsigned char locator[LOCATOR_SIZE], record[END64_SIZE];
  if (end_record < LOCATOR_SIZE) return OPC_OK;
  opc_status_t status = read_at(archive, end_record - LOCATOR_SIZE, locator, sizeof locator, error);
  if (status != OPC_OK || number(locator, 4) != END64_LOCATOR) return status;
  status = read_at(archive, number(locator + 8, 8), record, sizeof record, error);
  if (status != OPC_OK) return status;
  if (number(record, 4) != END64_RECORD) return opc_error_set(error, OPC_ERR_INPUT, "its zip64 directory is broken: copy or export it again");
  *out = (directory_t){.offset = number(record + 48, 8), .size = number(record + 40, 8), .count = number(record + 32, 8)};
  return OPC_OK;
}

static opc_status_t find_directory(const opc_archive_t *archive, directory_t *out, opc_error_t *error) {
  unsigned char start[4] = {0};
  if (archive->size == 0) return opc_error_set(error, OPC_ERR_UNSUPPORTED, "the file is empty");
  opc_status_t status = read_at(archive, 0, start, archive->size < sizeof start ? (size_t)archive->size : sizeof start, error);
  if (status != OPC_OK) return status;
  if (number(start, 4) != LOCAL_HEADER) return opc_error_set(error, OPC_ERR_UNSUPPORTED, "it is no package: a .pt2 is a zip file, and this does not begin like one");

  size_t length = archive->size < COMMENT_MAX + END_SIZE ? (size_t)archive->size : COMMENT_MAX + END_SIZE;
  unsigned char *tail = malloc(length);
  if (!tail) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory");
  status = read_at(archive, archive->size - length, tail, length, error);
  bool found = false;
  for (size_t at = length; status == OPC_OK && !found && at-- > 0;) {
    if (length - at < END_SIZE || number(tail + at, 4) != END_RECORD) continue;
    found = true;
    *out = (directory_t){.offset = number(tail + at + 16, 4), .size = number(tail + at + 12, 4), .count = number(tail + at + 10, 2)};
    status = find_directory64(archive, archive->size - length + at, out, error);
  }
  free(tail);
  if (status == OPC_OK && !found)
    return opc_error_set(error, OPC_ERR_INPUT, "it ends too early: the directory that a zip file ends with is missing; copy or export it again");
  return status;
}

/* Sizes that do not fit are in an extra field, in this order, only those whose own field is full of ones. */
static void read_zip64(const unsigned char *extra, size_t length, uint64_t *size, uint64_t *packed, uint64_t *header) {
  for (size_t at = 0; at + 4 <= length;) {
    size_t field = (size_t)number(extra + at + 2, 2), next = at + 4;
    if (number(extra + at, 2) == EXTRA_ZIP64) {
      uint64_t *const wanted[] = {size, packed, header};
      size_t end = next + field < length ? next + field : length;
      for (size_t i = 0; i < 3; i++) {
        if (*wanted[i] != UINT32_MAX || next + 8 > end) continue;
        *wanted[i] = number(extra + next, 8);
        next += 8;
      }
      return;
    }
    at = next + field;
  }
}

static opc_status_t read_directory(opc_archive_t *archive, opc_error_t *error) {
  directory_t directory = {0};
  opc_status_t status = find_directory(archive, &directory, error);
  if (status != OPC_OK) return status;
  if (directory.count > ENTRIES_MAX || directory.size > directory_max || directory.count * CENTRAL_SIZE > directory.size)
    return opc_error_set(error, OPC_ERR_INPUT, "its directory is broken (%llu entries in %llu bytes): copy or export it again",
                         (unsigned long long)directory.count, (unsigned long long)directory.size);
  unsigned char *bytes = malloc((size_t)directory.size + 1);
  archive->entries = calloc((size_t)directory.count + 1, sizeof *archive->entries);
  if (!bytes || !archive->entries) status = opc_error_set(error, OPC_ERR_MEMORY, "out of memory for a directory of %llu entries", (unsigned long long)directory.count);
  if (status == OPC_OK) status = read_at(archive, directory.offset, bytes, (size_t)directory.size, error);
  if (status == OPC_OK) bytes[directory.size] = 0; /* the last name is a string too */
  for (uint64_t at = 0; status == OPC_OK && archive->count < directory.count;) {
    const unsigned char *record = bytes + at;
    uint64_t left = directory.size - at;
    size_t name = left >= CENTRAL_SIZE ? (size_t)number(record + 28, 2) : 0, extra = left >= CENTRAL_SIZE ? (size_t)number(record + 30, 2) : 0;
    size_t comment = left >= CENTRAL_SIZE ? (size_t)number(record + 32, 2) : 0;
    if (left < CENTRAL_SIZE || number(record, 4) != CENTRAL_HEADER || left - CENTRAL_SIZE < name + extra + comment) {
      status = opc_error_set(error, OPC_ERR_INPUT, "entry %zu of its directory is broken: copy or export it again", archive->count);
      break;
    }
    uint64_t size = number(record + 24, 4), packed = number(record + 20, 4), header = number(record + 42, 4);
    read_zip64(record + CENTRAL_SIZE + name, extra, &size, &packed, &header);
    opc_archive_entry_t *entry = &archive->entries[archive->count];
    *entry = (opc_archive_entry_t){.header = header, .size = size, .crc = (uint32_t)number(record + 16, 4), .stored = number(record + 10, 2) == 0 && size == packed};
    entry->name = strndup((const char *)record + CENTRAL_SIZE, name);
    if (!entry->name) status = opc_error_set(error, OPC_ERR_MEMORY, "out of memory");
    else archive->count++;
    at += CENTRAL_SIZE + name + extra + comment;
  }
  free(bytes);
  return status;
}

opc_status_t opc_archive_open(const char *path, opc_archive_t *out, opc_error_t *error) {
  struct stat info;
  *out = (opc_archive_t){.fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK)};
  opc_status_t status = OPC_OK;
  if (out->fd < 0 || fstat(out->fd, &info) != 0) status = opc_error_set(error, OPC_ERR_IO, "it cannot be read: %s", strerror(errno));
  else if (!S_ISREG(info.st_mode)) status = opc_error_set(error, OPC_ERR_UNSUPPORTED, "it is no package: it is %s", S_ISDIR(info.st_mode) ? "a folder" : "not a regular file");
  if (status == OPC_OK) out->size = (uint64_t)info.st_size;
  if (status == OPC_OK) status = read_directory(out, error);
  if (status != OPC_OK) opc_archive_close(out);
  return status;
}

opc_status_t opc_archive_read(const opc_archive_t *archive, const opc_archive_entry_t *entry, char **out, opc_error_t *error) {
  unsigned char header[LOCAL_SIZE];
  *out = NULL;
  if (!entry->stored) return opc_error_set(error, OPC_ERR_UNSUPPORTED, "%s in it is compressed, which libtorch does not do", entry->name);
  opc_status_t status = read_at(archive, entry->header, header, sizeof header, error);
  if (status != OPC_OK) return status;
  if (number(header, 4) != LOCAL_HEADER || entry->size > archive->size)
    return opc_error_set(error, OPC_ERR_INPUT, "%s in it is not where its directory says: copy or export it again", entry->name);
  char *bytes = malloc((size_t)entry->size + 1);
  if (!bytes) return opc_error_set(error, OPC_ERR_MEMORY, "out of memory for %s, %llu bytes", entry->name, (unsigned long long)entry->size);
  status = read_at(archive, entry->header + LOCAL_SIZE + number(header + 26, 2) + number(header + 28, 2), bytes, (size_t)entry->size, error);
  if (status == OPC_OK && checksum((const unsigned char *)bytes, (size_t)entry->size) != entry->crc)
    status = opc_error_set(error, OPC_ERR_INPUT, "%s in it is damaged (its checksum is wrong): copy or export it again", entry->name);
  if (status != OPC_OK) {
    free(bytes);
    return status;
  }
  bytes[entry->size] = '\0';
  *out = bytes;
  return OPC_OK;
}

void opc_archive_close(opc_archive_t *archive) {
  if (archive->fd >= 0) close(archive->fd);
  for (size_t i = 0; i < archive->count; i++) free(archive->entries[i].name);
  free(archive->entries);
  *archive = (opc_archive_t){.fd = -1};
}
