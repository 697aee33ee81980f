#include <errno.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "cli/cli.h"

int opc_exit_code(opc_status_t status) {
  switch (status) {
    case OPC_OK:
      return OPC_EXIT_OK;
    case OPC_ERR_USAGE:
    case OPC_ERR_INPUT:
      return OPC_EXIT_USAGE;
    case OPC_ERR_LIBRARY:
      return OPC_EXIT_LOAD;
    default:
      return OPC_EXIT_HARNESS;
  }
}

void opc_complain(const char *format, ...) {
  va_list arguments;
  va_start(arguments, format);
  fputs("opcheck-c: ", stderr);
  vfprintf(stderr, format, arguments);
  fputc('\n', stderr);
  va_end(arguments);
}

/* ---- names of options ---- */

/* Planned, but not in this version: distinguished from a typing mistake. */
static const char *const later_options[] = {"junit-flavor"};

/* Options that argp adds to every command. */
static const struct argp_option own_options[] = {
    {"help", '?', NULL, 0, NULL, 0}, {"usage", 0, NULL, 0, NULL, 0}, {"version", 'V', NULL, 0, NULL, 0}, {0}};

typedef struct lookup {
  const struct argp_option *exact, *prefix;
  size_t prefixes;
  opc_nearest_t nearest;
} lookup_t;

static void arguments_look_up(lookup_t *lookup, const struct argp_option *options, const char *name, size_t length) {
  for (const struct argp_option *option = options; option && (option->name || option->key || option->doc); option++) {
    if (!option->name) continue;
    if (strncmp(option->name, name, length) == 0) {
      if (option->name[length] == '\0') lookup->exact = option;
      lookup->prefix = option;
      lookup->prefixes++;
    }
    opc_nearest_try(&lookup->nearest, option->name);
  }
}

/* Checks one "--name[=value]". *out_takes_next: its value is the next argument. */
static opc_status_t check_long(const struct argp *argp, const char *argument, bool *out_takes_next,
                               opc_error_t *error) {
  char name[64];
  const char *given = argument + 2, *equals = strchr(given, '=');
  size_t length = equals ? (size_t)(equals - given) : strlen(given);
  *out_takes_next = false;
  if (length >= sizeof name) return opc_error_set(error, OPC_ERR_USAGE, "unknown option %.60s…", argument);
  memcpy(name, given, length);
  name[length] = '\0';

  lookup_t lookup = {.nearest = {.word = name}};
  arguments_look_up(&lookup, argp->options, name, length);
  arguments_look_up(&lookup, own_options, name, length);
  const struct argp_option *found = lookup.exact ? lookup.exact : lookup.prefixes == 1 ? lookup.prefix : NULL;
  for (size_t i = 0; !found && i < sizeof later_options / sizeof later_options[0]; i++)
    if (strcmp(later_options[i], name) == 0)
      return opc_error_set(error, OPC_ERR_USAGE, "--%s is not in this version", name);
  if (!found && lookup.prefixes > 1)
    return opc_error_set(error, OPC_ERR_USAGE, "--%s may mean several options; write more of its name", name);
  if (!found && lookup.nearest.best)
    return opc_error_set(error, OPC_ERR_USAGE, "unknown option --%s; did you mean --%s?", name, lookup.nearest.best);
  if (!found) return opc_error_set(error, OPC_ERR_USAGE, "unknown option --%s", name);
  if (!found->arg && equals) return opc_error_set(error, OPC_ERR_USAGE, "--%s takes no value", found->name);
  *out_takes_next = found->arg && !equals;
  return OPC_OK;
}

static opc_status_t arguments_check_options(const opc_arguments_t *arguments, const struct argp *argp,
                                            opc_error_t *error) {
  static char help[] = "--help"; /* argp has no -h */
  for (int i = 1; i < arguments->argc; i++) {
    const char *argument = arguments->argv[i];
    bool takes_next = false;
    if (strcmp(argument, "--") == 0) return OPC_OK;
    if (argument[0] != '-' || argument[1] == '\0') continue;
    if (argument[1] != '-') {
      if (strcmp(argument, "-h") == 0) arguments->argv[i] = help;
      if (strcmp(argument, "-h") == 0 || strcmp(argument, "-?") == 0 || strcmp(argument, "-V") == 0) continue;
      return opc_error_set(error, OPC_ERR_USAGE, "unknown option %.60s", argument);
    }
    OPC_RETURN_IF_ERROR(check_long(argp, argument, &takes_next, error));
    if (takes_next && ++i == arguments->argc)
      return opc_error_set(error, OPC_ERR_USAGE, "%s needs a value after it", argument);
  }
  return OPC_OK;
}

