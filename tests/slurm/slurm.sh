#!/usr/bin/env bash
# slurm.sh OPCHECK_C FIXTURES FOLDER: scripts/slurm/check on a real slurmctld and slurmd, which run on this machine alone. FIXTURES has libbroken_alias.so and
# libbroken_stride.so. Ends with 77 (skipped) where Slurm is not installed or does not start, or this is not root.
set -euo pipefail
opcheck=$1 fixtures=$2 folder=$3
here="$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)"
check="$here/../../scripts/slurm/check"
# shellcheck source=tests/slurm/cluster.sh
source "$here/cluster.sh"
# shellcheck source=tests/expect.sh
source "$here/../expect.sh"
skip() {
  echo "skipped: $*"
  exit 77
}
rm -rf "$folder"
mkdir -p "$folder"
cd "$folder"
export OPCHECK_C=$opcheck

# --- Without Slurm ------------------------------------------------------------------------------------------------------------------
mkdir "$folder/nothing"
for tool in bash dirname realpath env; do ln -s "$(command -v $tool)" "$folder/nothing/"; done
expect "without Slurm" 2 'there is no sbatch or squeue here' env PATH="$folder/nothing" bash "$check" submit "$folder/none" "$fixtures/libbroken_alias.so"

command -v slurmctld slurmd munged sbatch >/dev/null || skip "Slurm is not installed (scripts/setup --full)"
[[ $(id -u) -eq 0 ]] || skip "only root can start slurmd"
cluster="$(mktemp -d)"
trap 'cluster_stop "$cluster"; rm -rf "$cluster"' EXIT
cluster_start "$cluster" || skip "Slurm does not start here: $(tail -q -n 1 "$cluster"/*.log | tr '\n' ' ')"

wait_for_all() {
  for _ in $(seq 600); do
    [[ -z "$(squeue -h)" ]] && return 0
    sleep 0.2
  done
  squeue
  return 1
}

# --- One submission, one report -----------------------------------------------------------------------------------------------------
run="$folder/run"
libraries=("$fixtures/libbroken_alias.so" "$fixtures/libbroken_stride.so")
# shellcheck disable=SC2054 # commas between names of checks
options=(--device cpu --check registration,alias --no-search)
expect "a submission" 0 ': 4 of 4 parts;' "$check" submit "$run" --shards 2 --cpus 2 "${libraries[@]}" -- "${options[@]}"
wait_for_all
expect "its state" 0 '4 of 4 parts are done' "$check" state "$run"
expect "nothing is left to submit" 0 'nothing to submit: all 4 parts are done' "$check" submit "$run"
expect "another run in the same folder" 2 'has a run already' "$check" submit "$run" "${libraries[@]}"
tail -n 1 "$run/merge.txt" | grep -q '^FAILED: ' || { cat "$run/merge.txt" && exit 1; }
code=0
"$opcheck" run --json "$folder/whole.json" "${options[@]}" "${libraries[@]}" >/dev/null || code=$?
[[ $code -eq 1 ]]
same() {
  python3 - "$1" "$2" <<'END'
import json, sys
one, two = (json.load(open(name)) for name in sys.argv[1:])
for field in ("results", "problems"):
    keys = [sorted((item.get("case", item.get("id")), item.get("verdict"), item.get("rule")) for item in whole[field]) for whole in (one, two)]
    assert len(keys[0]) > 3 and keys[0] == keys[1], (field, set(keys[0]) ^ set(keys[1]))
assert one["summary"] == two["summary"] and one["run"]["complete"] and two["run"]["complete"]
END
}
same "$folder/whole.json" "$run/report.json"
[[ -s "$run/report.html" && -s "$run/report.txt" ]]

# --- A job that ends on the way -----------------------------------------------------------------------------------------------------
run="$folder/ended"
expect "the second submission" 0 'job' "$check" submit "$run" --shards 2 "${libraries[@]}" -- "${options[@]}"
wait_for_all
"$opcheck" run --journal whole.jsonl --shard 1/2 "${options[@]}" "${libraries[1]}" >/dev/null || true
rm "$run/parts/2.json"
grep -v '^{"t":"end"' whole.jsonl >"$run/parts/2.jsonl" # as a job leaves it that is killed
expect "the state after a job ended" 1 'stopped    part 1/2 of ' "$check" state "$run"
expect "its merge" 3 '2.jsonl stopped early: run it again' "$check" merge "$run"
grep -q '"complete": false' "$run/report.json"
expect "what is missing is submitted" 0 ': 1 of 4 parts;' "$check" submit "$run"
wait_for_all
same "$folder/whole.json" "$run/report.json"

# --- Killed while it runs -----------------------------------------------------------------------------------------------------------
run="$folder/killed"
expect "a submission that is cancelled" 0 'job' "$check" submit "$run" "$fixtures/libbroken_stride.so" -- --device cpu
for _ in $(seq 300); do
  [[ -s "$run/parts/0.jsonl" ]] && break
  sleep 0.1
done
scancel --user=root --name=opcheck-c
wait_for_all
expect "its state after that" 1 'stopped    part 1/1' "$check" state "$run"
expect "its merge after that" 3 '0.jsonl stopped early: run it again' "$check" merge "$run"

# --- What nodes and users get wrong -------------------------------------------------------------------------------------------------
run="$folder/gone"
cp "$fixtures/libbroken_alias.so" "$folder/libgone.so"
export SBATCH_HOLD=1
expect "a submission that is held" 0 'job' "$check" submit "$run" "$folder/libgone.so" -- "${options[@]}"
expect "its state while it waits" 1 'waiting    part 1/1' "$check" state "$run"
expect "nothing more to submit" 0 'nothing to submit' "$check" submit "$run"
unset SBATCH_HOLD
rm "$folder/libgone.so"
squeue -h -o %A | sort -u | xargs -n 1 scontrol release
wait_for_all
expect "a node without the library" 1 'a library could not be loaded' "$check" state "$run"
expect "its merge names it" 4 'failed.json could not load' "$check" merge "$run"
run="$folder/refused"
expect "a submission with a wrong option" 0 'job' "$check" submit "$run" "$fixtures/libbroken_alias.so" -- --check nothing
wait_for_all
expect "its state says refused" 1 'refused    part 1/1' "$check" state "$run"
expect "its merge has nothing" 2 'no part has any result' "$check" merge "$run"
expect "a partition that is not there" 2 'sbatch refused the jobs' env SBATCH_PARTITION=nowhere "$check" submit "$folder/partition" "$fixtures/libbroken_alias.so"
expect "no number of parts" 2 'give a whole number of parts' "$check" submit "$folder/shards" --shards many "$fixtures/libbroken_alias.so"
expect "no number of processors" 2 'give a whole number of processors' "$check" submit "$folder/shards" --cpus=0 "$fixtures/libbroken_alias.so"
expect "no such library" 2 'cannot read nowhere.so' "$check" submit "$folder/shards" nowhere.so
expect "a folder without a run" 2 'has no run' "$check" state "$folder/shards"
[[ $failures -eq 0 ]]
