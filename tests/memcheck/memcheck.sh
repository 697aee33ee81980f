#!/usr/bin/env bash
# Runs the reference operators under Valgrind, and the harness with them; fails on any error and on any block definitely lost.
#     memcheck.sh OPCHECK_C WORKER LIB
set -euo pipefail
tool=$1 worker=$2 library=$3
command -v valgrind >/dev/null || { echo "memcheck: valgrind is not installed: run scripts/setup"; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# opcheck-c starts the worker that lies beside it: here a script that does not tell the real one of the tool. Errors count everywhere then, and not only
# while an operator runs.
cp "$tool" "$folder/opcheck-c"
cat >"$folder/opcheck-worker" <<SCRIPT
#!/bin/sh
[ "\$1 \$2" = "--tool memcheck" ] || { echo "started without --tool memcheck: \$*"; exit 1; }
shift 2
exec "$worker" "\$@"
SCRIPT
chmod +x "$folder/opcheck-worker"

# Where an uninitialised value comes from costs a third more; opcheck-c run --tool memcheck says it where there is one.
status=0
VALGRIND_OPTS="--track-origins=no --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite" \
  "$folder/opcheck-c" run --tool memcheck --jobs 2 "$library" >"$folder/out" 2>&1 || status=$?
cat "$folder/out"
if [ "$status" -ne 0 ]; then
  echo "memcheck: opcheck-c ended with $status"
  exit 1
fi
# The worker and a child that ran cases at least have come to a clean end.
if ! grep -qE 'Valgrind watched ([2-9]|[1-9][0-9]+) processes to the end: 0 errors in 0 cases, 0 outside of cases' "$folder/out"; then
  echo "memcheck: errors or leaks (above)"
  exit 1
fi
