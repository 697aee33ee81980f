/* Scripts that complete commands, options and their values. What an option's value is, its name in the table says:
 * FILE, LIB and PATH are files, DIR and ROOT folders, words with bars between them are those words. */
#include <ctype.h>
#include <stdlib.h>
#include <string.h>

#include "catalogue/rules.h"
#include "cli/cli.h"

typedef enum value_kind {
  VALUE_NONE, /* the option takes no value */
  VALUE_OTHER,
  VALUE_FILES,
  VALUE_FOLDERS,
  VALUE_WORDS,
  VALUE_CHECKS /* several, with commas between them */
} value_kind_t;

static value_kind_t value_kind_of(const char *value) {
  static const struct {
    const char *name;
    value_kind_t kind;
  } names[] = {{"FILE", VALUE_FILES},  {"LIB", VALUE_FILES},    {"PATH", VALUE_FILES},
               {"DIR", VALUE_FOLDERS}, {"ROOT", VALUE_FOLDERS}, {"NAME[,NAME]", VALUE_CHECKS}};
  if (!value) return VALUE_NONE;
  if (strchr(value, '|')) return VALUE_WORDS;
  for (size_t i = 0; i < sizeof names / sizeof *names; i++)
    if (strcmp(names[i].name, value) == 0) return names[i].kind;
  return VALUE_OTHER;
}

static bool is_listed_option(const struct argp_option *option) {
  return option->name && !(option->flags & OPTION_HIDDEN);
}
static bool is_last_option(const struct argp_option *option) { return !option->name && !option->key && !option->doc; }

static void add_check_names(opc_text_t *out) {
  for (size_t i = 0; i < opc_check_info_count; i++) opc_text_addf(out, "%s%s", i ? " " : "", opc_check_infos[i].name);
}

/* "a|b" as "a b"; what comes after a blank is another word of the command line: "cpp|python FILE". */
static void add_value_words(opc_text_t *out, const struct argp_option *option) {
  for (const char *at = option->arg; *at && *at != ' '; at++) opc_text_add_bytes(out, *at == '|' ? " " : at, 1);
}

/* What may stand after a command besides files: "render" of "render JOURNAL|compare OLD NEW"; the rules of "RULE...".
 */
static void add_argument_words(opc_text_t *out, const struct argp *argp) {
  const char *at = argp->args_doc ? argp->args_doc : "";
  if (strcmp(at, "RULE...") == 0) {
    add_check_names(out);
    for (size_t i = 1; i < opc_rule_count; i++) opc_text_addf(out, " %s", opc_rules[i].name);
    opc_text_add(out, " problems samples recipes");
  }
  while (*at) {
    size_t length = 0;
    while (islower((unsigned char)at[length])) length++;
    const bool whole = length > 0 && !isalpha((unsigned char)at[length]) && at[length] != '.';
    if (whole) opc_text_addf(out, "%s%.*s", out->length ? " " : "", (int)length, at);
    at += length;
    while (*at && !islower((unsigned char)*at)) at += *at == '-' ? strcspn(at, " ]") : 1;
  }
}

/* ---- bash ---- */

static const char bash_head[] =
    "# bash completion for opcheck-c, written by opcheck-c --completion bash\n"
    "_opcheck_c() {\n"
    "  local current=\"${COMP_WORDS[COMP_CWORD]}\" option before=\"\" kind=\"\" words=\"\" options=\"\" line\n"
    "  COMPREPLY=()\n"
    "  # A = is a word of its own.\n"
    "  option=\"${COMP_WORDS[COMP_CWORD - 1]}\"\n"
    "  if [[ \"$current\" == \"=\" ]]; then\n"
    "    current=\"\"\n"
    "  elif [[ \"$option\" == \"=\" ]]; then\n"
    "    option=\"${COMP_WORDS[COMP_CWORD - 2]}\"\n"
    "  fi\n"
    "  case \"$((COMP_CWORD > 1)) ${COMP_WORDS[1]}\" in\n";

static const char bash_tail[] =
    "  0*) kind=words ;;\n"
    "  esac\n"
    "  [[ \"$kind\" != none ]] || return 0\n"
    "  if [[ \"$kind\" == list && \"$current\" == *,* ]]; then\n"
    "    before=\"${current%,*},\"\n"
    "    current=\"${current##*,}\"\n"
    "  fi\n"
    "  if [[ -z \"$kind\" && \"$current\" == -* ]]; then\n"
    "    words=\"$options\"\n"
    "    kind=words\n"
    "  fi\n"
    "  while IFS= read -r line; do COMPREPLY+=(\"$before$line\"); done < <(\n"
    "    [[ -z \"$words\" ]] || compgen -W \"$words\" -- \"$current\"\n"
    "    case \"$kind\" in\n"
    "    folders) compgen -d -- \"$current\" ;;\n"
    "    files | \"\") compgen -f -- \"$current\" ;;\n"
    "    esac\n"
    "  )\n"
    "  case \"$kind\" in\n"
    "  files | folders | \"\") compopt -o filenames 2>/dev/null ;;\n"
    "  list) compopt -o nospace 2>/dev/null ;;\n"
    "  esac\n"
    "  return 0\n"
    "}\n"
    "complete -F _opcheck_c opcheck-c\n";

