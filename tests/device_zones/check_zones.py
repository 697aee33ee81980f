#!/usr/bin/env python3
"""check_zones.py OPCHECK-C ZONE_OPS.so: writes beside device tensors are found, on the simulated device and by calls of the runtime, by check memory and by any
other that has red zones. Standard library only."""
import json
import os
import subprocess
import sys
import tempfile

BESIDE = {  # operator: what its finding says under check memory, and under another check
    "zones::copies_beyond": ("writes 3 bytes past the end of returns[0] (24 bytes)", "writes 3 bytes past the end of a tensor of 24 bytes"),
    "zones::fills_ahead": ("writes 8 bytes before the start of returns[0] (24 bytes), from byte -8 on", "writes 8 bytes before the start of a tensor of 24 bytes"),
    "zones::spills_scratch": ("writes 4 bytes, 20 past the end of a tensor of 100 bytes that the operator made", "writes 4 bytes, 20 past the end of a tensor of 100 bytes"),
    "zones::writes_argument": ("writes 1 byte past the end of x (24 bytes)", "writes 1 byte past the end of a tensor of 24 bytes"),
}
NAMES = ["zones::ok_copy", *BESIDE]


def results_of(program, library, checks):
    with tempfile.TemporaryDirectory() as folder:
        report, samples = os.path.join(folder, "report.json"), os.path.join(folder, "samples.json")
        with open(samples, "w", encoding="utf-8") as file:
            json.dump({"format": "opcheck-c/samples/1",
                       "samples": [{"operator": name, "name": "one", "args": [{"tensor": {"shape": [2, 3]}}]} for name in NAMES]}, file)
        command = [program, "run", "--device", "cuda-sim", "--check", checks, "--samples", samples, "--json", report, library]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=140, check=False)
        with open(report, encoding="utf-8") as file:
            return done, json.load(file)["results"]


def plain_of(results, name, check):
    return [r for r in results if r["operator"] == name and r["check"] == check and r["case"].endswith("/cuda-sim/-/one/plain")]


def main():
    done, results = results_of(*sys.argv[1:], "memory,initialisation,device_memory")
    absent = [result["message"] for result in results if result["reason"] == "no_device"]
    if absent:
        print(f"SKIP: {absent[0]}")
        return 77
    others, elsewhere = results_of(*sys.argv[1:], "device")
    wrong = []
    for name in NAMES:
        plain = plain_of(results, name, "memory")
        if len(plain) != 1:
            wrong.append(f"{name}: {len(plain)} plain cases of check memory")
        elif name not in BESIDE and (plain[0]["verdict"] != "pass" or "by copies, fills" not in plain[0]["message"]):
            wrong.append(f"{name}: {plain[0]['verdict']}: {plain[0]['message']}")
        elif name in BESIDE and (plain[0]["rule"] != "memory.out_of_bounds_write" or BESIDE[name][0] not in plain[0]["message"]):
            wrong.append(f"{name}: {plain[0]['rule']}: {plain[0]['message']}")
        # This one wants libtorch's own allocator, in a process of its own.
        if not any(r["verdict"] == "pass" for r in plain_of(results, name, "device_memory")):
            wrong.append(f"{name}: no pass of device_memory")
        plain = plain_of(elsewhere, name, "device")
        expected = ("memory.out_of_bounds_write", BESIDE[name][1]) if name in BESIDE else (None, "values have the bits of the CPU kernel's")
        if len(plain) != 1 or plain[0]["rule"] != expected[0] or expected[1] not in plain[0]["message"]:
            wrong.append(f"{name}: check device: {[(r['rule'], r['message']) for r in plain]}")
    wrong += [f"{r['case']}: {r['rule']}: {r['message']}" for r in results + elsewhere if r["operator"] == "zones::ok_copy" and r["verdict"] in ("fail", "error")]
    if (done.returncode, others.returncode) != (1, 1):
        wrong.append(f"exit status {done.returncode} and {others.returncode}, expected 1")
    for words in wrong:
        print("FAILED:", words)
    if wrong:
        print(done.stdout, done.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
