#!/usr/bin/env bash
# completion.sh OPCHECK_C FOLDER: what is made from the option tables: completions for bash and zsh, and the manual page. zsh, groff and mandoc are asked
# where they are installed.
set -euo pipefail
opcheck_c="$1" folder="$2"
source "$(dirname -- "${BASH_SOURCE[0]}")/../expect.sh"
rm -rf "$folder"
mkdir -p "$folder/work/sub folder"
cd "$folder/work"
touch libmy_ops.so "my report.json"
"$opcheck_c" --completion bash >../opcheck-c.bash
"$opcheck_c" --completion zsh >../_opcheck-c
"$opcheck_c" --man-page >../opcheck-c.1
export LC_ALL=C.UTF-8
commands="$("$opcheck_c" --help | sed -n 's/^  \([a-z]*\)  *[a-z].*/\1/p' | grep -v opcheck)"

# completes <what> <wanted, one a line> <word>…: the last word is completed.
completes() {
  local what="$1" wanted="$2" found
  shift 2
  found="$(
    source ../opcheck-c.bash
    compopt() { :; }
    COMP_WORDS=(opcheck-c "$@") COMP_CWORD=$#
    _opcheck_c
    printf '%s\n' "${COMPREPLY[@]}" | sort | paste -sd' '
  )"
  printf '%s\n' "$found" >found
  expect "$what" 0 "<$wanted>" sed 's/.*/<&>/' found
}
completes "a command" "record report" re
completes "an option" "--junit --junit-cases" run --juni
completes "a value after a blank" "cpu cuda cuda-sim" run --device c
completes "a value after =" "cuda cuda-sim" run --device = cu
completes "an empty value after =" "case operator" run --junit-cases =
completes "a language, not what comes after it" "cpp python" run --emit ""
completes "a check" "memory meta mutation" run --check m
completes "a check after a comma" "stride,memory stride,meta stride,mutation" run --check stride,m
completes "a library" "libmy_ops.so" run lib
completes "a file with a blank" "my report.json" report my
completes "a folder" "sub folder" run --torch s
completes "nothing for a number" "" run --seed l
completes "a rule" "stride.single_refused stride.view_outside stride.wrong_result" explain stride.
completes "an action" "render" report ren
completes "options of another command" "--require" inspect --req

# Every option of a command's help is in all three.
for command in $commands; do
  help="$("$opcheck_c" "$command" --help)"
  found="$(grep -oE '^ +(-., )?--[a-z-]+' <<<"$help" | grep -oE -- '--[a-z-]+' | grep -vE -- '--(help|usage|version)$' | sort -u || true)"
  for option in $found; do
    expect "bash: $command $option" 0 "$option" bash -c 'sed -n "/^  \"1 $1\")/,/^    ;;/p" ../opcheck-c.bash | grep -F -- " $2"' - "$command" "$option"
    expect "zsh: $command $option" 0 "$option" bash -c 'sed -n "/^  $1)/,/^    ;;/p" ../_opcheck-c | grep -F -- "*$2"' - "$command" "$option"
    expect "page: $command $option" 0 "" bash -c 'sed -n "/^.SS opcheck.-c $1\>/,/^.SS/p" ../opcheck-c.1 | sed "s/\\\\-/-/g" | grep -F -- "B$2"' - "$command" "$option"
  done
  expect "page: $command" 0 "$command" grep "^.B $command" ../opcheck-c.1
done

expect "another shell" 2 "--completion fish: give bash or zsh" "$opcheck_c" --completion fish
expect "no shell" 2 "give bash or zsh" "$opcheck_c" --completion
if command -v zsh >/dev/null; then
  expect "zsh's syntax" 0 "no:zsh" zsh -n ../_opcheck-c
  expect "zsh's completions" 0 '*--junit-cases=[' zsh -f -c 'compdef() { :; }; source ../_opcheck-c
    _arguments() { print -rl -- "$@"; }; words=(opcheck-c run ""); CURRENT=3; _opcheck_c'
fi
if command -v groff >/dev/null; then expect "groff" 0 "no:warning" groff -K utf8 -man -Tutf8 -ww -z ../opcheck-c.1; fi
if command -v mandoc >/dev/null; then expect "mandoc" 0 "no:ERROR" mandoc -T lint -W error ../opcheck-c.1; fi
exit $((failures > 0))
