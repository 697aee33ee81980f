#include "cuda/image/kernel_image.h"

#include <elf.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

/* ---- the code of one module ---- */

enum { WRAPPER_MAGIC = 0x466243b1 };

typedef struct wrapper {
  uint32_t magic, version;
  const unsigned char *container;
  void *more; /* version 2: containers of the device-linked parts, terminated by NULL */
} wrapper_t;

static bool visit_container(const unsigned char *bytes, opc_fat_visit_t *visit, void *data) {
  opc_fat_container_t container;
  return opc_fat_container_read(bytes, SIZE_MAX, &container) && opc_fat_visit(bytes, visit, data) == OPC_FAT_STOPPED;
}

static bool visit_parts(const void *given, opc_fat_visit_t *visit, void *data) {
  wrapper_t wrapper;
  memcpy(&wrapper, given, sizeof wrapper);
  if (wrapper.magic != WRAPPER_MAGIC || !wrapper.container) return false;
  if (visit_container(wrapper.container, visit, data)) return true;
  const unsigned char *const *more = wrapper.version == 2 ? wrapper.more : NULL;
  for (; more && *more; more++)
    if (visit_container(*more, visit, data)) return true;
  return false;
}

/* ---- the devices of an entry ---- */

typedef struct device {
  int major, minor;
  opc_image_code_t code;
} device_t;

/* CUDA Programming Guide, "Binary Compatibility" and "Family-Specific and Architecture-Specific Features". */
static bool kernel_image_fits(const opc_fat_entry_t *part, const device_t *device) {
  const int major = (int)part->header.architecture / 10, minor = (int)part->header.architecture % 10;
  if ((part->flags & OPC_FAT_SPECIFIC) != 0) return major == device->major && minor == device->minor;
  if (part->header.kind == OPC_FAT_MACHINE_CODE || (part->flags & OPC_FAT_FAMILY) != 0)
    return major == device->major && minor <= device->minor;
  return part->header.kind == OPC_FAT_PTX &&
         (major < device->major || (major == device->major && minor <= device->minor));
}

static bool kernel_image_look(const opc_fat_entry_t *part, void *data) {
  device_t *device = data;
  unsigned *best = part->header.kind == OPC_FAT_PTX ? &device->code.ptx : &device->code.machine;
  if (kernel_image_fits(part, device) && part->header.architecture > *best) *best = part->header.architecture;
  return false;
}

opc_image_code_t opc_image_code(const void *wrapper, int major, int minor) {
  device_t device = {.major = major, .minor = minor};
  (void)visit_parts(wrapper, kernel_image_look, &device);
  return device.code;
}

/* ---- facts about a kernel ---- */

typedef struct wanted {
  const char *kernel;
  opc_kernel_image_t *out;
  int kind;
  unsigned architecture; /* 0: any */
  bool packed;           /* read compressed entries too */
} wanted_t;

static bool read_plain(const wanted_t *wanted, const unsigned char *bytes, size_t size) {
  if (wanted->kind == OPC_FAT_MACHINE_CODE) return opc_cubin_read(bytes, size, wanted->kernel, wanted->out);
  return opc_ptx_read((const char *)bytes, size, wanted->kernel, wanted->out);
}

static bool kernel_image_read_part(const opc_fat_entry_t *part, void *data) {
  const wanted_t *wanted = data;
  const uint64_t how = part->flags & (OPC_FAT_LZ4 | OPC_FAT_ZSTD);
  if (part->header.kind != wanted->kind ||
      (wanted->architecture != 0 && part->header.architecture != wanted->architecture) || (how != 0 && !wanted->packed))
    return false;
  if (how == 0) return read_plain(wanted, part->bytes, part->size);
  size_t size;
  unsigned char *plain =
      opc_image_unpack(how == OPC_FAT_ZSTD, part->bytes, part->size, (size_t)part->header.plain_size, &size);
  const bool found = plain && read_plain(wanted, plain, size);
  opc_image_unpacked_free(plain, size);
  return found;
}

void opc_image_read(const void *wrapper, const char *kernel, int major, int minor, opc_kernel_image_t *out) {
  const opc_image_code_t code = opc_image_code(wrapper, major, minor);
  memset(out, 0, sizeof *out);
  wanted_t wanted = {
      .kernel = kernel, .out = out, .kind = OPC_FAT_MACHINE_CODE, .architecture = code.machine, .packed = true};
  if (code.machine != 0 && visit_parts(wrapper, kernel_image_read_part, &wanted)) return;
  /* It is compiled for the device when loaded, or it is not for this device: the parameters are the same everywhere,
   * but the resources are not. */
  static const struct {
    int kind;
    bool packed;
  } order[] = {{OPC_FAT_MACHINE_CODE, false}, {OPC_FAT_PTX, true}, {OPC_FAT_MACHINE_CODE, true}};
  bool found = false;
  wanted.architecture = 0;
  for (size_t i = 0; i < sizeof order / sizeof order[0] && !found; i++) {
    wanted.kind = order[i].kind;
    wanted.packed = order[i].packed;
    found = visit_parts(wrapper, kernel_image_read_part, &wanted);
  }
  out->registers = out->shared_static = out->max_threads = 0;
}

bool opc_image_has(const void *wrapper, const char *kernel) {
  opc_kernel_image_t image;
  wanted_t wanted = {.kernel = kernel, .out = &image, .kind = OPC_FAT_MACHINE_CODE, .packed = true};
  if (visit_parts(wrapper, kernel_image_read_part, &wanted)) return true;
  wanted.kind = OPC_FAT_PTX;
  return visit_parts(wrapper, kernel_image_read_part, &wanted);
}

