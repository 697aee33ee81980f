"""check_memcheck.py OPCHECK-C BROKEN.so HEALTHY.so EXPECTATION PART PARTS: a run under Valgrind over every PARTS-th broken operator, from the PART-th on.

Every broken operator is found by what it does, with its function and line; its look-alikes have no finding; nothing is left behind. In the last part the healthy library
is in the same run, and has no finding either.
"""
import os
import subprocess
import sys
import tempfile
import time
import json

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..", "contract"))
import matrix  # noqa: E402

# Cases of the operator with two faults: each has just what it did, though Valgrind shows a place only once.
TWO_FAULTS = {
    "first": {"memcheck.invalid_read"},
    "second": {"memcheck.uninitialised_branch"},
    "both": {"memcheck.invalid_read", "memcheck.uninitialised_branch"},
    "none": set(),
    "again": {"memcheck.invalid_read"},
}

failures = []


def expect(condition, text):
    if not condition:
        failures.append(text)
        print("FAILED:", text)


def run(program, names, libraries, place):
    report, temporary = os.path.join(place, "report.json"), os.path.join(place, "tmp")
    os.mkdir(temporary)
    command = [program, "run", "--tool", "memcheck", "--strict", "--check", "device", "--json", report]
    command += [word for name in names for word in ("--op", name)] + libraries
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", check=False, env={**os.environ, "TMPDIR": temporary})
    expect(os.path.exists(report), f"no report: {done.stderr[-500:]}")
    deadline = time.monotonic() + 20
    while os.listdir(temporary) and time.monotonic() < deadline:  # the janitor is the last to leave
        time.sleep(0.1)
    expect(not os.listdir(temporary), f"left behind: {os.listdir(temporary)}")
    with open(report, encoding="utf-8") as stream:
        return done, json.load(stream)


def rules_of(result):
    if result["verdict"] not in ("fail", "error"):
        return set()
    return {result["rule"], *(also["rule"] for also in result["evidence"].get("also", []))}


def check_finding(result, broken):
    """A finding of Valgrind's has the stack, and a line that makes it again."""
    name, evidence = result["case"], result["evidence"]
    expect(evidence.get("witnessed") is True, f"{name}: not by Valgrind")
    frames = [frame for frame in evidence["frames"] if frame["module"] == os.path.realpath(broken)]
    expect(frames and all(frame["file"] and frame["line"] > 0 for frame in frames), f"{name}: no frame of the library: {evidence['frames'][:3]}")
    expect(evidence.get("input"), f"{name}: its input is not shown")
    expect(evidence.get("why"), f"{name}: why it was tried is not shown")
    expect(f"--tool memcheck --case '{name}'" in result["repro"], f"{name}: {result['repro']}")


def check_broken(report, expectations, broken):
    for name, expectation in expectations.items():
        results = [result for result in report["results"] if result["operator"] == name]
        if "skips" in expectation:
            skips = [result["message"] for result in results if (result["verdict"], result["reason"]) == ("skip", "not_applicable")]
            expect(len(skips) == len(results) > 0 and expectation["skips"] in skips[0], f"{name}: {results}")
            continue
        for line in matrix.mistakes_of(name, expectation, report):
            expect(False, line)
        for result in results:
            if result["rule"] and result["rule"].startswith("memcheck."):
                check_finding(result, broken)
    if "broken_memcheck::two_faults" in expectations:
        two = {result["case"].split("/")[4]: rules_of(result) for result in report["results"] if result["operator"] == "broken_memcheck::two_faults"}
        expect(two == TWO_FAULTS, f"two faults: {two}")


def check_healthy(report):
    results = [result for result in report["results"] if not result["operator"].startswith("broken_memcheck::")]
    expect(any(result["verdict"] == "pass" for result in results), "the healthy library did not run")
    expect(all(result["verdict"] in ("pass", "skip") for result in results), f"{[r for r in results if r['verdict'] in ('fail', 'error')][:1]}")


def main():
    program, broken, healthy, path, part, parts = sys.argv[1:]
    expectations = matrix.read_expectations(path)
    mine = {name: expectations[name] for name in list(expectations)[int(part) - 1::int(parts)]}
    with_healthy = part == parts
    with tempfile.TemporaryDirectory() as place:
        done, report = run(program, [*mine, "my_ops::*"], [broken, healthy], place) if with_healthy else run(program, mine, [broken], place)
    expect(done.returncode == 1, f"exit status {done.returncode}")
    expect("half a minute" in done.stderr, f"the cost is not told before: {done.stderr[:200]}")
    expect("0 outside of cases" in done.stdout, "errors outside of cases, or nothing was watched")
    listed = {operator["name"] for operator in report["operators"] if operator["name"].startswith("broken_memcheck::")}
    expect(listed == set(expectations), f"in the library or in the expectation file alone: {listed ^ set(expectations)}")
    check_broken(report, mine, broken)
    if with_healthy:
        check_healthy(report)
    if failures:
        print(done.stdout[-6000:], done.stderr[-1000:])
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
