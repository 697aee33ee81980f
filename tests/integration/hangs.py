#!/usr/bin/env python3
"""hangs.py OPCHECK_C LIBRARY: two operators hang in one loop. Both hangs are found, and the second is not waited for: its
message says that the loop is known. With --case the whole limit counts. Standard library only."""

import json
import pathlib
import subprocess
import sys
import tempfile

KNOWN = "in a loop in which an earlier call did not return either"


def run(*words):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        done = subprocess.run([sys.argv[1], "run", "--json", str(report), *words], capture_output=True, text=True)
        assert done.returncode in (0, 1), (done.returncode, done.stdout, done.stderr)
        return json.loads(report.read_text())["results"]


def hangs_of(results):
    return [result for result in results if "did not return within" in result["message"]]


def may_be_traced():
    """Yama's level 2 and more forbid a parent to look into its children: then every hang is waited for."""
    scope = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")
    return not scope.exists() or int(scope.read_text()) < 2


hangs = hangs_of(run("--jobs", "1", sys.argv[2]))
assert {result["operator"] for result in hangs} == {"hang_ops::counted", "hang_ops::scaled"}, hangs
assert all(result["standing"].startswith("searched/") for result in hangs), hangs
known = [result for result in hangs if KNOWN in result["message"]]
assert (len(known) > 0) == may_be_traced(), hangs

alone = hangs_of(run("--timeout", "2", "--case", hangs[-1]["case"], sys.argv[2]))
assert len(alone) == 1 and "within 2 s and was killed" in alone[0]["message"] and KNOWN not in alone[0]["message"], alone
print("hangs: ok")
