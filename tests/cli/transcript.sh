#!/usr/bin/env bash
# transcript.sh OPCHECK_C GOLDEN [NAME=VALUE…]: runs the commands of a golden and compares what they print with what it holds.
#
# A golden is a transcript: lines that begin with "$ " are commands (for bash, in tests/cli/data, with opcheck-c on PATH), what follows is their output,
# lines of stderr marked "2> ", and "exit N" where that is not 0. Lines that begin with "# " are kept as they are.
# NAME=VALUE sets a variable for the commands; VALUE is shown as $NAME in the output.
# With OPC_BLESS=1 in the environment the golden is rewritten instead: `OPC_BLESS=1 ctest -L cli`, then look at the difference.
set -euo pipefail
opcheck_c="$(realpath "$1")" golden="$(realpath "$2")"
shift 2
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
folder="$(mktemp -d)"
trap 'rm -rf "$folder"' EXIT
unset COLUMNS NO_COLOR CLICOLOR_FORCE ARGP_HELP_FMT
mkdir "$folder/bin" "$folder/tmp"
ln -s "$opcheck_c" "$folder/bin/opcheck-c"
export LC_ALL=C TERM=dumb TMPDIR="$folder/tmp" PATH="$folder/bin:$PATH"
cd "$here/data"

# What differs from machine to machine and from run to run.
normalise=(-e "s#$folder/bin/##g" -e "s#$folder#FOLDER#g" -e 's#in [0-9.]+ s$#in N s#' -e 's#opcheck-c-[A-Za-z0-9]{6}\.jsonl#opcheck-c-XXXXXX.jsonl#')
for assignment in "$@"; do
  export "${assignment?}"
  normalise+=(-e "s#${assignment#*=}#\$${assignment%%=*}#g")
done

while IFS= read -r line; do
  case "$line" in
    "# "*) printf '%s\n' "$line" ;;
    "$ "*)
      printf '%s\n' "$line"
      status=0
      bash -c "${line#"$ "}" >"$folder/out" 2>"$folder/err" </dev/null || status=$?
      sed -E "${normalise[@]}" "$folder/out"
      sed -E "${normalise[@]}" -e 's/^/2> /' "$folder/err"
      [[ "$status" == 0 ]] || printf 'exit %d\n' "$status"
      ;;
  esac
done <"$golden" >"$folder/transcript"

left="$(ls "$folder/tmp")"
[[ -z "$left" ]] || printf '# left in TMPDIR: %s\n' "$(sed -E "${normalise[@]}" <<<"$left")" >>"$folder/transcript"

if [[ "${OPC_BLESS:-0}" == 1 ]]; then
  cp "$folder/transcript" "$golden"
else
  diff -u --label "$golden" "$golden" --label "this build" "$folder/transcript" || {
    printf "\nIf that is as it should be, run: OPC_BLESS=1 ctest --test-dir build -L cli, and read the difference.\n"
    exit 1
  }
fi
