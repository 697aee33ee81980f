/* Libraries read as files: this program is one of them; with a symbol renamed in its bytes it is a library that
 * registers operators. */
#include "unit.h"

#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>
#include <zip.h>

#include "inspect/facts.h"
#include "inspect/library_error.h"
#include "inspect/package.h"
#include "inspect/symbol_search.h"
#include "temp_folder.h"

#define SELF "/proc/self/exe"

static opc_elf_file_t *open_self(void) {
  opc_elf_file_t *file = NULL;
  opc_error_t error = {0};
  if (opc_elf_open(SELF, &file, &error) != OPC_OK) fail_msg("%s", error.message);
  return file;
}

static unsigned char *read_self(size_t *size) {
  struct stat about;
  const int fd = open(SELF, O_RDONLY | O_CLOEXEC);
  assert_int_equal(fstat(fd, &about), 0);
  *size = (size_t)about.st_size;
  unsigned char *bytes = malloc(*size);
  assert_non_null(bytes);
  assert_int_equal(read(fd, bytes, *size), (ssize_t)*size);
  close(fd);
  return bytes;
}

static void write_file(const char *path, const void *bytes, size_t size) {
  FILE *file = fopen(path, "we");
  assert_non_null(file);
  assert_int_equal(fwrite(bytes, 1, size, file), size);
  assert_int_equal(fclose(file), 0);
}

/* The same, except that it needs a function of libtorch and none of cmocka. */
static unsigned char *read_operator_library(size_t *size) {
  static const char old[] = "_cmocka_run_group_tests", new[] = "aoti_torch_library_test";
  _Static_assert(sizeof old == sizeof new, "in place");
  unsigned char *bytes = read_self(size), *at = bytes;
  while ((at = memmem(at, *size - (size_t)(at - bytes), old, sizeof old)) != NULL) memcpy(at, new, sizeof new);
  return bytes;
}

static const char *make_operator_library(const char *name) {
  size_t size = 0;
  unsigned char *bytes = read_operator_library(&size);
  write_file(temp_path(name), bytes, size);
  free(bytes);
  return temp_path(name);
}

typedef struct seen {
  bool undefined, versioned;
} seen_t;

static bool see(const opc_elf_symbol_t *symbol, void *context) {
  seen_t *seen = context;
  if (strcmp(symbol->name, "_cmocka_run_group_tests") == 0) seen->undefined = !symbol->defined;
  if (strcmp(symbol->name, "mkdtemp") == 0)
    seen->versioned = symbol->library != NULL && strcmp(symbol->library, "libc.so.6") == 0 && symbol->version != NULL;
  return true;
}

static void test_what_a_file_says(void **state) {
  (void)state;
  opc_elf_file_t *file = open_self();
  seen_t seen = {0};
  opc_facts_t facts;
  opc_error_t error = {0};
  size_t size = 0;
  assert_true(opc_elf_needs(file, "libc.so.6"));
  assert_false(opc_elf_needs(file, "libnone.so"));
  opc_elf_each_symbol(file, see, &seen);
  assert_true(seen.undefined && seen.versioned);
  assert_non_null(opc_elf_section(file, ".text", &size));
  assert_true(size > 0);
  assert_null(opc_elf_section(file, ".nothing", &size));
  assert_int_equal(opc_facts_read(file, &facts, &error), OPC_OK);
  assert_false(opc_facts_registers(&facts));
  assert_int_equal(facts.python_count, 0);
  assert_int_equal(facts.gpu_runtime, OPC_GPU_RUNTIME_NONE);
  opc_facts_clear(&facts);
  opc_elf_close(file);
  assert_int_equal(opc_elf_open(make_operator_library("ops.so"), &file, &error), OPC_OK);
  assert_int_equal(opc_facts_read(file, &facts, &error), OPC_OK);
  assert_true(facts.stable_library && !facts.torch_library && opc_facts_registers(&facts));
  opc_facts_clear(&facts);
  opc_elf_close(file);
}

