#!/usr/bin/env bash
# without_gpu.sh SOURCE: scripts/gpu-suite without a GPU ends with 77, says so, and builds nothing.
set -euo pipefail
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
fail() {
  echo "FAILED: $*"
  cat "$folder/said"
  exit 1
}
status=0
# No device is visible, whatever there is: what the driver's own variable hides, cuInit does not find.
OPC_BUILD="$folder/build" CUDA_VISIBLE_DEVICES='' "$1/scripts/gpu-suite" "$folder/out" >"$folder/said" 2>&1 || status=$?
[[ "$status" == 77 ]] || fail "exit status $status, expected 77"
grep -q 'no GPU: ' "$folder/said" || fail "it does not say why"
grep -q 'nothing was built and nothing was run' "$folder/said" || fail "it does not say that nothing was run"
[[ ! -e "$folder/build" && ! -e "$folder/out/summary.md" ]] || fail "it left something"
status=0
"$1/scripts/gpu-suite" --unknown >"$folder/said" 2>&1 || status=$?
[[ "$status" == 2 ]] || fail "exit status $status of a wrong option, expected 2"
status=0
mkdir "$folder/full" && touch "$folder/full/mine"
"$1/scripts/gpu-suite" "$folder/full" >"$folder/said" 2>&1 || status=$?
[[ "$status" == 2 && -e "$folder/full/mine" ]] || fail "exit status $status for a folder with other files in it, expected 2 and the files left"
