"""check_crashing.py OPCHECK-C CRASHING.so: every operator of the library has a healthy sample and one on which it misbehaves.

Asserts what each of them comes to, that its healthy sample passes all the same, that the operators beside it do, and that the printed line reproduces.
"""
import json
import os
import shlex
import subprocess
import sys
import tempfile

# operator: rule, words of the message
EXPECTED = {
    "segfault": ("signal.SIGSEGV", "segmentation fault at address 0x10 in write_nowhere (crashing_ops.cpp:"),
    "abort": ("signal.SIGABRT", "call_abort (crashing_ops.cpp:"),
    "divide": ("signal.SIGFPE", "divide_by_zero (crashing_ops.cpp:"),
    "exit_zero": ("exit", "exit code 0"),
    "quick_exit": ("exit", "exit code 0"),
    "overflow": ("signal.SIGSEGV", "stack overflow"),
    "throw_int": ("foreign_exception", ""),
    "hang": ("timeout", "did not return within 1 s"),
    "eat_memory": ("memory", ""),
    "kill_parent": ("exit", "killed the process that started it"),
    "kill_itself": ("signal.SIGKILL", ""),
    "close_all": ("exit", ""),
    "sleeper": ("signal.SIGSEGV", "write_nowhere"),
    "write_everywhere": ("exit", "wrote into the channel"),
}
HEALTHY = ["healthy_first", "healthy_last", "print_junk"]
PARTLY = "segfault_empty"  # crashes on empty inputs only

failures = []


def expect(condition, text):
    if not condition:
        failures.append(text)
        print("FAILED:", text)


def run(program, place, *arguments):
    report = os.path.join(place, "report.json")
    # Each operator crashes with some number: a neighbour of the healthy sample would set that.
    command = [program, "run", "--neighbours", "0", "--device", "cpu", "--timeout", "1", "--memory", "512", "--json", report, *arguments]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=500)
    expect(os.path.exists(report), f"no report: {done.stderr[-500:]}")
    with open(report, encoding="utf-8") as stream:
        return done, json.load(stream)


def check_operator(results, name, rule, words):
    bad = [r for r in results if r["case"].split("/")[4] == "bad"]
    good = [r for r in results if r["case"].split("/")[4] == "good" and r["verdict"] != "skip"]
    errors = [r for r in bad if r["verdict"] in ("error", "fail")]
    expect(good and all(r["verdict"] == "pass" for r in good), f"{name}: its healthy sample suffers: {[r['case'] for r in good if r['verdict'] != 'pass'][:3]}")
    expect(errors, f"{name}: nothing was found")
    expect(all(r["rule"] == rule for r in errors), f"{name}: rules {sorted({r['rule'] for r in errors})}, not {rule}")
    expect(all(words in r["message"] for r in errors), f"{name}: \"{words}\" is not in \"{[r['message'] for r in errors if words not in r['message']][:1]}\"")
    expect(all(r["severity"] == "error" and r["evidence"].get("confirmed") for r in errors), f"{name}: not confirmed")
    expect(all(r["evidence"].get("input", {}).get("when") == "1" for r in errors), f"{name}: its input is not shown")
    expect(all(r["evidence"].get("why") for r in errors), f"{name}: why it was tried is not shown")
    return errors[0]["repro"] if errors else None


def check_partly(results):
    """What crashed in one check is not tried in the next one, and everything else is."""
    first, next_one = dict.fromkeys(r["check"] for r in results if r["check"] in ("alias", "mutation"))  # in the order in which they ran
    arguments = {check: {r["case"].split("/", 2)[2]: r for r in results if r["check"] == check} for check in (first, next_one)}
    crashed = {key for key, r in arguments[first].items() if r["rule"] == "signal.SIGSEGV"}
    expect(crashed and all(key.split("/")[2] == "bad" and ".empty" in key for key in crashed), f"{PARTLY}: crashes on {sorted(crashed)}")
    expect(crashed < set(arguments[next_one]), f"{PARTLY}: check {next_one} does not have these arguments")
    for key, result in arguments[next_one].items():
        if key in crashed:
            expect(result["reason"] == "after_crash" and result["message"].endswith(f"crashed the operator in check {first}"),
                   f"{PARTLY}: {next_one} of {key} is {result['verdict']}: {result['message']}")
        else:
            expect(result["verdict"] in ("pass", "skip") and result["reason"] != "after_crash", f"{PARTLY}: {next_one} of {key}: {result['message']}")


def main():
    program, library = sys.argv[1:3]
    with tempfile.TemporaryDirectory() as place:
        samples = os.path.join(place, "samples.json")
        tensor = {"tensor": {"shape": [2, 3]}}
        listed = [{"operator": f"crashing::{name}", "name": kind, "args": [tensor, when]}
                  for name in [*HEALTHY, *EXPECTED, PARTLY] for kind, when in (("good", 0), ("bad", 1))]
        with open(samples, "w", encoding="utf-8") as stream:
            json.dump({"format": "opcheck-c/samples/1", "samples": listed}, stream)
        checks = ("--check", "alias,mutation", "--samples", samples)
        done, report = run(program, place, *checks, "--jobs", "3", library)
        expect(done.returncode == 1, f"exit status {done.returncode}, not 1: {done.stderr[-1000:]}")
        expect(report["run"]["complete"], "the run is not complete")
        repros = {}
        for name in HEALTHY:
            bad = [r["case"] for r in report["results"] if r["operator"] == f"crashing::{name}" and r["verdict"] in ("fail", "error")]
            expect(not bad, f"{name}: suffers from the others: {bad[:3]}")
        for name, (rule, words) in EXPECTED.items():
            repros[name] = check_operator([r for r in report["results"] if r["operator"] == f"crashing::{name}"], name, rule, words)
        check_partly([r for r in report["results"] if r["operator"] == f"crashing::{PARTLY}"])
        for name in ("segfault", "exit_zero", "kill_parent", "throw_int"):
            if repros.get(name):
                words = shlex.split(repros[name])
                again = subprocess.run([program, *words[1:]], capture_output=True, text=True, errors="replace", timeout=100)
                expect(again.returncode == 1, f"{name}: the printed line gives {again.returncode}: {repros[name]}")
    print(f"{len(EXPECTED) + len(HEALTHY) + 1} operators, {len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