static void test_names(void **state) {
  (void)state;
  assert_true(opc_symbol_is_python("PyErr_SetString") && opc_symbol_is_python("_Py_NoneStruct") &&
              opc_symbol_is_python("Py_IsInitialized"));
  assert_false(opc_symbol_is_python("Pythagoras") || opc_symbol_is_python("my_Py"));
  assert_true(opc_symbol_has_old_string("_ZN3c105ErrorC2ENS_14SourceLocationESs"));
  assert_false(opc_symbol_has_old_string(
      "_ZN3c105ErrorC2ENS_14SourceLocationENSt7__cxx1112basic_stringIcSt11char_traitsIcESaIcEEE"));
  assert_true(opc_library_is_accelerator("libcudart.so.12") && opc_library_is_accelerator("libnvjpeg.36e11081.so.13"));
  assert_false(opc_library_is_accelerator("libcurl.so.4") || opc_library_is_accelerator("libtorch_cpu.so") ||
               opc_library_is_accelerator("libc.so.6"));
  assert_true(opc_symbol_is_accelerator("cuInit") && opc_symbol_is_accelerator("cudaMalloc") &&
              opc_symbol_is_accelerator("__cudaRegisterFunction") &&
              opc_symbol_is_accelerator("_ZN2at4cuda26getCurrentDevicePropertiesEv") &&
              opc_symbol_is_accelerator("hipMalloc"));
  assert_false(opc_symbol_is_accelerator("curl_easy_init") || opc_symbol_is_accelerator("_ZN3app10membershipEv") ||
               opc_symbol_is_accelerator("custom"));
  assert_true(opc_library_is_torch("libtorch_cpu.so") && !opc_library_is_torch("libtorch_my_ops.so") &&
              !opc_library_is_torch("libtorchvision.so"));
  assert_true(opc_library_is_python("libtorch_python.so") && opc_library_is_python("libpython3.11.so.1.0"));
}

static void test_where_libraries_are(void **state) {
  (void)state;
  opc_elf_file_t *file = open_self(), *libc = NULL;
  opc_error_t error = {0};
  opc_library_place_t place;
  opc_library_find(file, "libc.so.6", NULL, &place);
  assert_int_equal(place.how, OPC_FOUND_SYSTEM);
  assert_int_equal(opc_elf_open(place.path, &libc, &error), OPC_OK);
  assert_true(opc_elf_has_version(libc, "GLIBC_2.17"));
  assert_false(opc_elf_has_version(libc, "GLIBC_9.99"));
  opc_library_find(file, "libnobody_has_this.so", "/nowhere", &place);
  assert_int_equal(place.how, OPC_FOUND_NOWHERE);
  opc_elf_close(libc);
  opc_elf_close(file);
}

/* A program in a wheel has an RPATH, because auditwheel writes no RUNPATH. */
static void test_what_a_file_says_itself(void **state) {
  (void)state;
  opc_elf_file_t *file = open_self();
  char folder[PATH_MAX];
  opc_library_place_t place;
  opc_library_find(file, "libc.so.6", NULL, &place);
  (void)snprintf(folder, sizeof folder, "%.*s", (int)(strrchr(place.path, '/') - place.path), place.path);
  opc_elf_file_t other = {.path = SELF, .rpath = folder};
  opc_library_find_by_own_path(&other, "libc.so.6", &place);
  assert_int_equal(place.how, OPC_FOUND_RPATH);
  other = (opc_elf_file_t){.path = SELF, .rpath = folder, .runpath = "/nowhere"};
  opc_library_find_by_own_path(&other, "libc.so.6", &place);
  assert_int_equal(place.how, OPC_FOUND_NOWHERE);
  other = (opc_elf_file_t){.path = SELF, .rpath = "/nowhere", .runpath = folder};
  opc_library_find_by_own_path(&other, "libc.so.6", &place);
  assert_int_equal(place.how, OPC_FOUND_RUNPATH);
  opc_elf_close(file);
}

static void test_symbols_of_this_program(void **state) {
  (void)state;
  opc_elf_file_t *file = open_self();
  opc_symbol_search_t search;
  opc_error_t error = {0};
  assert_int_equal(opc_symbol_search_run(file, NULL, &search, &error), OPC_OK);
  assert_null(opc_symbol_search_example(&search)); /* it runs: nothing is missing */
  assert_null(search.lacking_version);
  opc_symbol_search_clear(&search);
  opc_elf_close(file);
}

static void test_load_order(void **state) {
  (void)state;
  opc_elf_file_t *file = open_self();
  opc_library_place_t cmocka;
  opc_error_t error = {0};
  size_t order[3];
  opc_library_find(file, "libcmocka.so.0", NULL, &cmocka);
  opc_elf_close(file);
  if (cmocka.how == OPC_FOUND_NOWHERE) skip();
  assert_int_equal(opc_load_order((const char *const[]){SELF, "/no/such/file", cmocka.path}, 3, order, &error), OPC_OK);
  assert_true(order[0] == 1 && order[1] == 2 && order[2] == 0);
  assert_int_equal(opc_load_order((const char *const[]){cmocka.path, SELF}, 2, order, &error), OPC_OK);
  assert_true(order[0] == 0 && order[1] == 1);
}

