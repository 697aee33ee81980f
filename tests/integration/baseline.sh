#!/usr/bin/env bash
# baseline.sh OPCHECK_C LIBRARY MOVED SAMPLES FOLDER: a maintainer with old problems. MOVED is the same library in another folder, whose lines have moved.
set -euo pipefail
source "$(dirname -- "${BASH_SOURCE[0]}")/../expect.sh"
opcheck_c="$1" library="$2" moved="$3" samples="$4" folder="$5"
rm -rf "$folder"
mkdir -p "$folder/elsewhere"
cd "$folder"
run=("$opcheck_c" run --device cpu --neighbours 0 --samples "$samples")
count() { echo "count $(grep -cE "$@" || true)"; }
wrong() { grep -B1 '<failure' new.xml; }
same() { cmp "$1" "$2" && echo same; }
# FILE COMMAND…: somebody edits the file while the command runs.
editing() {
  while touch "$1"; do sleep 0.02; done &
  local editor=$! code=0
  "${@:2}" || code=$?
  kill "$editor"
  return "$code"
}

expect "the problems are there" 1 "FAILED: 5 problems" "${run[@]}" "$library"
expect "one command writes the baseline" 0 "known.txt: written, with " "${run[@]}" --json old.json --write-baseline known.txt "$library"
cp output last
expect "all are known then" 0 "5 known problems" tail -1 last
expect "one cause a line" 0 "baseline_ops::past memory.out_of_bounds_read  " cat known.txt
expect "without lines of code" 1 no:baseline_ops.cpp: grep baseline_ops.cpp: known.txt
expect "the next run is green" 0 "PASSED: 8 of 8 operators and classes checked" "${run[@]}" --baseline known.txt --strict --html green.html --journal green.jsonl "$library"
expect "so is its page" 0 '<span class="verdict">PASSED</span>' cat green.html
expect "and one of the journal" 0 no:opcheck-c "$opcheck_c" report render --html again.html green.jsonl
expect "which is green, too" 0 '<p class="lead">8 of 8 operators and classes checked, by ' cat again.html
expect "and counts them" 0 ' checks; 5 known problems</p>' cat again.html

# Parts of the run: a registration has a line for each operator, a function has one.
part=("${run[@]}" --baseline known.txt --strict --check registration,memory)
expect "a line for each operator" 0 "count 2" count 'baseline_ops::bare(_too)? registration.no_meta_kernel$' known.txt
for op in bare bare_too past past_too; do
  expect "$op alone is known" 0 "PASSED: 1 of 1 operators and classes checked; 1 known problem" "${part[@]}" --op "*::$op" "$library"
done
for shard in 1/2 2/2; do
  expect "shard $shard is green" 0 "PASSED: 4 of 4 operators and classes checked; " "${part[@]}" --shard "$shard" "$library"
done
expect "another operator is new" 1 "WARN  baseline_ops::fresh  registration.no_meta_kernel" env BASELINE_OPS=no_meta "${part[@]}" --check registration "$library"
cp output last
expect "and named alone" 0 "1 problem (1 warning) in 1 operator; 8 of 8 operators and classes checked; 5 known problems" tail -1 last
expect "without those that are known" 0 no:bare cat last

# Other seeds, folders, lines and numbers of cases: the same file.
expect "another build elsewhere" 0 "known problems" env -C elsewhere "${run[@]}" --seed 77 --neighbours 40 --json "$folder/moved.json.zst" --baseline "$folder/known.txt" "$moved"
expect "has the same ids" 0 "NOT WORSE: the same problems" "$opcheck_c" report compare old.json moved.json.zst
expect "and writes it" 0 "written, with" env -C elsewhere "${run[@]}" --seed 5 --write-baseline moved.txt "$moved"
expect "byte for byte" 0 same same known.txt elsewhere/moved.txt

# A new defect is the only one that is shown.
expect "a new defect" 1 "FAIL  baseline_ops::fresh  memory.out_of_bounds_read" env BASELINE_OPS=fresh "${run[@]}" --baseline known.txt --json new.json --junit new.xml --journal new.jsonl "$library"
cp output last
expect "is the only one" 0 "count 1" count '^(FAIL|ERROR|WARN) ' last
expect "in JUnit" 0 no:dense wrong
expect "which has it" 0 'name="baseline_ops::fresh/memory"' wrong
expect "where known ones are skipped" 0 '<skipped type="known" message="known: in the baseline known.txt (problem ' cat new.xml
expect "and in JSON" 0 '"by": "baseline"' cat new.json
expect "and in a report of the journal" 1 no:baseline_ops::writes "$opcheck_c" report compare old.json new.jsonl
expect "compare names it alone" 1 "WORSE: 1 new" "$opcheck_c" report compare old.json new.json

