#!/usr/bin/env bash
# stable.sh OPCHECK_C LIBRARY COUNT FOLDER: a library of the stable interface, at the gate and with every libtorch. COUNT: of those with a worker, from 2.7 on.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/../expect.sh"
opcheck_c="$1" library="$2" count="$3" folder="$4"
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"

expect "it keeps to the interface" 0 "it registers through the stable interface; loads into libtorch 2.7 and newer" "$opcheck_c" inspect --require stable-abi=2.7,cuda=13,cxx11abi "$library"
expect "which is younger than 2.6" 1 "aoti_torch_library_impl (since libtorch 2.7)" "$opcheck_c" inspect --require stable-abi=2.6 "$library"
expect "it is checked as any other" 0 "PASSED: 1 of 1" "$opcheck_c" run --check alias,mutation "$library"
if [[ "$count" -gt 1 ]]; then
  expect "every libtorch finds the same" 0 "PASSED: $count libtorches, 0 differences" "$opcheck_c" run --torch all --check alias,mutation --json report.json "$library"
  expect "in reports of their own" 0 "$count" sh -c 'ls report.torch-*.json | grep -vc found-samples'
  interrupted() { # while the first libtorch loads: the others do not start
    rm -f interrupted.txt
    "$opcheck_c" run --torch all "$library" >interrupted.txt 2>&1 &
    until grep -qs "^libtorch " interrupted.txt; do sleep 0.02; done
    kill -TERM $!
    wait $! || local code=$?
    echo "started: $(grep -c "^libtorch " interrupted.txt)"
    cat interrupted.txt
    return "${code:-0}"
  }
  expect "an interrupt ends all of them" 3 "started: 1" interrupted
  expect "which is no pass" 3 "INCOMPLETE: interrupted: 1 of $count libtorches" interrupted
  expect "every libtorch lists the same" 0 "PASSED: $count libtorches, 0 differences" "$opcheck_c" list --torch all "$library"
  expect "an option that is wrong for all" 2 "no check is called" "$opcheck_c" run --torch all --check alais "$library"
else
  expect "one libtorch is not all" 2 "and nothing to compare" "$opcheck_c" run --torch all "$library"
fi
expect "one JSON report is of one libtorch" 2 "with --format json: leave one out" "$opcheck_c" list --torch all --format json "$library"
expect "a Python has its own" 2 "whose torch is the libtorch" "$opcheck_c" run --torch all --python json "$library"

# Builds of the kernel hub: the one for this libtorch and processor, and one for the stable interface.
machine="$(uname -m)-linux"
mkdir -p "hub/torch-stable-abi27-cpu-$machine/mine" "hub/torch-stable-abi27-cpu-riscv64-linux/mine" "hub/torch19-cxx11-cpu-$machine/mine"
for build in hub/*/mine; do cp "$library" "$build/mine.so"; done
expect "of the hub's builds the one that fits" 0 "there are 3 builds of it; this is the one in the folder torch-stable-abi27-cpu-$machine, for the stable interface of libtorch 2.7" \
  "$opcheck_c" list hub
exit "$((failures > 0))"
