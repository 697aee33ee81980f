"""One run of opcheck-c package, and what a test found wrong with it."""
import json
import os
import subprocess
import tempfile

failures = []


def expect(condition, text):
    if not condition:
        failures.append(text)
        print("FAILED:", text)


def run(program, *arguments, **environment):
    """Exit status, what was printed, the JSON report."""
    with tempfile.TemporaryDirectory() as place:
        report = os.path.join(place, "report.json")
        done = subprocess.run([program, "package", "--json", report, *arguments], capture_output=True, text=True, timeout=300, check=False,
                              env={**os.environ, **environment})
        with open(report, encoding="utf-8") as stream:
            return done.returncode, done.stdout + done.stderr, json.load(stream)