# What is fixed is reported, and can be dropped.
expect "an old one is fixed" 0 "not found any more" env BASELINE_OPS=fixed "${run[@]}" --baseline known.txt --json fixed.json "$library"
expect "which is an error with --strict" 1 "FAILED: a line of known problems is out of date (--strict)" env BASELINE_OPS=fixed "${run[@]}" --strict --baseline known.txt --html fixed.html --sarif fixed.sarif "$library"
expect "on the page" 0 '<p class="lead">a line of known problems is out of date (--strict); ' cat fixed.html
expect "and in SARIF" 0 '"harness.outdated_line"' cat fixed.sarif
expect "in a whole run only" 0 "PASSED" env BASELINE_OPS=fixed "${run[@]}" --strict --check registration --baseline known.txt "$library"
expect "compare says so" 0 "FIXED   baseline_ops::dense  memory.out_of_bounds_read" "$opcheck_c" report compare old.json fixed.json
env BASELINE_OPS=refuses "${run[@]}" --op "*::refuses" --json refuses.json "$library" >/dev/null || true
expect "refusing is a fix" 0 "its input is refused, and nothing is found" "$opcheck_c" report compare old.json refuses.json
"${run[@]}" --check registration --json less.json "$library" >/dev/null || true
expect "not looking is none" 0 "GONE    baseline_ops::dense  memory.out_of_bounds_read" "$opcheck_c" report compare old.json less.json
cp known.txt shorter.txt
expect "an edited file stays" 0 "shorter.txt: not written: a file of known failures was edited during the run" editing shorter.txt env BASELINE_OPS=fixed "${run[@]}" --baseline shorter.txt --write-baseline shorter.txt "$library"
expect "as it is" 0 same same known.txt shorter.txt
expect "the line is dropped" 0 "shorter.txt: 1 line removed" env BASELINE_OPS=fixed "${run[@]}" --strict --baseline shorter.txt --write-baseline shorter.txt "$library"
expect "that line" 1 "< $(grep ::dense known.txt)" diff known.txt shorter.txt
expect "and no other" 0 same same <(grep -v ::dense known.txt) shorter.txt
expect "new ones are not added" 1 "no line is out of date" env BASELINE_OPS=fresh "${run[@]}" --op "*::fresh" --baseline known.txt --write-baseline known.txt "$library"
expect "to a baseline that is checked" 0 same same known.txt elsewhere/moved.txt

# Known failures with a date, or by the id of a problem.
id="$(grep ::dense known.txt | cut -d' ' -f1)"
printf '# why\n\nproblem=%s  issue 7\nbaseline_ops::writes/* rule=mutation.undeclared expires=2999-12-31 issue 8\nbaseline_ops::gone/* issue 9\n' "$id" >xfail.txt
few=("${run[@]}" --check stride,memory,mutation --op '*::dense' --op '*::writes')
expect "a problem by its id" 0 "PASSED: 2 of 2 operators and classes checked; 1 known problem" "${few[@]}" --xfail xfail.txt "$library"
sed 's/  issue 7/ expires=2020-01-31 issue 7/; s/2999/2020/' xfail.txt >late.txt
expect "a line that has expired" 1 "line 3 of late.txt expired on 2020-01-31" "${few[@]}" --xfail late.txt "$library"
cp output last
expect "of cases" 0 "line 4 of late.txt expired on 2020-12-31" cat last
cp xfail.txt crash.txt
expect "what is fixed goes" 1 "xfail.txt: 2 lines removed" env BASELINE_OPS=sound "${run[@]}" --xfail xfail.txt --update-xfail "$library"
expect "and the rest stays" 0 same same xfail.txt <(printf '# why\n\nbaseline_ops::writes/* rule=mutation.undeclared expires=2999-12-31 issue 8\n')
expect "a crash may hide the problem" 1 "crash.txt: 1 line removed" env BASELINE_OPS=fixed "${run[@]}" --xfail crash.txt --update-xfail "$library"
expect "whose line stays" 0 "count 1" count '^problem=' crash.txt

