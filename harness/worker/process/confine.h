/* The sandbox of the children: isolation, so that an operator that deletes files, opens sockets or starts processes
 * harms nobody and is named. It is no boundary against an attacker.
 *
 * Three parts, each only if the kernel has it:
 *   Landlock (confine_files.c) refuses to write outside of some folders, whoever asks.
 *   A filter of system calls (confine_calls.c) reports those that create, write, rename or delete by name, open a
 *     network socket or start a process.
 *   The warden (warden.c), a process of its own, answers these reports: it allows or refuses, and writes what it
 * refused into the child's crash record. Each child inherits what was prepared before the fork, and enters the sandbox
 * by four system calls.
 *
 * Threads: one. Fork: opc_confine_open before any library under test is loaded. Programs that an operator executes are
 * held, too. */
#pragma once

#include <linux/filter.h>
#include <sys/types.h>

#include "base/text.h"
#include "wire/protocol.h"
#include "worker/loading/loading.h"

/* since: when the run began, in seconds since 1970. Starts the warden, and tries the sandbox in a process of its own.
 * Never fails: what is missing is in opc_confine_missing. */
void opc_confine_open(const opc_loading_t *loading, double since);
/* What the kernel, or a container, lacks, in words; "": nothing. */
const char *opc_confine_missing(void);
/* Puts this process into the sandbox, if opc_confine_open was called. crash_record: its memfd. */
opc_status_t opc_confine_enter(int crash_record, opc_error_t *error) OPC_CHECKED;

/* ---- folders ---- */

typedef enum opc_place {
  OPC_PLACE_OUTSIDE = 0,
  OPC_PLACE_FREE,      /* anything may be written there: the scratch folder, caches of compilers, some devices */
  OPC_PLACE_TEMPORARY, /* new files may be made, which go away with the worker; what is older than the run stays */
  OPC_PLACE_OF_MODULE  /* of a Python module: new files may be made, and are kept, such as what it compiles */
} opc_place_t;

void opc_places_find(const opc_loading_t *loading);
/* path: absolute, without symbolic links. */
opc_place_t opc_place_of(const char *path);
/* Calls visit with every place, which exists. */
void opc_places_visit(void (*visit)(const char *path, opc_place_t place, void *context), void *context);

/* A ruleset for the places, -1: the kernel has no Landlock (see errno). */
int opc_landlock_open(void);
bool opc_landlock_enter(int ruleset);

/* ---- system calls ---- */

typedef enum opc_call_verb {
  OPC_CALL_OPENS,   /* a file; the argument behind its path has the flags */
  OPC_CALL_CHANGES, /* a file, through symbolic links */
  OPC_CALL_MAKES,   /* a name */
  OPC_CALL_REMOVES,
  OPC_CALL_RENAMES, /* the first name to the second */
  OPC_CALL_CONNECTS,
  OPC_CALL_FORKS
} opc_call_verb_t;

typedef struct opc_confined_call {
  int number; /* negative: this architecture has no such call */
  opc_call_verb_t verb;
  const char *words; /* "delete" */
  struct opc_confined_path {
    signed char folder, path; /* indices of arguments; folder -1: the working directory */
  } paths[2];                 /* the second has path -1 if there is one */
} opc_confined_call_t;

/* NULL: the call is not reported. */
const opc_confined_call_t *opc_confined_call(int number);
/* Makes the filter for this process and its children. False: *why says what is missing. */
bool opc_filter_make(struct sock_fprog *out, const char **why);
/* Enters the filter; the descriptor of its reports, -1: see errno. */
int opc_filter_enter(const struct sock_fprog *filter);

/* ---- the warden ---- */

/* Starts it; its socket, -1: see errno. */
int opc_warden_start(double since);
/* Sends it the reports of this process. False: it is gone. */
bool opc_warden_send(int warden, int reports, int crash_record);