opc_status_t opc_arguments_parse(const opc_arguments_t *arguments, const struct argp *argp, void *input,
                                 opc_error_t *error) {
  error->code = OPC_OK;
  if (arguments->describe) {
    arguments->describe(argp, arguments->describe_context);
    return opc_error_set(error, OPC_ERR_NOT_FOUND, "only described");
  }
  OPC_RETURN_IF_ERROR(arguments_check_options(arguments, argp, error));
  argp_err_exit_status = OPC_EXIT_USAGE;
  error_t failure = argp_parse(argp, arguments->argc, arguments->argv, 0, NULL, input);
  if (failure == 0) return OPC_OK;
  return error->code != OPC_OK ? error->code
                               : opc_error_set(error, OPC_ERR_USAGE, "wrong arguments: %s", strerror(failure));
}

int opc_arguments_failed(const opc_arguments_t *arguments, const opc_error_t *error) {
  if (arguments->describe) return OPC_EXIT_OK;
  int code = opc_exit_code(error->code);
  bool hinted = strstr(error->message, "did you mean") || strstr(error->message, "opcheck-c ");
  if (code == OPC_EXIT_USAGE && !hinted) opc_complain("%s (%s --help shows how)", error->message, arguments->argv[0]);
  else opc_complain("%s", error->message);
  return code;
}

/* ---- values of options ---- */

opc_status_t opc_value_integer(const char *option, const char *text, int64_t lowest, int64_t highest, int64_t *out,
                               opc_error_t *error) {
  char *end;
  errno = 0;
  long long value = strtoll(text, &end, 10);
  if (end == text || *end || errno || value < lowest || value > highest)
    return opc_error_set(error, OPC_ERR_USAGE, "%s %.60s: give a whole number from %lld to %lld", option, text,
                         (long long)lowest, (long long)highest);
  *out = value;
  return OPC_OK;
}

opc_status_t opc_value_junit_cases(const char *text, opc_junit_cases_t *out, opc_error_t *error) {
  if (strcmp(text, "operator") == 0) *out = OPC_JUNIT_BY_OPERATOR;
  else if (strcmp(text, "case") == 0) *out = OPC_JUNIT_BY_CASE;
  else return opc_error_set(error, OPC_ERR_USAGE, "--junit-cases %.40s: give operator or case", text);
  return OPC_OK;
}

opc_status_t opc_value_folder(const char *option, const char *text, opc_error_t *error) {
  struct stat info;
  if (stat(text, &info) != 0) return opc_error_set(error, OPC_ERR_USAGE, "%s %s: %s", option, text, strerror(errno));
  if (S_ISDIR(info.st_mode)) return OPC_OK;
  return opc_error_set(error, OPC_ERR_USAGE, "%s %s: it is a file; give a folder", option, text);
}

opc_status_t opc_value_seconds(const char *option, const char *text, double *out, opc_error_t *error) {
  char *end;
  double value = strtod(text, &end);
  if (end == text || *end || !isfinite(value) || value <= 0 || value > 1e6)
    return opc_error_set(error, OPC_ERR_USAGE, "%s %.60s: give a number of seconds, more than 0", option, text);
  *out = value;
  return OPC_OK;
}

opc_status_t opc_check_names_validate(const opc_strings_t *names, opc_error_t *error) {
  for (size_t i = 0; i < names->count; i++) {
    if (opc_check_info_find(names->items[i]) >= 0) continue;
    opc_nearest_t nearest = {.word = names->items[i]};
    for (size_t c = 0; c < opc_check_info_count; c++) opc_nearest_try(&nearest, opc_check_infos[c].name);
    if (nearest.best)
      return opc_error_set(error, OPC_ERR_USAGE, "no check is called \"%s\"; did you mean %s?", names->items[i],
                           nearest.best);
    return opc_error_set(error, OPC_ERR_USAGE, "no check is called \"%s\"; opcheck-c checks lists them",
                         names->items[i]);
  }
  return OPC_OK;
}

/* ---- lists of strings ---- */

opc_status_t opc_strings_add(opc_strings_t *list, const char *item, opc_error_t *error) {
  if (!OPC_ARRAY_GROW(list->items, list->count)) return opc_out_of_memory(error);
  list->items[list->count++] = item;
  return OPC_OK;
}

opc_status_t opc_strings_split(opc_strings_t *list, const char *text, opc_error_t *error) {
  if (!OPC_ARRAY_GROW(list->owned, list->owned_count)) return opc_out_of_memory(error);
  char *rest = list->owned[list->owned_count] = opc_string_copy(text);
  if (!rest) return opc_out_of_memory(error);
  list->owned_count++;
  for (char *part; (part = strsep(&rest, ","));)
    if (*part) OPC_RETURN_IF_ERROR(opc_strings_add(list, part, error));
  return OPC_OK;
}

void opc_strings_clear(opc_strings_t *list) {
  for (size_t i = 0; i < list->owned_count; i++) free(list->owned[i]);
  free(list->owned);
  free(list->items);
  *list = (opc_strings_t){0};
}