static bool see_nothing(const opc_elf_symbol_t *symbol, void *context) {
  (void)symbol;
  (void)context;
  return true;
}

static void read_all(const char *path) {
  opc_elf_file_t *file = NULL;
  opc_facts_t facts;
  opc_error_t error = {0};
  if (opc_elf_open(path, &file, &error) != OPC_OK) {
    assert_true(error.message[0] != '\0');
    return;
  }
  opc_elf_each_symbol(file, see_nothing, NULL);
  (void)opc_elf_has_version(file, "X");
  if (opc_facts_read(file, &facts, &error) == OPC_OK) opc_facts_clear(&facts);
  opc_elf_close(file);
}

/* Truncated, and with bytes changed in the structure (the headers and the end of the file): an error or the readable
 * part, and nothing else. */
static void test_damaged_files(void **state) {
  (void)state;
  char path[512];
  size_t size = 0;
  unsigned char *bytes = read_self(&size);
  snprintf(path, sizeof path, "%s/damaged.so", temp_folder);
  for (size_t part = 0; part <= 16; part++) {
    write_file(path, bytes, size * part / 16);
    read_all(path);
  }
  for (size_t i = 0; i < 400; i++) {
    const size_t at = i % 2 == 0 ? i : size - 1 - i * 5;
    const unsigned char kept = bytes[at];
    bytes[at] = (unsigned char)(kept ^ (i % 3 == 0 ? 0xff : 0x40));
    write_file(path, bytes, size);
    read_all(path);
    bytes[at] = kept;
  }
  free(bytes);
}

static void add_file(zip_t *archive, const char *name, const void *bytes, size_t size) {
  zip_source_t *source = zip_source_buffer(archive, bytes, size, 0);
  assert_non_null(source);
  assert_true(zip_file_add(archive, name, source, ZIP_FL_OVERWRITE) >= 0);
}

typedef struct visited {
  size_t count;
  char names[4][512];
} visited_t;

static opc_status_t note_name(const char *library, void *context, opc_error_t *error) {
  visited_t *visited = context;
  (void)error;
  assert_true(visited->count < 4);
  snprintf(visited->names[visited->count++], sizeof visited->names[0], "%s", library);
  return OPC_OK;
}

static void test_wheel(void **state) {
  (void)state;
  char wheel[512], name[600];
  size_t size = 0;
  int code = 0;
  unsigned char *bytes = read_operator_library(&size);
  snprintf(wheel, sizeof wheel, "%s/x-1.0-py3-none-any.whl", temp_folder);
  zip_t *archive = zip_open(wheel, ZIP_CREATE | ZIP_TRUNCATE, &code);
  assert_non_null(archive);
  static const char metadata[] =
      "Metadata-Version: 2.1\nName: x\nVersion: 1.0\nRequires-Dist: torch==2.11.0\nRequires-Dist: torchdata>1\n\nA "
      "text\n";
  add_file(archive, "x/sub/_C.so", bytes, size);
  add_file(archive, "x/_C.abi3.so", bytes, size);
  add_file(archive, "x/libc10.so", bytes, size); /* libtorch's own */
  add_file(archive, "x/text.so", "no library", 10);
  add_file(archive, "x/readme.txt", "nothing", 7);
  add_file(archive, "../outside.so", bytes, size);
  add_file(archive, "x-1.0.dist-info/METADATA", metadata, sizeof metadata - 1);
  assert_int_equal(zip_close(archive), 0);
  free(bytes);

  opc_error_t error = {0};
  visited_t visited = {0};
  assert_true(opc_package_is(wheel));
  if (opc_package_each(wheel, note_name, &visited, &error) != OPC_OK) fail_msg("%s", error.message);
  assert_int_equal(visited.count, 2);
  snprintf(name, sizeof name, "%s/x/_C.abi3.so", wheel);
  assert_string_equal(visited.names[0], name);
  snprintf(name, sizeof name, "%s/x/sub/_C.so", wheel);
  assert_string_equal(visited.names[1], name);

  struct stat about;
  opc_package_hint_t hint;
  const char *file = opc_package_file(name);
  assert_int_equal(stat(file, &about), 0);
  assert_int_equal(about.st_size, (off_t)size);
  assert_true(opc_package_hint_find(file, &hint));
  assert_string_equal(hint.name, "x");
  assert_string_equal(hint.version, "1.0");
  assert_string_equal(hint.torch, "==2.11.0");
  snprintf(name, sizeof name, "%s/../outside.so", temp_folder);
  assert_int_not_equal(stat(name, &about), 0);
  assert_string_equal(opc_package_file("/no/such/file.so"), "/no/such/file.so");
}

