#include "inspect/digest.h"
#include "supervise/session/session.h"

#include <fnmatch.h>
#include <stdlib.h>
#include <string.h>

#include "model/json/json_read.h"
#include "model/json/json_write.h"
#include "supervise/common/devices.h"

static opc_status_t select_checks(opc_session_t *session, opc_error_t *error) {
  const opc_run_options_t *options = session->options;
  for (size_t i = 0; i < options->check_count; i++) {
    if (opc_check_info_find(options->checks[i]) >= 0) continue;
    OPC_SCOPED(opc_text_clear) opc_text_t known = {0};
    for (size_t j = 0; j < opc_check_info_count; j++)
      opc_text_addf(&known, "%s%s", j > 0 ? ", " : "", opc_check_infos[j].name);
    opc_status_t status = opc_error_set(error, OPC_ERR_USAGE, "there is no check \"%s\"; there are %s",
                                        options->checks[i], opc_text_c(&known));
    return status;
  }
  for (size_t i = 0; i < opc_check_info_count; i++) {
    const opc_check_info_t *info = &opc_check_infos[i];
    /* compute-sanitizer needs each variant to be called once: check memory does that. */
    bool wanted =
        options->check_count == 0 && !session->has_only && (!options->sanitize || strcmp(info->name, "memory") == 0);
    for (size_t j = 0; j < options->check_count; j++) wanted |= strcmp(options->checks[j], info->name) == 0;
    if (session->has_only) wanted = strcmp(session->only.check, info->name) == 0;
    if (!wanted) continue;
    json_array_append_new(session->checks, json_string(info->name));
    session->calls |= info->calls;
  }
  if (session->has_only && json_array_size(session->checks) == 0) {
    return opc_error_set(error, OPC_ERR_USAGE, "--case %s: there is no check \"%s\"", options->case_id,
                         session->only.check);
  }
  return OPC_OK;
}

static void select_add_device(opc_session_t *session, const char *name) {
  size_t i;
  json_t *there;
  json_array_foreach(session->devices, i, there) {
    if (strcmp(json_string_value(there), name) == 0) return;
  }
  json_array_append_new(session->devices, json_string(name));
}

static opc_status_t select_devices(opc_session_t *session, opc_error_t *error) {
  const opc_run_options_t *options = session->options;
  const char *of_case = session->has_only && session->only.device[0] != '\0' ? session->only.device : NULL;
  bool cpu = options->device_count == 0, cuda = false, cuda_if_there = options->device_count == 0, simulated = false,
       all = false;
  for (size_t i = 0; i < options->device_count || (i == 0 && of_case); i++) {
    const char *name = of_case ? of_case : options->devices[i];
    if (of_case) cpu = cuda = cuda_if_there = simulated = all = false;
    if (strcmp(name, "cpu") == 0) cpu = true;
    else if (strcmp(name, "cuda") == 0) cuda = true;
    else if (strcmp(name, "cuda-sim") == 0) simulated = true;
    else if (strcmp(name, "all") == 0) cpu = cuda_if_there = all = true;
    else
      return opc_error_set(error, OPC_ERR_USAGE, "there is no device \"%s\"; there are cpu, cuda, cuda-sim and all",
                           name);
    if (of_case) break;
  }
  if (simulated && (cuda || all)) {
    return opc_error_set(error, OPC_ERR_USAGE,
                         "--device %s and cuda-sim do not go together: a CUDA library registers its kernels where it "
                         "loads, with the real runtime or with "
                         "the simulated one; make two runs of it",
                         cuda ? "cuda" : "all");
  }
  if (simulated && options->memcheck)
    return opc_error_set(error, OPC_ERR_USAGE, "--tool memcheck is for the CPU: leave --device cuda-sim out");
  if (options->cuda_architecture && !simulated) {
    return opc_error_set(error, OPC_ERR_USAGE,
                         "--cuda-arch is for the simulated devices: give --device cuda-sim with it");
  }
  if (cpu) select_add_device(session, "cpu");
  if (cuda || cuda_if_there) {
    opc_cuda_devices_t found;
    opc_cuda_devices_probe(&found);
    if (found.count > 0) select_add_device(session, "cuda");
    else if (cuda) json_object_set_new(session->absent, "cuda", opc_json_string(found.detail));
  }
  if (simulated) select_add_device(session, OPC_MODE_SIMULATED);
  return OPC_OK;
}

opc_status_t opc_select_plan(opc_session_t *session, opc_error_t *error) {
  session->checks = json_array();
  session->devices = json_array();
  session->absent = json_object();
  if (!session->checks || !session->devices || !session->absent) return opc_out_of_memory(error);
  if (session->options->case_id) {
    session->has_only = true;
    OPC_RETURN_IF_ERROR(opc_case_id_parse(session->options->case_id, &session->only, error));
    if (session->options->check_count > 0) {
      bool fits = false;
      for (size_t i = 0; i < session->options->check_count; i++)
        fits |= strcmp(session->options->checks[i], session->only.check) == 0;
      if (!fits)
        return opc_error_set(error, OPC_ERR_USAGE, "--case %s is not one of the checks of --check",
                             session->options->case_id);
    }
  }
  OPC_RETURN_IF_ERROR(select_checks(session, error));
  return select_devices(session, error);
}

