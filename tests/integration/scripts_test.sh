#!/usr/bin/env bash
# scripts_test.sh <sources> <a folder to use>: the scripts without a network. A made-up libtorch stands in for the real one.
# shellcheck disable=SC2016,SC2317
set -euo pipefail
source_dir="$1" work="$2"
failures=0

check() { # <what> <command>…
  local what="$1"
  shift
  if "$@" >"$work/output" 2>&1; then
    printf 'ok    %s\n' "$what"
  else
    printf 'FAIL  %s\n' "$what"
    sed 's/^/      /' "$work/output"
    failures=$((failures + 1))
  fi
}
fails() { ! "$@"; }
prints() { # <text> <command>…: the command's output contains the text, whatever its status
  local text="$1"
  shift
  { "$@" || true; } 2>&1 | grep -F -- "$text"
}

rm -rf "$work"
mkdir -p "$work"
scripts=("$source_dir"/scripts/{setup,env,demo,test,lib.sh} "$source_dir/.ci/run")
for script in "${scripts[@]}"; do check "syntax of ${script##*/}" bash -n "$script"; done
[[ -z "${OPC_SHELLCHECK:-}" ]] || check "shellcheck" "$OPC_SHELLCHECK" -x -S warning "${scripts[@]}"

unset TORCH_ROOT PYTHON OPC_TORCH OPC_BUILD
export OPC_DEPS="$work/deps" OPC_CUDA=OFF
torch="$work/some torch"
mkdir -p "$torch/lib" "$torch/include/torch/headeronly"
touch "$torch/lib/libtorch_cpu.so" "$torch/lib/libc10.so" "$torch/include/torch/library.h"
printf '#define TORCH_VERSION_MAJOR 2\n#define TORCH_VERSION_MINOR 11\n' >"$torch/include/torch/headeronly/version.h"

check "env without setup fails" fails "$source_dir/scripts/env"
check "env without setup says what to do" prints "run scripts/setup first" "$source_dir/scripts/env"
check "setup refuses an unknown option" prints "usage:" "$source_dir/scripts/setup" --everything
check "env prints what a shell can read" bash -c \
  'eval "$(TORCH_ROOT="$1" "$2/scripts/env")" && [[ "$TORCH_ROOT" == "$1" && -z "${PYTHON:-}" ]]' - "$torch" "$source_dir"
check "setup takes the libtorch given" env TORCH_ROOT="$torch" "$source_dir/scripts/setup"
check "and notes it nowhere" fails "$source_dir/scripts/env"
check "setup refuses a version that nobody supports" prints "libtorch 2.5 is not supported" "$source_dir/scripts/setup" --torch=2.5
check "and a TORCH_ROOT of another version than was asked for" prints "libtorch 2.15 is asked for" env TORCH_ROOT="$torch" "$source_dir/scripts/setup" --torch=2.15
check "so does a build" prints "libtorch 2.15 is asked for" env TORCH_ROOT="$torch" OPC_TORCH=2.15 "$source_dir/scripts/env"
check "each version has a place of its own" bash -c \
  'OPC_TORCH=2.15; source "$1/scripts/lib.sh"; [[ "$OPC_VENV" == */venv-2.15 && "$OPC_BUILD" == */build/torch-2.15 && "$(opc_stamp_file full)" == */full-2.15 && "${OPC_PIP_FULL[0]}" == torch==2.15.0 ]]' - "$source_dir"
check "each version has what to install" bash -c \
  'source "$1/scripts/lib.sh"; for v in "${OPC_TORCH_SUPPORTED[@]}"; do [[ "${OPC_PIP_SMALL_OF[$v]}" == torch=="$v".* && "${OPC_PIP_FULL_OF[$v]}" == torch=="$v".* ]] || exit 1; done' - "$source_dir"
check "the small sets of all versions are installed at once, full ones are not" prints "one at a time" "$source_dir/scripts/setup" --full --torch=all
check "a smoke test is for another version than the default" prints "--smoke is for" "$source_dir/scripts/test" --smoke
printf '#define TORCH_VERSION_MAJOR 1\n#define TORCH_VERSION_MINOR 4\n' >"$torch/include/torch/headeronly/version.h"
check "setup refuses another version" prints "1.4, supported are" env TORCH_ROOT="$torch" "$source_dir/scripts/setup"
rm "$torch/lib/libc10.so"
check "setup refuses half a libtorch" prints "which has no lib/libc10.so" env TORCH_ROOT="$torch" "$source_dir/scripts/setup"

# What CTest prints where a test that failed showed another CTest's output.
printf '%s\n' '    Start 1: one' '    Start 2: two' '1/3 Test #2: two ........***Failed    1.50 sec' 'before' '1/1 Test #1: inner .....   Passed   77.00 sec' \
  '100% tests passed, 0 tests failed out of 1' 'behind' '    Start 3: three' '2/3 Test #3: three ......   Passed    0.25 sec' '3/3 Test #1: one ........   Passed   12.00 sec' '' \
  '66% tests passed, 1 tests failed out of 3' 'Total Test time (real) =  13.75 sec' '' 'The following tests FAILED:' '	  2 - two (Failed)' >"$work/ctest"
slowest() { "$source_dir/scripts/slowest" <"$work/ctest"; }
expected="$(sed '/^66%/,$d' "$work/ctest"; printf 'The slowest of 3 tests:\n    12.00 s  one\n     1.50 s  two\n     0.25 s  three\n\n'; sed -n '/^66%/,$p' "$work/ctest")"
check "the slowest tests come before CTest's own summary" diff <(slowest) <(printf '%s\n' "$expected")

exit "$((failures > 0))"
