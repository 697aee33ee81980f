#!/usr/bin/env python3
"""hangs.py OPCHECK_C LIBRARY: two operators hang in one loop. Both hangs are found, and the second is not waited for: its
message says that the loop is known. With --case the whole limit counts. An operator that is slow on larger input is not given
the same input, or a larger one, in every check, but its samples are. One that is compiled by its first call does not hang.
Standard library only."""

import json
import os
import pathlib
import subprocess
import sys
import tempfile

KNOWN = "in a loop in which an earlier call did not return either"
COMPILED = "hang_ops::compiled"


def run(*words):
    with tempfile.TemporaryDirectory() as folder:
        report = pathlib.Path(folder, "report.json")
        settings = {**os.environ, "HANG_OPS_COMPILED": f"{folder}.compiled"}
        done = subprocess.run([sys.argv[1], "run", "--json", str(report), *words], capture_output=True, text=True, env=settings)
        assert done.returncode in (0, 1), (done.returncode, done.stdout, done.stderr)
        return json.loads(report.read_text())["results"]


def hangs_of(results):
    return [result for result in results if "did not return within" in result["message"]]


def may_be_traced():
    """Yama's level 2 and more forbid a parent to look into its children: then every hang is waited for."""
    scope = pathlib.Path("/proc/sys/kernel/yama/ptrace_scope")
    return not scope.exists() or int(scope.read_text()) < 2


results = run("--jobs", "1", sys.argv[2])
hangs = [result for result in hangs_of(results) if result["operator"] != COMPILED]
assert {result["operator"] for result in hangs} == {"hang_ops::counted", "hang_ops::scaled"}, hangs
if may_be_traced():
    compiled = [result for result in results if result["operator"] == COMPILED]
    assert not hangs_of(compiled) and any(result["verdict"] == "pass" for result in compiled), compiled
assert all(result["standing"].startswith("searched/") for result in hangs), hangs
known = [result for result in hangs if KNOWN in result["message"]]
assert (len(known) > 0) == may_be_traced(), hangs

alone = hangs_of(run("--timeout", "2", "--case", hangs[-1]["case"], sys.argv[2]))
assert len(alone) == 1 and "within 2 s and was killed" in alone[0]["message"] and KNOWN not in alone[0]["message"], alone
slow = [result for result in results if result["operator"] == "hang_ops::squared"]
larger = [result for result in slow if result["case"].endswith("/all.larger")]
left_out = [result for result in slow if "it would take too long for an input that opcheck-c made" in result["message"]]
assert len(left_out) > 0 and all(result["reason"] == "budget" for result in left_out), left_out
assert 0 < len([result for result in larger if result not in left_out]) < len(larger), larger
assert not [result for result in left_out if result["case"].endswith("/plain")], left_out
print("hangs: ok")
