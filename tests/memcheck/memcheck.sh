#!/usr/bin/env bash
# Runs opcheck-c with everything it starts under Valgrind; fails on any error and on any block definitely lost.
#     memcheck.sh VALGRIND OPCHECK_C LIB
set -euo pipefail
valgrind=$1 tool=$2 library=$3
[ -x "$valgrind" ] || { echo "memcheck: valgrind is not installed: run scripts/setup"; exit 1; }
folder=$(mktemp -d)
trap 'rm -rf "$folder"' EXIT

status=0
"$valgrind" --trace-children=yes --leak-check=full --show-leak-kinds=definite --errors-for-leak-kinds=definite \
  --log-file="$folder/%p.log" \
  "$tool" run --jobs 2 --timeout 600 --json "$folder/report.json" "$library" >"$folder/out" 2>&1 || status=$?
if [ "$status" -ne 0 ]; then
  echo "memcheck: opcheck-c ended with $status under Valgrind:"
  cat "$folder/out"
  tail -n 30 "$folder"/*.log
  exit 1
fi

logs=("$folder"/*.log)
# Parent, worker and at least one child that ran cases: fewer means that something was not watched.
if [ "${#logs[@]}" -lt 3 ]; then
  echo "memcheck: only ${#logs[@]} processes left a log; expected opcheck-c, its worker and children"
  exit 1
fi
bad=0
for log in "${logs[@]}"; do
  if ! grep -q 'ERROR SUMMARY: 0 errors' "$log"; then
    bad=1
    cat "$log"
  fi
done
[ "$bad" -eq 0 ] || exit 1
echo "memcheck: ${#logs[@]} processes, 0 errors, 0 bytes definitely lost"