static void bash_value(const struct argp_option *option) {
  static const char *const kinds[] = {[VALUE_OTHER] = "none",
                                      [VALUE_FILES] = "files",
                                      [VALUE_FOLDERS] = "folders",
                                      [VALUE_WORDS] = "words",
                                      [VALUE_CHECKS] = "list"};
  OPC_SCOPED(opc_text_clear) opc_text_t words = {0};
  const value_kind_t kind = value_kind_of(option->arg);
  if (kind == VALUE_NONE) return;
  if (kind == VALUE_WORDS) add_value_words(&words, option);
  if (kind == VALUE_CHECKS) add_check_names(&words);
  printf("    --%s) kind=%s words=\"%s\" ;;\n", option->name, kinds[kind], opc_text_c(&words));
}

static void bash_command(const char *command, const char *summary, const struct argp *argp, void *context) {
  OPC_SCOPED(opc_text_clear) opc_text_t words = {0};
  (void)summary;
  (void)context;
  add_argument_words(&words, argp);
  printf("  \"1 %s\")\n    words=\"%s\"\n    options=\"--help --usage --version", command, opc_text_c(&words));
  for (const struct argp_option *option = argp->options; option && !is_last_option(option); option++)
    if (is_listed_option(option)) printf(" --%s", option->name);
  puts("\"\n    case \"$option\" in");
  for (const struct argp_option *option = argp->options; option && !is_last_option(option); option++)
    if (is_listed_option(option)) bash_value(option);
  puts("    esac\n    ;;");
}

static void bash_name(const char *command, const char *summary, const struct argp *argp, void *context) {
  (void)summary;
  (void)argp;
  (void)context;
  printf("%s ", command);
}

static void print_bash(void) {
  fputs(bash_head, stdout);
  opc_commands_describe(bash_command, NULL);
  fputs("  0*) words=\"", stdout);
  opc_commands_describe(bash_name, NULL);
  fputs("help --help --version\" ;;&\n", stdout);
  fputs(bash_tail, stdout);
}

/* ---- zsh ---- */

enum { ZSH_TEXT = 90 };

/* In single quotes; colons and brackets would end the text. */
static void put_zsh_text(const char *text) {
  size_t length = 0;
  for (; *text && length < ZSH_TEXT; text++, length++) {
    if (text[0] == '.' && text[1] == ' ') break;
    if (*text == '\'') fputs("'\\''", stdout);
    else if (strchr(":[]\\", *text)) printf("\\%c", *text);
    else if ((unsigned char)*text < 0x80) putchar(*text);
  }
  if (*text && length == ZSH_TEXT) fputs("...", stdout);
}

static void zsh_value(const struct argp_option *option) {
  OPC_SCOPED(opc_text_clear) opc_text_t words = {0};
  fputs("=[", stdout);
  put_zsh_text(option->doc ? option->doc : "");
  fputs("]:", stdout);
  put_zsh_text(option->arg);
  switch (value_kind_of(option->arg)) {
    case VALUE_FILES:
      fputs(":_files", stdout);
      break;
    case VALUE_FOLDERS:
      fputs(":_files -/", stdout);
      break;
    case VALUE_WORDS:
      add_value_words(&words, option);
      printf(":(%s)", opc_text_c(&words));
      break;
    case VALUE_CHECKS:
      add_check_names(&words);
      printf(":_values -s , check %s", opc_text_c(&words));
      break;
    default:
      fputs(": ", stdout);
  }
}

static void zsh_command(const char *command, const char *summary, const struct argp *argp, void *context) {
  OPC_SCOPED(opc_text_clear) opc_text_t words = {0};
  (void)summary;
  (void)context;
  add_argument_words(&words, argp);
  printf("  %s)\n    _arguments '--help[Give this help list]' '--usage[Give a short usage message]'", command);
  for (const struct argp_option *option = argp->options; option && !is_last_option(option); option++) {
    if (!is_listed_option(option)) continue;
    printf(" \\\n      '*--%s", option->name);
    if (option->arg) {
      zsh_value(option);
    } else {
      putchar('[');
      put_zsh_text(option->doc ? option->doc : "");
      putchar(']');
    }
    putchar('\'');
  }
  if (words.length) printf(" \\\n      '*:argument:{compadd -- %s; _files}'\n    ;;\n", opc_text_c(&words));
  else puts(" \\\n      '*:file:_files'\n    ;;");
}

static void zsh_name(const char *command, const char *summary, const struct argp *argp, void *context) {
  (void)argp;
  (void)context;
  printf("    '%s:", command);
  put_zsh_text(summary);
  puts("'");
}

static void print_zsh(void) {
  puts(
      "#compdef opcheck-c\n# zsh completion for opcheck-c, written by opcheck-c --completion zsh\n"
      "_opcheck_c() {\n  local -a commands=(");
  opc_commands_describe(zsh_name, NULL);
  puts(
      "  )\n  if ((CURRENT == 2)); then\n    _describe command commands\n    return\n  fi\n"
      "  local command=$words[2]\n  shift words\n  ((CURRENT--))\n  case $command in");
  opc_commands_describe(zsh_command, NULL);
  puts(
      "  esac\n}\nif [[ \"$funcstack[1]\" == _opcheck_c ]]; then _opcheck_c \"$@\"; else compdef _opcheck_c opcheck-c; "
      "fi");
}

int opc_completion_print(const char *shell) {
  if (strcmp(shell, "bash") == 0) print_bash();
  else if (strcmp(shell, "zsh") == 0) print_zsh();
  else {
    opc_complain("--completion %.40s: give bash or zsh", shell);
    return OPC_EXIT_USAGE;
  }
  return OPC_EXIT_OK;
}