static bool matches(const char *glob, const char *name) {
  if (fnmatch(glob, name, 0) == 0) return true;
  const char *part = strstr(name, "::");
  return part && !strstr(glob, "::") && fnmatch(glob, part + 2, 0) == 0;
}

typedef struct name_list {
  const char **names;
  size_t count; /* a NULL follows */
} name_list_t;

static void scope_names(name_list_t *list) { free(list->names); }

static opc_status_t names_of_loaded(const opc_loaded_t *loaded, name_list_t *out, opc_error_t *error) {
  const struct {
    const opc_operator_t *items;
    size_t count;
  } kinds[] = {{loaded->operators, loaded->operator_count},
               {loaded->class_operators, loaded->class_operator_count},
               {loaded->library_operators, loaded->library_operator_count}};
  size_t total = 1;
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++) total += kinds[k].count;
  out->names = calloc(total, sizeof *out->names);
  if (!out->names) return opc_out_of_memory(error);
  for (size_t k = 0; k < sizeof kinds / sizeof *kinds; k++)
    for (size_t i = 0; i < kinds[k].count; i++) out->names[out->count++] = kinds[k].items[i].name;
  return OPC_OK;
}

static const char *after_namespace(const char *name) {
  const char *colons = strstr(name, "::");
  return colons ? colons + 2 : name;
}

/* The name that a glob without a match may have been meant for; NULL: none is near. What all names have in common, a
 * namespace, does not make them near. */
static const char *nearest_name(const char *glob, const name_list_t *all) {
  char word[256];
  size_t length = 0;
  const char *part = after_namespace(glob);
  const bool spaced = part != glob;
  OPC_SCOPED(opc_scope_free) const char **parts = calloc(all->count + 1, sizeof *parts);
  OPC_SCOPED(opc_scope_free) const char **whole = calloc(all->count + 1, sizeof *whole);
  size_t count = 0;
  for (size_t i = 0; parts && whole && i < all->count; i++) {
    const char *own = after_namespace(all->names[i]);
    if (spaced && strncmp(all->names[i], glob, (size_t)(part - glob)) != 0 && glob[0] != '*') continue;
    whole[count] = all->names[i];
    parts[count++] = own;
  }
  const bool inside = count > 0; /* there is such a namespace: only the rest can be misspelt */
  for (const char *at = inside ? part : glob; *at && length + 1 < sizeof word; at++)
    if (!strchr("*?[]", *at)) word[length++] = *at;
  word[length] = '\0';
  if (length == 0) return NULL;
  const char *found = opc_json_nearest(word, inside ? parts : all->names);
  for (size_t i = 0; inside && found && i < count; i++)
    if (parts[i] == found) return whole[i];
  return found;
}

opc_status_t opc_select_tell_unmatched(const opc_session_t *session, opc_error_t *error) {
  const opc_run_options_t *options = session->options;
  OPC_SCOPED(scope_names) name_list_t all = {0};
  if (options->op_glob_count > 0) OPC_RETURN_IF_ERROR(names_of_loaded(&session->loaded, &all, error));
  for (size_t i = 0; i < options->op_glob_count; i++) {
    bool matched = all.count == 0; /* nothing was loaded, and that is said */
    for (size_t k = 0; k < all.count && !matched; k++) matched = matches(options->op_globs[i], all.names[k]);
    const char *nearest = matched ? NULL : nearest_name(options->op_globs[i], &all);
    if (!matched)
      OPC_RETURN_IF_ERROR(opc_journal_note(session->journal, error, "--op %s matches no operator%s%s%s",
                                           options->op_globs[i], nearest ? "; did you mean " : "",
                                           nearest ? nearest : "", nearest ? "?" : ""));
  }
  return OPC_OK;
}

/* True if any of the checks is of the operator's kind. When only classes are checked, no search and no case runs for an
 * operator. */
static bool has_check(const opc_session_t *session, const opc_operator_t *op) {
  size_t i;
  json_t *name;
  json_array_foreach(session->checks, i, name) {
    if (opc_check_info_is_of(&opc_check_infos[opc_check_info_find(json_string_value(name))], op)) return true;
  }
  return false;
}

bool opc_select_leaves_out(const opc_session_t *session, const opc_operator_t *op) {
  const opc_run_options_t *options = session->options;
  return op->imported_from && options->op_glob_count == 0 && options->namespace_count == 0 && !options->case_id;
}

