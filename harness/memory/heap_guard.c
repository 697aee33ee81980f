#include "memory/guard.h"

#include <link.h>
#include <stdatomic.h>
#include <unwind.h>

#include "memory/valgrind_requests.h"

/* At most as many as the guards' mappings that are kept for reuse: a new mapping costs more than most calls. */
enum { LIVE_MOST = 48, LARGEST = 1 << 20, CODE_MOST = 128 };
/* Where the live blocks are: a free must not take a lock for each block that is not one of them. */
enum { BUCKET_BITS = 6, BUCKETS = 1 << BUCKET_BITS, BUCKET_SIZE = 8, PAGE_BITS = 12 };

static bool present;
static atomic_bool giving;
static opc_guard_policy_t block_policy = {.alignment = OPC_HEAP_ALIGNMENT, .fixed_slack = true, .heap = true};
static opc_heap_guard_depth_t block_depth;
static atomic_int live;
static _Atomic(void *) blocks[BUCKETS][BUCKET_SIZE];

/* The guards allocate too. The model: no call of the loader, which would allocate. */
static _Thread_local __attribute__((tls_model("initial-exec"))) bool inside;

typedef struct code {
  uintptr_t from, to;
} code_t;
static code_t codes[CODE_MOST];
static size_t code_count;

/* ---- whose code ---- */

typedef struct note {
  size_t seen, skipped;
  bool own;
} note_t;

static int note_object(struct dl_phdr_info *info, size_t size, void *context) {
  note_t *note = context;
  (void)size;
  if (note->seen++ < note->skipped || !note->own) return 0;
  for (int i = 0; i < info->dlpi_phnum && code_count < CODE_MOST; i++) {
    const ElfW(Phdr) *segment = &info->dlpi_phdr[i];
    if (segment->p_type != PT_LOAD || !(segment->p_flags & PF_X)) continue;
    uintptr_t from = info->dlpi_addr + segment->p_vaddr;
    codes[code_count++] = (code_t){from, from + segment->p_memsz};
  }
  return 0;
}

void opc_heap_guard_note_loaded(bool own) {
  static size_t known; /* objects are listed in the order in which they were loaded */
  note_t note = {.skipped = known, .own = own};
  dl_iterate_phdr(note_object, &note);
  known = note.seen;
}

size_t opc_heap_guard_code_after(const void *address) {
  const uintptr_t at = (uintptr_t)address;
  for (size_t i = 0; i < code_count; i++)
    if (at >= codes[i].from && at < codes[i].to) return codes[i].to - at;
  return 0;
}

bool opc_heap_guard_has_code(void) { return code_count > 0; }

typedef struct look {
  int frames;
  bool own;
} look_t;

static _Unwind_Reason_Code heap_guard_look_at(struct _Unwind_Context *context, void *found) {
  enum { FRAMES = 7 }; /* three here, malloc, and three of a container */
  look_t *look = found;
  look->own = opc_heap_guard_code_after((const void *)_Unwind_GetIP(context)) > 0;
  return look->own || ++look->frames == FRAMES ? _URC_END_OF_STACK : _URC_NO_REASON;
}

static bool is_for_own(const void *caller) {
  if (opc_heap_guard_code_after(caller) > 0) return true;
  if (block_depth == OPC_HEAP_DIRECT) return false;
  look_t look = {0};
  _Unwind_Backtrace(heap_guard_look_at, &look);
  return look.own;
}

/* ---- switching ---- */

void opc_heap_guard_present(void) { present = true; }

void opc_heap_guard(opc_guard_side_t side, unsigned char byte, opc_heap_guard_depth_t depth) {
  block_depth = depth;
  block_policy.side = side;
  block_policy.poison = byte;
  giving = present && code_count > 0 && !opc_valgrind_active(); /* which watches such blocks itself */
}

void opc_heap_guard_off(void) { giving = false; }

/* ---- blocks ---- */

static _Atomic(void *) *bucket_of(const void *data) {
  /* Mappings lie at equal distances: their bits alone would put them all in a few buckets. */
  const uint64_t golden = UINT64_C(0x9E3779B97F4A7C15), page = (uintptr_t)data >> PAGE_BITS;
  return blocks[(page * golden) >> (64 - BUCKET_BITS)];
}

static bool block_add(void *data) {
  _Atomic(void *) *bucket = bucket_of(data);
  for (int i = 0; i < BUCKET_SIZE; i++) {
    void *none = NULL;
    if (atomic_compare_exchange_strong(&bucket[i], &none, data)) return true;
  }
  return false;
}

static _Atomic(void *) *block_find(const void *data) {
  _Atomic(void *) *bucket = bucket_of(data);
  for (int i = 0; i < BUCKET_SIZE; i++)
    if (atomic_load_explicit(&bucket[i], memory_order_relaxed) == data) return &bucket[i];
  return NULL;
}

void *opc_heap_guard_give(size_t bytes, size_t alignment, const void *caller) {
  if (!atomic_load_explicit(&giving, memory_order_relaxed) || inside || !bytes || bytes > LARGEST) return NULL;
  opc_guard_policy_t policy = block_policy;
  if (alignment > policy.alignment) policy.alignment = alignment;
  void *data = NULL;
  inside = true;
  if (++live <= LIVE_MOST && is_for_own(caller)) data = opc_guard_allocate(bytes, &policy);
  if (data && !block_add(data)) {
    opc_guard_release(data);
    data = NULL;
  }
  if (!data) live--;
  inside = false;
  return data;
}

bool opc_heap_guard_take(void *data) {
  if (atomic_load_explicit(&live, memory_order_relaxed) == 0) return false;
  _Atomic(void *) *block = block_find(data);
  if (!block) return false;
  atomic_store(block, NULL);
  inside = true;
  opc_guard_release(data);
  inside = false;
  live--;
  return true;
}

bool opc_heap_guard_size(const void *data, size_t *out_bytes) {
  opc_guard_block_t block;
  if (atomic_load_explicit(&live, memory_order_relaxed) == 0 || !block_find(data)) return false;
  inside = true;
  bool found = opc_guard_find(data, &block);
  inside = false;
  *out_bytes = found ? block.bytes : 0;
  return found;
}
