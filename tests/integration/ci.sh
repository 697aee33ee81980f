#!/usr/bin/env bash
# ci.sh SOURCE OPCHECK_C GOOD.so BROKEN.so FOLDER [PYTHON]: scripts/ci as GitHub and GitLab would run it. PYTHON may have check-jsonschema, whose schemas of
# actions and of GitLab's files it then asks.
# shellcheck disable=SC2016
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/../expect.sh"
ci="$1/scripts/ci" opcheck_c="$2" good="$3" broken="$4" folder="$5" python="${6:-}"
rm -rf "$folder"
mkdir -p "$folder/bin" "$folder/repository/build one"
ln -s "$opcheck_c" "$folder/bin/opcheck-c"
ln -s "$good" "$folder/repository/build one/libgood.so"
ln -s "$broken" "$folder/repository/build one/libbroken.so"
cd "$folder/repository"
unset GITHUB_ACTIONS GITHUB_STEP_SUMMARY OPCHECK_C_PACKAGE OPCHECK_C_OUTPUT OPCHECK_C_BASELINE
export PATH="$folder/bin:$PATH" OPCHECK_C_LIBRARIES="build one/libgood.so" OPCHECK_C_OPTIONS="--check 'registration,alias' --jobs 1"

quiet() { expect "$1" 0 "no:opcheck" "${@:2}"; } # a command that prints nothing

quiet "syntax" bash -n "$ci/opcheck.sh"
[[ -z "${OPC_SHELLCHECK:-}" ]] || quiet "shellcheck" "$OPC_SHELLCHECK" -S warning "$ci/opcheck.sh"

expect "what passes" 0 "PASSED: " "$ci/opcheck.sh" run
cp output log
expect "no annotations outside of GitHub" 0 "no:::error" cat log
for report in run.jsonl junit.xml opcheck-c.sarif quality.json report.html; do quiet "$report" test -s "opcheck-c-report/$report"; done

export OPCHECK_C_LIBRARIES=$'\n  build one/lib*.so  \n' OPCHECK_C_OUTPUT="out put"
export GITHUB_ACTIONS=true GITHUB_STEP_SUMMARY="$folder/summary.md"
expect "what fails, of several libraries" 1 "FAILED: " "$ci/opcheck.sh" run
cp output log
expect "annotations" 0 "::error " cat log
expect "the summary" 0 "### opcheck-c: " cat "$folder/summary.md"
expect "SARIF" 0 '"level":"error"' cat "out put/opcheck-c.sarif"
expect "code quality" 0 '"severity":"critical"' cat "out put/quality.json"

# A baseline: what it has does not fail the job, what it lacks does.
export OPCHECK_C_BASELINE="known problems.txt"
expect "a baseline that is not there" 2 "there is no file known problems.txt in $PWD; make it with opcheck-c run --write-baseline" "$ci/opcheck.sh" run
expect "the first baseline" 0 "known problems.txt" "$opcheck_c" run --check registration,alias --jobs 1 --write-baseline "$OPCHECK_C_BASELINE" "build one/libbroken.so"
expect "what is in the baseline" 0 "PASSED: " "$ci/opcheck.sh" run
cp output log
expect "no annotation of what is known" 0 "no:::error" cat log
expect "code quality of what is known" 0 "no:critical" cat "out put/quality.json"
sed -i '$d' "$OPCHECK_C_BASELINE"
expect "what the baseline lacks" 1 "FAILED: 1 problem" "$ci/opcheck.sh" run
unset OPCHECK_C_BASELINE

OPCHECK_C_LIBRARIES="gone/*.so" expect "a library that is not there" 2 "there is no file gone/*.so" "$ci/opcheck.sh" run
OPCHECK_C_LIBRARIES="" expect "no library" 2 "name at least one library" "$ci/opcheck.sh" run
OPCHECK_C_OPTIONS="--op 'x" expect "a quote that is not closed" 2 "a quote is not closed" "$ci/opcheck.sh" run
OPCHECK_C_LIBRARIES="build one/libgood.so" OPCHECK_C_OPTIONS=$' \n ' expect "blank options" 0 "PASSED: " "$ci/opcheck.sh" run
OPCHECK_C_OPTIONS="--strcit" expect "a wrong option" 2 "unknown option --strcit; did you mean --strict?" "$ci/opcheck.sh" run
expect "no word" 2 "usage: opcheck.sh install|run" "$ci/opcheck.sh"
printf 'file\n' >"$folder/file"
OPCHECK_C_OUTPUT="$folder/file/out" expect "a folder that cannot be made" 2 "cannot be made" "$ci/opcheck.sh" run

# A folder that vanishes during the run: its report is lost, the others are not.
vanish() {
  mkdir gone
  "$opcheck_c" run --check alias --sarif gone/r.sarif --tap kept.tap "build one/libgood.so" &
  until [[ -e gone/r.sarif ]]; do sleep 0.01; done
  rm -r gone
  wait $!
}
expect "a folder that vanishes" 3 "cannot write report gone/r.sarif: the folder gone does not exist; make it first" vanish
expect "the other report" 0 "ok 1 - " cat kept.tap

# pip, as a program that says what it was given.
printf '#!/bin/sh\necho "$@"\n' >"$folder/bin/python3"
chmod +x "$folder/bin/python3"
OPCHECK_C_PACKAGE="opcheck-c==9.9" expect "install" 0 "-m pip install --disable-pip-version-check opcheck-c==9.9" "$ci/opcheck.sh" install
rm "$folder/bin/opcheck-c"
expect "a command that is not on PATH" 0 "-m opcheck_c run --journal" "$ci/opcheck.sh" run
rm "$folder/bin/python3"

# What the two files call and hand over is what the script takes.
for name in PACKAGE LIBRARIES OPTIONS BASELINE OUTPUT; do
  for file in action.yml gitlab.yml opcheck.sh; do quiet "OPCHECK_C_$name in $file" grep -q "OPCHECK_C_$name" "$ci/$file"; done
done
for input in $(grep -oE 'inputs\.[a-z-]+' "$ci/action.yml" | sort -u); do quiet "$input" grep -q "^  ${input#inputs.}:" "$ci/action.yml"; done
for file in junit.xml quality.json; do quiet "$file in gitlab.yml" grep -q "OPCHECK_C_OUTPUT/$file" "$ci/gitlab.yml"; done
if [[ -n "$python" ]] && "$python" -c 'import check_jsonschema' 2>/dev/null; then
  expect "the schema of actions" 0 "ok" "$python" -m check_jsonschema --builtin-schema vendor.github-actions "$ci/action.yml"
  expect "the schema of GitLab's files" 0 "ok" "$python" -m check_jsonschema --builtin-schema vendor.gitlab-ci "$ci/gitlab.yml"
else
  echo "check-jsonschema is not there: the schemas were not asked (setup --full)"
fi
exit $((failures > 0))
