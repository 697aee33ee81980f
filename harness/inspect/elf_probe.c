/* Inspects a library's file before a loader does: dlopen's messages for such files are short and differ between libcs.
 * */
#include <errno.h>
#include <fcntl.h>
#include <gelf.h>
#include <libelf.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "base/text.h"
#include "inspect/library_error.h"

static const char *machine_name(unsigned machine) {
  enum { CUBIN = 190 };
  static const char *const names[] = {
      [EM_X86_64] = "x86-64",    [EM_AARCH64] = "AArch64", [EM_386] = "32-bit x86", [EM_ARM] = "32-bit ARM",
      [EM_PPC64] = "PowerPC 64", [EM_RISCV] = "RISC-V",    [EM_S390] = "S/390",     [CUBIN] = "CUDA"};
  return machine < sizeof names / sizeof names[0] && names[machine] ? names[machine] : "an unknown processor";
}

#if defined(__x86_64__)
enum { HOST_MACHINE = EM_X86_64 };
#elif defined(__aarch64__)
enum { HOST_MACHINE = EM_AARCH64 };
#else
#error "name this processor's e_machine"
#endif

/* The last part of a wheel's name says for which platforms it is: "my_ops-1.0-cp39-abi3-win_amd64.whl". */
static bool is_foreign_wheel(const char *path, opc_library_error_t *out) {
  const char *name = opc_base_name(path), *dash = strrchr(name, '-');
  if (!dash || !opc_string_ends(name, ".whl") || strstr(dash, "linux") || strstr(dash, "any")) return false;
  opc_library_error_set(out, "architecture",
                        "a wheel for %.*s, another system: get the one for Linux on this processor",
                        (int)(strlen(dash + 1) - strlen(".whl")), dash + 1);
  return true;
}

static bool check_start(const char *path, int fd, opc_library_error_t *out) {
  unsigned char start[EI_NIDENT] = {0};
  ssize_t got = pread(fd, start, sizeof start, 0);
  if (got >= SELFMAG && memcmp(start, ELFMAG, SELFMAG) == 0) {
    if (got < (ssize_t)sizeof start) {
      opc_library_error_set(out, "truncated", "the file ends within its ELF header: copy or build it again");
      return false;
    }
    if (start[EI_CLASS] != ELFCLASS64 || start[EI_DATA] != ELFDATA2LSB) {
      opc_library_error_set(
          out, "architecture",
          "a %s-bit %s-endian library; this program is 64-bit little-endian: get the library for this processor",
          start[EI_CLASS] == ELFCLASS32 ? "32" : "64", start[EI_DATA] == ELFDATA2MSB ? "big" : "little");
      return false;
    }
    return true;
  }
  if (got > 4 && memcmp(start, "PK\3\4", 4) == 0 && is_foreign_wheel(path, out)) return false;
  const char *what = "not a shared library: it has no ELF header (a Python module goes after --python)";
  if (got == 0) what = "the file is empty";
  else if (got > 8 && memcmp(start, "!<arch>\n", 8) == 0)
    what = "a static archive (.a), not a shared library: link it with -shared";
  else if (got > 4 && (memcmp(start, "PK\3\4", 4) == 0))
    what =
        "a zip file, or a wheel without a library that registers operators: what a package defines in Python alone "
        "(torch.library) cannot be checked without Python";
  else if (got > 5 &&
           (memcmp(start, "INPUT", 5) == 0 || memcmp(start, "GROUP", 5) == 0 || memcmp(start, "/* GNU", 6) == 0)) {
    what = "a linker script, not a shared library: name the library that it points to";
  } else if (got > 3 && memcmp(start, "MZ", 2) == 0) what = "a Windows library, not an ELF shared library";
  opc_library_error_set(out, "not_elf", "%s", what);
  return false;
}

/* The loader maps segments and ignores sections; but a file with a cut-off section table is incomplete. */
static bool is_truncated(Elf *elf, const GElf_Ehdr *header, size_t size) {
  uint64_t sections_end = header->e_shoff + (uint64_t)header->e_shnum * header->e_shentsize;
  if (header->e_shoff != 0 && (sections_end > size || sections_end < header->e_shoff)) return true;
  if (header->e_phoff + (uint64_t)header->e_phnum * header->e_phentsize > size) return true;
  size_t count = 0;
  if (elf_getphdrnum(elf, &count) != 0) return true;
  for (size_t i = 0; i < count; i++) {
    GElf_Phdr segment;
    if (!gelf_getphdr(elf, (int)i, &segment)) return true;
    if (segment.p_type == PT_LOAD && (segment.p_filesz > size || segment.p_offset > size - segment.p_filesz))
      return true;
  }
  return false;
}

static bool check_elf(int fd, size_t size, opc_library_error_t *out) {
  bool good = false;
  GElf_Ehdr header;
  Elf *elf = elf_version(EV_CURRENT) != EV_NONE ? elf_begin(fd, ELF_C_READ_MMAP, NULL) : NULL;
  if (!elf || !gelf_getehdr(elf, &header)) {
    opc_library_error_set(out, size < sizeof(Elf64_Ehdr) ? "truncated" : "not_elf",
                          "its ELF header cannot be read (%s): copy or build it again", elf_errmsg(-1));
  } else if (header.e_machine != HOST_MACHINE) {
    opc_library_error_set(out, "architecture",
                          "built for %s (e_machine %u), this program for %s: get the library for this processor",
                          machine_name(header.e_machine), (unsigned)header.e_machine, machine_name(HOST_MACHINE));
  } else if (header.e_type != ET_DYN) {
    opc_library_error_set(out, "not_elf", "%s, not a shared library: link it with -shared",
                          header.e_type == ET_REL    ? "an object file (.o)"
                          : header.e_type == ET_EXEC ? "a program"
                          : header.e_type == ET_CORE ? "a core dump"
                                                     : "an ELF file of another kind");
  } else if (is_truncated(elf, &header, size)) {
    opc_library_error_set(out, "truncated",
                          "the file ends too early (%zu bytes, its headers describe more): copy or build it again",
                          size);
  } else {
    good = true;
  }
  if (elf) elf_end(elf);
  return good;
}

bool opc_elf_probe(const char *path, opc_library_error_t *out) {
  struct stat status;
  memset(out, 0, sizeof *out);
  /* Without O_NONBLOCK, opening a named pipe waits for a writer. */
  int fd = open(path, O_RDONLY | O_CLOEXEC | O_NONBLOCK);
  if (fd < 0 || fstat(fd, &status) != 0) {
    int number = errno;
    bool absent = number == ENOENT || number == ENOTDIR;
    if (absent) opc_library_error_set(out, "not_found", "there is no such file");
    else opc_library_error_set(out, "unreadable", "the file cannot be read: %s", strerror(number));
    if (fd >= 0) close(fd);
    return false;
  }
  bool good = false;
  if (S_ISDIR(status.st_mode))
    opc_library_error_set(out, "unreadable",
                          "it is a folder, but no library in it registers operators: what Python code defines with "
                          "torch.library, or calls by ctypes, is in none");
  else if (!S_ISREG(status.st_mode)) opc_library_error_set(out, "unreadable", "it is not a regular file");
  else good = check_start(path, fd, out) && check_elf(fd, (size_t)status.st_size, out);
  close(fd);
  return good;
}