static void test_folder(void **state) {
  (void)state;
  char path[512];
  size_t size = 0;
  opc_error_t error = {0};
  visited_t visited = {0};
  unsigned char *bytes = read_operator_library(&size);
  snprintf(path, sizeof path, "%s/package", temp_folder);
  assert_int_equal(mkdir(path, 0700), 0);
  assert_true(opc_package_is(path));
  assert_int_equal(opc_package_each(path, note_name, &visited, &error), OPC_OK);
  assert_int_equal(visited.count, 0);
  snprintf(path, sizeof path, "%s/package/libx.so.1", temp_folder);
  write_file(path, bytes, size);
  free(bytes);
  snprintf(path, sizeof path, "%s/package/", temp_folder);
  assert_int_equal(opc_package_each(path, note_name, &visited, &error), OPC_OK);
  assert_int_equal(visited.count, 1);
  snprintf(path, sizeof path, "%s/package/libx.so.1", temp_folder);
  assert_string_equal(visited.names[0], path);
  assert_int_equal(unlink(path), 0);
  snprintf(path, sizeof path, "%s/package", temp_folder);
  assert_int_equal(rmdir(path), 0);
}

/* A truncated zip file, and a file that is none. */
static void test_damaged_wheel(void **state) {
  (void)state;
  char path[512];
  opc_error_t error = {0};
  visited_t visited = {0};
  snprintf(path, sizeof path, "%s/damaged.whl", temp_folder);
  write_file(path, "PK\3\4 and so on", 14);
  assert_true(opc_package_is(path));
  assert_int_equal(opc_package_each(path, note_name, &visited, &error), OPC_ERR_IO);
  assert_non_null(strstr(error.message, "cannot be unpacked"));
  write_file(path, "nothing", 7);
  assert_false(opc_package_is(path));
}

static void test_inspection(void **state) {
  (void)state;
  const opc_inspection_place_t place = {.folder = NULL, .version = ""};
  opc_error_t error = {0};
  json_t *report = NULL;
  assert_int_equal(opc_inspection_make(make_operator_library("ops.so"), "me", &place, NULL, &report, &error), OPC_OK);
  assert_string_equal(json_string_value(json_object_get(report, "path")), "me");
  assert_string_equal(json_string_value(json_object_get(report, "status")), "read");
  assert_string_equal(json_string_value(json_array_get(json_object_get(report, "registers"), 0)),
                      "STABLE_TORCH_LIBRARY");
  assert_string_equal(json_string_value(json_object_get(report, "loads")), "unknown"); /* no libtorch is known */
  json_decref(report);
  assert_int_equal(opc_inspection_make("/no/such/file.so", "it", &place, NULL, &report, &error), OPC_OK);
  assert_string_equal(json_string_value(json_object_get(json_object_get(report, "error"), "kind")), "not_found");
  json_decref(report);
}

