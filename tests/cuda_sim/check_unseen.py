"""check_unseen.py OPCHECK-C STATIC.so STATIC.samples.json DRIVER.so DRIVER.samples.json REFERENCE.so: calls that the simulated device does not see are no pass.

STATIC.so has a CUDA runtime linked into it, DRIVER.so calls the driver (fixtures/gpu). Every case that would have called their operators says so; the reference
operators beside them are checked as ever.
"""
import json
import os
import subprocess
import sys
import tempfile

CALLING = ("launch", "stream", "device_guard", "sync", "device_memory", "capture", "device", "memory")
failures = []


def expect(condition, text):
    if not condition:
        failures.append(text)
        print("FAILED:", text)


def run(program, place, *arguments):
    report = os.path.join(place, "report.json")
    done = subprocess.run([program, "run", "--device", "cuda-sim", "--json", report, *arguments], capture_output=True, text=True, errors="replace", timeout=300)
    print(done.stdout[-3000:], done.stderr[-1000:])
    with open(report, encoding="utf-8") as stream:
        return json.load(stream)["results"]


def passes(results):
    return [r for r in results if r["check"] in CALLING and r["verdict"] != "skip"]


def main():
    program, static, static_samples, driver, driver_samples, reference = sys.argv[1:]
    told = subprocess.run([program, "devices", "--format", "json"], capture_output=True, text=True, timeout=60, check=True).stdout
    why = json.loads(told)["cuda-sim"]["detail"]
    if "scripts/setup" in why:
        print("SKIP:", why)
        return 0
    with tempfile.TemporaryDirectory() as place:
        results = run(program, place, "--samples", static_samples, static, reference)
        ours = [r for r in results if r["operator"].startswith("broken_static::")]
        expect({r["check"] for r in ours} >= set(CALLING), "a check has no case of the static library")
        expect(not passes(ours), f"decided without being seen: {[r['case'] for r in passes(ours)][:5]}")
        for r in ours:
            if r["check"] in CALLING:
                expect(r["reason"] == "simulated" and "links the CUDA runtime statically: its launches are not seen" in r["message"], f"{r['case']}: {r['reason']}: {r['message']}")
        beside = {r["check"] for r in results if r["operator"].startswith("my_ops::") and r["verdict"] == "pass"}
        expect(beside >= set(CALLING), f"the reference operators are checked in {beside} alone")

        results = run(program, place, "--samples", driver_samples, "--check", "launch,stream,device_guard,sync,device_memory", driver)
        ours = [r for r in results if r["operator"].startswith("broken_driver::")]
        expect(ours and not passes(ours), f"decided without being seen: {[r['case'] for r in passes(ours)][:5]}")
        told = [r for r in ours if r["reason"] == "simulated" and "cuMemcpyDtoDAsync, which" in r["message"]]
        expect({r["check"] for r in told} == {"launch", "stream", "device_guard", "sync", "device_memory"}, "the driver's function is not named")
    print("FAILED" if failures else "ok")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
