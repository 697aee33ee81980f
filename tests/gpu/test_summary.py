#!/usr/bin/env python3
"""The summary of scripts/gpu-suite, from synthetic reports: it reports what failed and what was skipped, and a summary of nothing is an error."""
import json
import os
import subprocess
import sys
import tempfile
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
PASSED, FAILED = '<testcase name="gpu.a" status="run"/>', '<testcase name="gpu.b" status="fail"><failure message=""/></testcase>'
SKIPPED = '<testcase name="gpu.c" status="notrun"><skipped message="77"/><system-out>SKIP: no such thing</system-out></testcase>'


def summary(cases, facts):
    with tempfile.TemporaryDirectory() as folder:
        def write(name, text):
            with open(os.path.join(folder, name), "w", encoding="utf-8") as file:
                file.write(text)
        device = {"index": 0, "name": "synthetic", "compute_capability": "9.0", "memory": 2**31}
        write("devices.json", json.dumps({"cuda": {"count": 1, "driver_version": 13010, "devices": [device]}}))
        write("junit.xml", f"<testsuite>{cases}</testsuite>")
        for name, fact in facts.items():
            write(name + ".facts.json", json.dumps(fact))
        command = [sys.executable, os.path.join(HERE, "summary.py"), folder, HERE, "--built", "3", "--ran", "4"]
        return subprocess.run(command, capture_output=True, text=True, check=False)


class Summary(unittest.TestCase):
    def test_everything_is_told(self):
        facts = {"battery": {"cases": 200, "seconds": 12.0, "seconds_of_100": 6.0, "wrong": ["too slow"]}, "wrappers": {"cost_ns": {"f": 12.4}, "wrong": []},
                 "machine": {"counts": {"equal": 30, "only_gpu": 2}, "wrong": []},
                 "package": {"seconds": {"model_cuda": 4.4}, "wrong": []},
                 "device_guard": {"operators": 1, "left_out": ["o::p: r.s needs 2 GPUs"], "seconds": 1.0, "wrong": []}}
        done = summary(PASSED + FAILED + SKIPPED, facts)
        self.assertEqual(done.returncode, 0, done.stderr)
        for words in ("1 passed, 1 failed, 1 skipped", "synthetic, compute capability 9.0, 2 GiB", "CUDA 13.1", "gpu.c: no such thing", "battery: too slow", "f 12 ns", "model_cuda.pt2 | 4.4 s",
                      "of 100: 6.0 s", "equal 30, only gpu 2", "3 s to build, 4 s to run", "- o::p: r.s needs 2 GPUs"):
            self.assertIn(words, done.stdout)

    def test_nothing_is_no_evidence(self):
        for cases in ("", SKIPPED, FAILED, PASSED.replace("gpu.a", "package.export.cuda")):
            done = summary(cases, {})
            self.assertEqual(done.returncode, 1)
            self.assertIn("no evidence", done.stdout)


if __name__ == "__main__":
    unittest.main()