static void test_build_folder(void **state) {
  static const struct {
    const char *path, *version, *folder, *backend;
    bool stable;
  } paths[] = {{"torch-2.11/lib/libmine.so", "2.11", "torch-2.11", "", false},
               {"/a/torch-2.9.1/libmine.so", "2.9", "torch-2.9.1", "", false},
               {"/torch-2.6/venv/mine/torch-2.10/libmine.so", "2.10", "torch-2.10", "", false}, /* the innermost */
               {"/torch-2.6/a/b/libmine.so", "", "", "", false},                                /* too far up */
               {"/a/torch-2.6-env/libmine.so", "", "", "", false},
               {"/a/pytorch-2.6/libmine.so", "", "", "", false},
               {"/a/torch-2/libmine.so", "", "", "", false},
               {"/a/torch-2.6", "", "", "", false},
               {"libmine.so", "", "", "", false},
               {"build/torch29-cxx11-cu128-x86_64-linux/mine/_mine.abi3.so", "2.9", "torch29-cxx11-cu128-x86_64-linux",
                "cu128", false},
               {"build/torch210-cpu-x86_64-linux/_mine.abi3.so", "2.10", "torch210-cpu-x86_64-linux", "cpu", false},
               {"torch-stable-abi210-rocm71-x86_64-linux/_m.so", "2.10", "torch-stable-abi210-rocm71-x86_64-linux",
                "rocm71", true},
               {"torch-stable-abi-cxx11-cu130-x86_64-linux/_m.so", "", "torch-stable-abi-cxx11-cu130-x86_64-linux",
                "cu130", true},
               {"build/torch-universal/_mine.so", "", "", "", false},
               {"build/torch29-cu128-x86_64/_mine.so", "", "", "", false},
               {"build/torch2-cpu-x86_64-linux/_mine.so", "", "", "", false},
               {"build/torchvision29-cpu-x86_64-linux/_mine.so", "", "", "", false}};
  (void)state;
  for (size_t i = 0; i < sizeof paths / sizeof *paths; i++) {
    opc_build_folder_t build;
    char folder[64];
    assert_int_equal(opc_build_folder_find(paths[i].path, &build), paths[i].folder[0] != '\0');
    assert_string_equal(build.version, paths[i].version);
    assert_string_equal(build.backend, paths[i].backend);
    assert_int_equal(build.stable, paths[i].stable);
    snprintf(folder, sizeof folder, "%.*s", (int)(build.end - build.start), paths[i].path + build.start);
    assert_string_equal(folder, paths[i].folder);
  }
}

static int rank_of(const char *folder, const char *torch, int cuda) {
  opc_build_folder_t build;
  char path[128];
  snprintf(path, sizeof path, "%s/_mine.so", folder);
  assert_true(opc_build_folder_find(path, &build));
  return opc_build_folder_rank(&build, torch, cuda);
}

#if defined(__x86_64__)
#define HERE "x86_64-linux"
#define ELSEWHERE "aarch64-linux"
#else
#define HERE "aarch64-linux"
#define ELSEWHERE "x86_64-linux"
#endif

static void test_build_ranks(void **state) {
  (void)state;
  assert_true(rank_of("torch-2.9", "2.9", 12) > 0);
  assert_int_equal(rank_of("torch-2.9", "2.10", 12), 0);
  assert_int_equal(rank_of("torch29-cxx11-cu128-" ELSEWHERE, "2.9", 12), 0);
  assert_int_equal(rank_of("torch29-cpu-x86_64-darwin", "2.9", 12), 0);
  assert_true(rank_of("torch29-cxx11-cu128-" HERE, "2.9", 12) > rank_of("torch29-cxx11-cpu-" HERE, "2.9", 12));
  assert_true(rank_of("torch29-cxx11-cpu-" HERE, "2.9", 12) > rank_of("torch29-cxx11-cu130-" HERE, "2.9", 12));
  assert_true(rank_of("torch29-cxx11-cu130-" HERE, "2.9", 12) > rank_of("torch29-cxx11-rocm64-" HERE, "2.9", 12));
  assert_true(rank_of("torch29-cxx11-rocm64-" HERE, "2.9", 12) > rank_of("torch-stable-abi28-cu128-" HERE, "2.9", 12));
  assert_true(rank_of("torch-stable-abi29-cu128-" HERE, "2.10", 12) > 0); /* and newer ones */
  assert_int_equal(rank_of("torch-stable-abi210-cu128-" HERE, "2.9", 12), 0);
  assert_true(rank_of("torch-stable-abi-cu128-" HERE, "2.9", 12) > 0);
}

int main(void) {
  const struct CMUnitTest tests[] = {
      cmocka_unit_test(test_build_folder),
      cmocka_unit_test(test_build_ranks),
      cmocka_unit_test_setup_teardown(test_what_a_file_says, temp_folder_make, temp_folder_remove),
      cmocka_unit_test(test_names),
      cmocka_unit_test(test_where_libraries_are),
      cmocka_unit_test(test_what_a_file_says_itself),
      cmocka_unit_test(test_symbols_of_this_program),
      cmocka_unit_test(test_load_order),
      cmocka_unit_test_setup_teardown(test_inspection, temp_folder_make, temp_folder_remove),
      cmocka_unit_test_setup_teardown(test_damaged_files, temp_folder_make, temp_folder_remove),
      cmocka_unit_test_setup_teardown(test_wheel, temp_folder_make, temp_folder_remove),
      cmocka_unit_test_setup_teardown(test_folder, temp_folder_make, temp_folder_remove),
      cmocka_unit_test_setup_teardown(test_damaged_wheel, temp_folder_make, temp_folder_remove),
  };
  return cmocka_run_group_tests(tests, NULL, NULL);
}
