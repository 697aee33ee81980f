#!/usr/bin/env python3
"""check_zones.py OPCHECK-C ZONE_OPS.so: writes beside device tensors are found, on the simulated device and by calls of the runtime. Standard library only."""
import json
import os
import subprocess
import sys
import tempfile

BESIDE = {  # operator: what its finding says
    "zones::copies_beyond": "writes 3 bytes past the end of returns[0] (24 bytes)",
    "zones::fills_ahead": "writes 8 bytes before the start of returns[0] (24 bytes), from byte -8 on",
    "zones::spills_scratch": "writes 4 bytes, 20 past the end of a tensor of 100 bytes that the operator made",
    "zones::writes_argument": "writes 1 byte past the end of x (24 bytes)",
}


def main():
    program, library = sys.argv[1:]
    with tempfile.TemporaryDirectory() as folder:
        report, samples = os.path.join(folder, "report.json"), os.path.join(folder, "samples.json")
        with open(samples, "w", encoding="utf-8") as file:
            names = ["zones::ok_copy", *BESIDE]
            json.dump({"format": "opcheck-c/samples/1",
                       "samples": [{"operator": name, "name": "one", "args": [{"tensor": {"shape": [2, 3]}}]} for name in names]}, file)
        command = [program, "run", "--device", "cuda-sim", "--check", "memory,device,initialisation,device_memory", "--samples", samples, "--json", report, library]
        done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=240, check=False)
        with open(report, encoding="utf-8") as file:
            results = json.load(file)["results"]
    absent = [result["message"] for result in results if result["reason"] == "no_device"]
    if absent:
        print(f"SKIP: {absent[0]}")
        return 77
    wrong = []
    for name in names:
        plain = [r for r in results if r["operator"] == name and r["check"] == "memory" and r["case"].endswith("/cuda-sim/-/one/plain")]
        if len(plain) != 1:
            wrong.append(f"{name}: {len(plain)} plain cases of check memory")
        elif name not in BESIDE and (plain[0]["verdict"] != "pass" or "by copies, fills" not in plain[0]["message"]):
            wrong.append(f"{name}: {plain[0]['verdict']}: {plain[0]['message']}")
        elif name in BESIDE and (plain[0]["rule"] != "memory.out_of_bounds_write" or BESIDE[name] not in plain[0]["message"]):
            wrong.append(f"{name}: {plain[0]['rule']}: {plain[0]['message']}")
        # The checks behind it want libtorch's own allocator, in a process of their own.
        others = {r["check"] for r in results if r["operator"] == name and r["verdict"] == "pass"}
        if not {"device", "device_memory"} <= others:
            wrong.append(f"{name}: passes of {sorted(others)} alone")
    wrong += [f"{r['case']}: {r['rule']}: {r['message']}" for r in results if r["operator"] == "zones::ok_copy" and r["verdict"] in ("fail", "error")]
    if done.returncode != 1:
        wrong.append(f"exit status {done.returncode}, expected 1")
    for words in wrong:
        print("FAILED:", words)
    if wrong:
        print(done.stdout, done.stderr)
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
