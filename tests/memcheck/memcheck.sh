#!/usr/bin/env bash
# Runs a worker and every child it forks under Valgrind, over a whole run; fails on any error and on any block definitely lost.
#     memcheck.sh VALGRIND OPCHECK_C WORKER LIB
set -euo pipefail
valgrind=$1 tool=$2 worker=$3 library=$4
[ -x "$valgrind" ] || { echo "memcheck: valgrind is not installed: run scripts/setup"; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

# opcheck-c starts the worker that lies beside it: here a script that puts Valgrind in front of the real one.
cp "$tool" "$folder/opcheck-c"
stubs="$(dirname "$worker")/../lib/opcheck-c"
cat >"$folder/opcheck-worker" <<SCRIPT
#!/bin/sh
exec "$valgrind" --trace-children=yes --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \\
  --log-file="$folder/%p.log" "$worker" --stub-folder "$stubs" "\$@"
SCRIPT
chmod +x "$folder/opcheck-worker"

status=0
"$folder/opcheck-c" run --jobs 2 --timeout 600 --memory 16384 --json "$folder/report.json" "$library" >"$folder/out" 2>&1 || status=$?
if [ "$status" -ne 0 ]; then
  echo "memcheck: opcheck-c ended with $status:"
  cat "$folder/out"
  tail -n 30 "$folder"/*.log
  exit 1
fi

# The worker and at least one child that ran cases must have come to a clean end. One process more has no end in its log: the janitor of the
# working directories, which closes every descriptor that it inherits, the log's too.
clean=0 unended=0
for log in "$folder"/*.log; do
  if grep -q 'ERROR SUMMARY: 0 errors' "$log"; then
    clean=$((clean + 1))
  elif grep -qE 'ERROR SUMMARY|Invalid (read|write)|uninitialised' "$log" || [ "$unended" -eq 1 ]; then
    cat "$log"
    exit 1
  else
    unended=1
  fi
done
if [ "$clean" -lt 2 ]; then
  echo "memcheck: only $clean processes came to a clean end; expected the worker and its children"
  exit 1
fi
tail -n 4 "$folder/out"
echo "memcheck: $clean processes, 0 errors, 0 bytes definitely lost"