bool opc_select_in_any_shard(const opc_session_t *session, const opc_operator_t *op) {
  const opc_run_options_t *options = session->options;
  if (!has_check(session, op) || opc_select_leaves_out(session, op)) return false;
  if (options->package && op->kind != OPC_OPERATOR_PACKAGE) return false;
  if (session->has_only && strcmp(session->only.operator_name, op->name) != 0) return false;
  bool wanted = options->op_glob_count == 0;
  for (size_t i = 0; i < options->op_glob_count && !wanted; i++) wanted = matches(options->op_globs[i], op->name);
  bool inside = options->namespace_count == 0;
  for (size_t i = 0; i < options->namespace_count && !inside; i++) {
    size_t length = strlen(options->namespaces[i]);
    inside = strncmp(op->name, options->namespaces[i], length) == 0 && strncmp(op->name + length, "::", 2) == 0;
  }
  return wanted && inside;
}

bool opc_select_operator(const opc_session_t *session, const opc_operator_t *op) {
  return (!session->shard || json_object_get(session->shard, op->name)) && opc_select_in_any_shard(session, op);
}

/* ---- shards ---- */

typedef struct share {
  const char *name;
  double seconds; /* expected; without a report of an earlier run in no unit */
} share_t;

typedef struct shares {
  share_t *items;
  size_t count;
} shares_t;

static void shares_clear(shares_t *shares) { free(shares->items); }

/* Inputs and their variants grow with the tensors. */
static double guess_seconds(const opc_operator_t *op) {
  double tensors = 0;
  for (size_t i = 0; i < op->argument_count; i++) tensors += opc_type_holds_tensor(&op->arguments[i].type);
  return 1 + tensors;
}

static double mean_seconds(const json_t *times) {
  const char *name;
  json_t *seconds;
  double sum = 0;
  json_object_foreach((json_t *)times, name, seconds) sum += json_number_value(seconds);
  return json_object_size(times) > 0 ? sum / (double)json_object_size(times) : 0;
}

static opc_status_t shares_add(const opc_session_t *session, const opc_operator_t *ops, size_t count, shares_t *shares,
                               opc_error_t *error) {
  const json_t *times = session->options->shard_times;
  for (size_t i = 0; i < count; i++) {
    if (!opc_select_in_any_shard(session, &ops[i])) continue;
    if (!OPC_ARRAY_GROW(shares->items, shares->count)) return opc_out_of_memory(error);
    const json_t *known = json_object_get(times, ops[i].name);
    const double seconds = known ? json_number_value(known) : times ? mean_seconds(times) : guess_seconds(&ops[i]);
    shares->items[shares->count++] = (share_t){ops[i].name, seconds};
  }
  return OPC_OK;
}

/* The longest first; of those that take as long, by name, so that all machines agree. */
static int compare_shares(const void *left, const void *right) {
  const share_t *one = left, *other = right;
  if (one->seconds != other->seconds) return one->seconds < other->seconds ? 1 : -1;
  return strcmp(one->name, other->name);
}

opc_status_t opc_select_shard(opc_session_t *session, opc_error_t *error) {
  const opc_run_options_t *options = session->options;
  const opc_loaded_t *loaded = &session->loaded;
  const size_t count = (size_t)options->shard_count;
  OPC_SCOPED(shares_clear) shares_t shares = {0};
  if (count <= 1) return OPC_OK;
  OPC_RETURN_IF_ERROR(shares_add(session, loaded->operators, loaded->operator_count, &shares, error));
  OPC_RETURN_IF_ERROR(shares_add(session, loaded->class_operators, loaded->class_operator_count, &shares, error));
  OPC_RETURN_IF_ERROR(shares_add(session, loaded->library_operators, loaded->library_operator_count, &shares, error));
  OPC_SCOPED(opc_text_clear) opc_text_t plan = {0};
  char digest[OPC_DIGEST_SIZE];
  OPC_SCOPED(opc_scope_free) double *sums = calloc(count, sizeof *sums);
  session->shard = json_object();
  if (!sums || !session->shard) return opc_out_of_memory(error);
  if (shares.count > 0) qsort(shares.items, shares.count, sizeof *shares.items, compare_shares);
  for (size_t i = 0; i < shares.count; i++) {
    size_t least = 0;
    if (i > 0 && strcmp(shares.items[i].name, shares.items[i - 1].name) == 0) continue;
    for (size_t k = 1; k < count; k++)
      if (sums[k] < sums[least]) least = k;
    sums[least] += shares.items[i].seconds;
    opc_text_addf(&plan, "%s %zu\n", shares.items[i].name, least);
    if ((int)least == options->shard_index - 1 &&
        json_object_set_new(session->shard, shares.items[i].name, json_null()) != 0)
      return opc_out_of_memory(error);
  }
  opc_digest_text(opc_text_c(&plan), digest);
  return opc_journal_write(session->journal,
                           json_pack("{s:s, s:i, s:i, s:s}", "t", "shard", "part", options->shard_index, "of",
                                     options->shard_count, "plan", digest),
                           error);
}
