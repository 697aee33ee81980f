"""How a run scales with --jobs, for scripts/bench: the same operators with 1, 2, 4 and 8 jobs, in one run. Standard library only."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

JOBS = (1, 2, 4, 8)
ENDS = (0, 1)  # nothing found, findings
FIXTURES = ("alias", "mutation")


def work_list(python, build):
    """torchvision's libraries, whose inputs are searched, and broken operators with samples."""
    code = "import importlib.util; print(importlib.util.find_spec('torchvision').submodule_search_locations[0])"
    found = subprocess.run([python, "-c", code], capture_output=True, text=True, check=False)
    if found.returncode != 0:
        sys.exit("bench: --scale needs torchvision: run scripts/setup --full first")
    package = pathlib.Path(found.stdout.strip())
    return [*(str(package / name) for name in ("_C.so", "image.so")), *(str(build / f"fixtures/libbroken_{name}.so") for name in FIXTURES)]


def end_of(journal):
    """The last record of a journal."""
    with open(journal, encoding="utf-8") as stream:
        record = json.loads(stream.readlines()[-1])
    if record.get("t") != "end" or not record["complete"]:
        sys.exit("bench: a run broke off")
    return record


def row(jobs, end, first):
    """A line of the table: the wall seconds, their ratio to those with one job, and the share in which jobs were idle."""
    share = 100 * end["idle_seconds"] / end["job_seconds"] if end["job_seconds"] else 0
    return f"{jobs:>6}{end['seconds']:>10.1f}{end['seconds'] / first:>12.2f}{share:>20.0f} %"


def main(tool, build, python):
    libraries, first = work_list(python, build), None
    print(f"{'jobs':>6}{'wall, s':>10}{'to 1 job':>12}{'fewer were busy':>22}")
    with tempfile.TemporaryDirectory() as folder:
        journal = os.path.join(folder, "journal")
        for jobs in JOBS:
            command = [tool, "run", "--jobs", str(jobs), "--journal", journal, *libraries]
            if subprocess.run(command, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False).returncode not in ENDS:
                sys.exit(f"bench: this run did not end as it should: {' '.join(command)}")
            end = end_of(journal)
            os.remove(journal)
            first = first or end["seconds"]
            print(row(jobs, end, first), flush=True)
    print(f"  {len(os.sched_getaffinity(0))} processors; fewer were busy: the share of the time with operators in which fewer than --jobs were at work")
    return 0
