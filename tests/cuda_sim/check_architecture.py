#!/usr/bin/env python3
"""Which architecture `--device cuda-sim` simulates where nobody says: one that the library has code for. Standard library only.

check_architecture.py OPCHECK LIBRARY: a library with code for sm_120 and later alone."""
import json
import subprocess
import sys
import tempfile


def run(program, *arguments):
    with tempfile.NamedTemporaryFile(suffix=".json") as file:
        done = subprocess.run([program, "run", "--device", "cuda-sim", "--json", file.name, *arguments], capture_output=True, text=True)
        report = json.load(open(file.name, encoding="utf-8"))
    absent = [result["message"] for result in report["results"] if result["reason"] == "no_device"]
    if absent:
        sys.exit(print(f"SKIP: {absent[0]}"))
    findings = {result["rule"] for result in report["results"] if result["verdict"] in ("fail", "error")}
    repros = [result["repro"] for result in report["results"] if result.get("repro")]
    return done.stdout + done.stderr, findings, repros


def expect(condition, text):
    if not condition:
        sys.exit(f"FAILED: {text}")


def main():
    program, library = sys.argv[1:]
    text, findings, repros = run(program, library)
    expect("architecture.no_image" not in findings and "the simulated devices are sm_120" in text, f"its own architecture: {findings}: {text}")
    expect(repros and all("--cuda-arch sm_120" in line for line in repros), f"the lines that reproduce do not say it: {repros}")
    text, findings, repros = run(program, "--cuda-arch", "sm_90", library)
    expect("architecture.no_image" in findings and "the simulated devices are" not in text, f"one that was asked for: {findings}: {text}")


main()