/* ---- its PTX ---- */

typedef struct texts {
  unsigned newest; /* 0: looked for */
  opc_image_ptx_visit_t *visit;
  void *context;
  bool visited;
} texts_t;

static bool texts_newest(const opc_fat_entry_t *part, void *data) {
  texts_t *texts = data;
  if (part->header.kind == OPC_FAT_PTX && part->header.architecture > texts->newest)
    texts->newest = part->header.architecture;
  return false;
}

static bool texts_give(const opc_fat_entry_t *part, void *data) {
  texts_t *texts = data;
  const uint64_t how = part->flags & (OPC_FAT_LZ4 | OPC_FAT_ZSTD);
  if (part->header.kind != OPC_FAT_PTX || part->header.architecture != texts->newest) return false;
  size_t size = part->size;
  unsigned char *plain =
      how == 0 ? NULL
               : opc_image_unpack(how == OPC_FAT_ZSTD, part->bytes, part->size, (size_t)part->header.plain_size, &size);
  if (how == 0 || plain) {
    texts->visit(plain ? (const char *)plain : (const char *)part->bytes, size, texts->newest, texts->context);
    texts->visited = true;
  }
  if (plain) opc_image_unpacked_free(plain, size);
  return false;
}

unsigned opc_image_ptx(const void *wrapper, opc_image_ptx_visit_t *visit, void *context) {
  texts_t texts = {.visit = visit, .context = context};
  (void)visit_parts(wrapper, texts_newest, &texts);
  if (texts.newest != 0) (void)visit_parts(wrapper, texts_give, &texts);
  return texts.visited ? texts.newest : 0;
}

/* ---- modules of the driver: other data gets a container ---- */

typedef struct wrapped {
  wrapper_t wrapper; /* first, because its address is returned */
  size_t mapped;
  opc_fat_container_t container;
  opc_fat_header_t entry;
} wrapped_t;
_Static_assert(offsetof(wrapped_t, entry) == offsetof(wrapped_t, container) + sizeof(opc_fat_container_t),
               "as they lie in a fat binary");

/* The section and segment tables are after the sections. */
static size_t cubin_size(const unsigned char *bytes) {
  Elf64_Ehdr header;
  memcpy(&header, bytes, sizeof header);
  size_t end = header.e_shoff + (size_t)header.e_shnum * header.e_shentsize,
         segments = header.e_phoff + (size_t)header.e_phnum * header.e_phentsize;
  if (segments > end) end = segments;
  return end < sizeof header ? 0 : end;
}

/* The low byte in older versions, the second byte since version 8 of the ABI. */
static uint32_t cubin_architecture(const unsigned char *bytes) {
  Elf64_Ehdr header;
  memcpy(&header, bytes, sizeof header);
  return header.e_ident[EI_ABIVERSION] >= 8 ? header.e_flags >> 8 & 0xff : header.e_flags & 0xff;
}

static uint32_t ptx_architecture(const char *text) {
  const char *target = strstr(text, ".target"), *number = target ? strstr(target, "sm_") : NULL;
  return number ? (uint32_t)atoi(number + strlen("sm_")) : 0;
}

void *opc_image_wrap(const void *given, size_t size) {
  static const unsigned char container_bytes[] = {0x50, 0xed, 0x55, 0xba};
  const char *text = given; /* compared as an array: a short one ends before its fourth byte */
  const bool cubin = strncmp(text, ELFMAG, SELFMAG) == 0,
             packed = strncmp(text, (const char *)container_bytes, sizeof container_bytes) == 0;
  opc_fat_container_t container = {.magic = OPC_FAT_MAGIC, .version = 1, .header_size = sizeof container};
  opc_fat_header_t entry = {
      .kind = cubin ? OPC_FAT_MACHINE_CODE : OPC_FAT_PTX, .version = 0x0101, .header_size = sizeof entry};
  size_t bytes;
  if (size != 0 && ((cubin && size < sizeof(Elf64_Ehdr)) || (packed && size < sizeof container))) return NULL;
  if (packed) {
    memcpy(&container, given, sizeof container);
    bytes = container.size < SIZE_MAX / 2 ? container.header_size + container.size : 0;
  } else {
    bytes = cubin ? cubin_size(given) : strlen(text) + 1;
    entry.architecture = cubin ? cubin_architecture(given) : ptx_architecture(text);
    entry.size = bytes;
    container.size = sizeof entry + bytes;
  }
  if (bytes == 0 || (!packed && entry.architecture == 0) || (size != 0 && bytes > size + !cubin)) return NULL;
  const size_t mapped = sizeof(wrapped_t) + bytes;
  wrapped_t *out = mmap(NULL, mapped, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  if (out == MAP_FAILED) return NULL;
  *out = (wrapped_t){
      .wrapper = {.magic = WRAPPER_MAGIC, .version = 1}, .mapped = mapped, .container = container, .entry = entry};
  memcpy(out + 1, given, bytes);
  out->wrapper.container = packed ? (unsigned char *)(out + 1) : (unsigned char *)&out->container;
  return out;
}

void opc_image_wrapped_free(void *wrapper) {
  if (wrapper) munmap(wrapper, ((wrapped_t *)wrapper)->mapped);
}
