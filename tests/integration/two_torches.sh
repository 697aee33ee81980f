#!/usr/bin/env bash
# two_torches.sh OPCHECK_C VERSION LIBRARY OTHER_VERSION OTHER_LIBRARY OTHER_ROOT FOLDER: the reference operators built for two libtorches, each with its worker.
set -euo pipefail
opcheck_c="$1" version="$2" library="$3" other_version="$4" other_library="$5" other_root="$6" folder="$7"
failures=0
mkdir -p "$folder"
report="$folder/report.json"

# expect <what> <exit status> <text of the report> <argument>…: --json and `run` are added
expect() {
  local what="$1" wanted="$2" text="$3" status=0
  shift 3
  rm -f "$report"
  "$opcheck_c" run --json "$report" "$@" >"$folder/output" 2>&1 || status=$?
  if [[ "$status" == "$wanted" ]] && grep -qF -- "$text" "$report"; then
    printf 'ok    %s\n' "$what"
  else
    printf 'FAIL  %s: exit status %d, expected %d and "%s"\n' "$what" "$status" "$wanted" "$text"
    sed 's/^/      /' "$folder/output"
    failures=$((failures + 1))
  fi
}

case_of() { # the first case of the last report that passed
  sed -nE 's#.*"case": *"([^"]*/alias/[^"]*)".*#\1#p' "$report" | sed -n 1p
}

expect "a library for $version" 0 "\"torch\": \"$version." "$library"
one_case="$(case_of)"
expect "a library for $other_version" 0 "\"torch\": \"$other_version." "$other_library"
expect "one case of it" 0 "\"torch\": \"$other_version." --case "$one_case" "$other_library"
expect "with that libtorch named" 0 "\"torch\": \"$other_version." --torch "$other_root" "$other_library"
expect "both: one goes into a run of its own" 4 "built for libtorch $other_version, and the other libraries of this command line for $version" "$library" "$other_library"
expect "a library for $version with the other libtorch named" 4 "undefined symbol" --torch "$other_root" "$library"
exit "$((failures > 0))"
