#!/usr/bin/env bash
# settings.sh OPCHECK_C BROKEN.so FOLDER: .opcheck-c.json, with the fixture of check alias, which has samples beside it.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/../expect.sh"
opcheck_c="$1" broken="$2" folder="$3"
rm -rf "$folder"
mkdir -p "$folder/project/csrc/deep" "$folder/project/checks"
cd "$folder/project/csrc/deep"
one=("$opcheck_c" run --jobs 1 --op returns_input --json report.json "$broken")

# settings <text>: the project's file
settings() { printf '%s\n' "$1" >"$folder/project/.opcheck-c.json"; }
# mistake <what> <text of the file> <line and column> <message>
mistake() {
  settings "$2"
  expect "$1" 2 "$folder/project/.opcheck-c.json:$3: $4" "${one[@]}"
}

expect "without a file" 1 "no:settings were read" "${one[@]}"
settings '{"checks": ["registration"], "severities": {"registration.no_meta_kernel": "warning"}}'
expect "the file of a folder above" 0 "settings were read from $folder/project/.opcheck-c.json" "${one[@]}"
expect "only its checks" 0 "no:/alias/" cat report.json
expect "the report has it" 0 '"settings": {"checks"' grep -o '"settings": {"checks"' report.json
expect "the command line wins" 1 "alias.input_returned" "${one[@]}" --check alias
printf '{}\n' >.opcheck-c.json
expect "the nearest file" 1 "settings were read from $PWD/.opcheck-c.json" "${one[@]}" --check alias
rm .opcheck-c.json

settings '{"format": "opcheck-c/settings/1", "checks": ["alias"], "severities": {"alias.input_returned": "warning"}}'
expect "an error becomes a warning" 0 "WARN  broken_alias::returns_input  alias.input_returned" "${one[@]}"
expect "and --strict counts it" 1 "FAILED" "${one[@]}" --strict
expect "the report says so" 0 'alias.input_returned: a warning' cat report.json
settings '{"checks": ["alias"], "severities": {"alias.input_returned": "off"}}'
expect "a rule that is off" 0 "PASSED" "${one[@]}" --strict
expect "is a skip" 0 '"reason":"off"' cat report.json
settings '{"checks": ["registration"], "severities": {"registration.no_meta_kernel": "error"}}'
expect "a warning becomes an error" 1 "FAIL  broken_alias::ok_copies_on_write  registration.no_meta_kernel" "${one[@]}" --op ok_copies_on_write

printf 'broken_alias::returns_input/alias/* known\n' >"$folder/project/checks/known.txt"
settings '{"checks": ["alias"], "xfail": "checks/known.txt"}'
expect "a path is relative to the file" 0 "PASSED" "${one[@]}"
expect "an update with a part of the checks" 2 'leave --op, --namespace, --check, --case and --shard out, and "checks" of .opcheck-c.json' "$opcheck_c" run --update-xfail "$broken"
expect "loses no line" 0 "known" cat "$folder/project/checks/known.txt"
printf '{"format": "opcheck-c/samples/1", "samples": [{"operator": "broken_alias::returns_input", "name": "mine", "args": [{"tensor": {"shape": [7]}}]}]}\n' \
  >"$folder/project/checks/my.samples.json"
settings '{"checks": ["alias"], "samples": ["checks/my.samples.json"]}'
expect "samples" 1 "/mine/plain" "${one[@]}"

mistake "an unknown key" $'{\n  "check": ["alias"]}' "2:3" 'check: no such field, did you mean "checks"?'
mistake "an unknown rule" '{"severities": {"alias.input_return": "off"}}' "1:17" 'severities["alias.input_return"]: no rule is called this, did you mean "alias.input_returned"?'
mistake "an unknown severity" '{"severities": {"alias.input_returned": "fatal"}}' "1:17" 'severities["alias.input_returned"]: expected "error", "warning" or "off", not "fatal"'
mistake "untrusted input" '{"severities": {"memory.unchecked_arguments": "error"}}' "1:17" 'severities["memory.unchecked_arguments"]: such input is an error only with --untrusted-input'
mistake "a pass that is not expected" '{"severities": {"xfail.unexpected_pass": "warning"}}' "1:17" 'severities["xfail.unexpected_pass"]: this is always an error: remove the line of the xfail file'
mistake "an unknown check" '{"checks": ["meta", "strid"]}' "1:21" 'checks[1]: no check is called "strid"; did you mean stride?'
mistake "a file that is not there" '{"samples": ["gone.json"]}' "1:14" 'samples[0]: gone.json: No such file or directory'
mistake "no list" '{"recipes": "one"}' "1:2" 'recipes: expected a list of strings, not "one"'
mistake "another format" '{"format": "opcheck-c/samples/1"}' "1:2" 'format: expected "opcheck-c/settings/1"'
mistake "no object" '[]' "1:1" 'expected an object of settings'
mistake "no JSON" '{"checks": [}' "1:13" "unexpected token"
mistake "a key twice" '{"checks": [], "checks": []}' "1:23" "duplicate object key"
exit $((failures > 0))
