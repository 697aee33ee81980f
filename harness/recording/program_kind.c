#include <elf.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "recording/program_launch.h"

/* Finds it as execvp does. */
static bool program_kind_find(const char *word, char out[PATH_MAX]) {
  if (strchr(word, '/')) return snprintf(out, PATH_MAX, "%s", word) < PATH_MAX;
  const char *path = getenv("PATH");
  for (const char *part = path ? path : "/bin:/usr/bin"; part;
       part = strchr(part, ':') ? strchr(part, ':') + 1 : NULL) {
    int length = (int)strcspn(part, ":");
    if (snprintf(out, PATH_MAX, "%.*s%s%s", length, part, length ? "/" : "", word) < PATH_MAX && access(out, X_OK) == 0)
      return true;
  }
  return false;
}

/* Reads the interpreter that a script names: for "/usr/bin/env python3" it is python3. */
static bool read_interpreter(const char *start, char out[PATH_MAX]) {
  char words[256], *rest = words;
  snprintf(words, sizeof words, "%s", start + 2);
  words[strcspn(words, "\n")] = '\0';
  char *first = strtok_r(words, " \t", &rest), *second = first ? strtok_r(NULL, " \t", &rest) : NULL;
  if (!first) return false;
  const char *name = strrchr(first, '/');
  return program_kind_find(second && name && strcmp(name, "/env") == 0 ? second : first, out);
}

static const char *elf_kind(int fd, const Elf64_Ehdr *header) {
  bool interpreter = false;
  if (header->e_ident[EI_CLASS] != ELFCLASS64) return "it is a program of 32 bits";
  for (int i = 0; i < header->e_phnum; i++) {
    Elf64_Phdr part;
    if (pread(fd, &part, sizeof part, (off_t)(header->e_phoff + (size_t)i * header->e_phentsize)) != sizeof part)
      return NULL;
    interpreter |= part.p_type == PT_INTERP;
  }
  return interpreter ? NULL : "it is statically linked, and a library cannot be preloaded into it";
}

const char *opc_program_kind(const char *word) {
  char path[PATH_MAX];
  if (!program_kind_find(word, path)) return NULL;
  for (int depth = 0; depth < 4; depth++) {
    union {
      Elf64_Ehdr elf;
      char text[256];
    } start = {0};
    struct stat status;
    const char *kind = NULL;
    int fd = open(path, O_RDONLY | O_CLOEXEC);
    if (fd < 0) return NULL;
    ssize_t got = read(fd, &start, sizeof start - 1);
    bool script = got > 2 && memcmp(start.text, "#!", 2) == 0;
    if (!script && fstat(fd, &status) == 0 &&
        ((status.st_mode & S_ISUID && status.st_uid != geteuid()) ||
         (status.st_mode & S_ISGID && status.st_gid != getegid())))
      kind = "it runs with another user's or group's rights (setuid), and no library is preloaded into it";
    else if (got >= (ssize_t)sizeof start.elf && memcmp(start.elf.e_ident, ELFMAG, SELFMAG) == 0)
      kind = elf_kind(fd, &start.elf);
    close(fd);
    if (!script) return kind;
    if (!read_interpreter(start.text, path)) return NULL;
  }
  return NULL;
}
