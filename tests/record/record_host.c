/* record_host MODE PLUGIN: a program without libtorch, which loads a plugin that has it. */
#include <dlfcn.h>
#include <stdio.h>
#include <string.h>

__attribute__((visibility("default"))) void (*record_host_entry)(void);

int main(int argc, char **argv) {
  if (argc < 3) return 2;
  void *plugin = dlopen(argv[2], RTLD_NOW);
  if (!plugin) {
    fprintf(stderr, "%s\n", dlerror());
    return 3;
  }
  void (*entry)(void) = record_host_entry; /* set by the plugin's initialiser */
  if (strcmp(argv[1], "dlsym") == 0) *(void **)&entry = dlsym(plugin, "record_plugin_entry");
  if (dlerror()) return 4;
  if (!entry) return 5;
  entry();
  return 0;
}