# --update-xfail leaves a line that another run may need: with other samples, a search, or more time.
grep -v baseline_ops::dense "$samples" >few.samples.json
few=("$opcheck_c" run --device cpu --neighbours 0 --no-search --samples few.samples.json)
printf '%s issue 10\n' 'baseline_ops::writes/memory/cpu/-/large/plain' 'baseline_ops::dense/*' 'baseline_ops::*/stride/cpu/-/small/x.odd' 'gone::*' 'baseline_ops::refuses/*' >kept.txt
cp kept.txt before.txt
expect "lines that a run may need" 1 "kept.txt: 2 lines removed" env BASELINE_OPS=refuses "${few[@]}" --xfail kept.txt --update-xfail "$library"
cp output last
expect "stay" 0 same same kept.txt <(head -3 before.txt)
expect "no case" 0 'before.txt:1: "baseline_ops::writes/memory/cpu/-/large/plain" matched no case of this run; --update-xfail leaves it' sed 's/kept.txt/before.txt/' last
expect "no sample" 0 'kept.txt:2: cases that "baseline_ops::dense/*" matches pass, and others could not be tried in this run: the line stays' cat last
expect "a line that stays is an error with --strict" 1 'large/plain" matched no case of this run, which is an error with --strict; --update-xfail leaves it' "${few[@]}" --strict --xfail kept.txt --update-xfail "$library"
printf 'problem=%s issue 7\n' "$id" >kept.txt
expect "a problem of an operator that has no samples" 1 "kept.txt: no line is out of date" env BASELINE_OPS=fixed "${few[@]}" --xfail kept.txt --update-xfail "$library"
printf '{"format": "opcheck-c/samples/1", "samples": []}\n' >none.samples.json
cp known.txt kept.txt
expect "a run of nothing" 5 "kept.txt: not written: " "$opcheck_c" run --device cpu --no-search --samples none.samples.json --baseline kept.txt --write-baseline kept.txt "$library"
expect "loses no line" 0 same same known.txt kept.txt

# A baseline that cannot be written: the reports are written nevertheless, and nothing is known.
vanish() {
  mkdir gone
  "${run[@]}" --check memory --write-baseline gone/known.txt --json lost.json "$library" &
  until [[ -e lost.json ]]; do sleep 0.01; done
  rm -r gone
  wait $!
}
expect "a folder that vanishes" 3 "gone/known.txt: not written" vanish
cp output last
expect "is named" 0 "cannot write report gone/known.txt: the folder gone does not exist; make it first" cat last
expect "the report is whole" 0 '"complete": true' cat lost.json
expect "with new problems" 0 no:'"by": "baseline"' cat lost.json

# Mistakes.
expect "no baseline" 2 "--baseline nowhere.txt: No such file" "${run[@]}" --baseline nowhere.txt "$library"
echo "$id  memory.out_of_bounds_read" >bad.txt
expect "a mistake in it" 2 "bad.txt:1:19: the operator, as my_ops::scale, comes after the id" "${run[@]}" --baseline bad.txt "$library"
expect "no folder for it" 3 "--write-baseline nowhere/known.txt: its folder cannot be written" "${run[@]}" --write-baseline nowhere/known.txt "$library"
expect "the same file twice" 2 "another option writes this file" "${run[@]}" --json x --write-baseline x "$library"
expect "the xfail file as baseline" 2 "--write-baseline ./xfail.txt: this is the file of --xfail" "${run[@]}" --xfail xfail.txt --write-baseline ./xfail.txt "$library"
expect "an update of nothing" 2 "--update-xfail: give the file" "${run[@]}" --update-xfail "$library"
expect "an update of a part" 2 "needs a run of all operators and checks" "${run[@]}" --xfail xfail.txt --update-xfail --op x "$library"
expect "a list of cases" 2 "--list-cases runs nothing: leave --write-baseline out" "${run[@]}" --list-cases --write-baseline x "$library"
cp known.txt kept.txt
expect "a library that is gone" 4 "kept.txt: not written" "${run[@]}" --write-baseline kept.txt --check registration "$library" nowhere.so
expect "loses no baseline" 0 same same known.txt kept.txt
exit "$((failures > 0))"
