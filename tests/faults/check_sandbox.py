"""check_sandbox.py OPCHECK-C SANDBOX_OPS.so EXPECT.json: operators that reach outside of their process, and look-alikes (fixtures/sandbox).

Each is held, and named by its own finding; look-alikes have none; nothing is changed or left behind: no file, no process. Without the sandbox, what a
harmless one does happens. Where the kernel lacks a part, the run says so once, and the rest of the test is skipped. Where a container forbids one, the run goes on
without it, and says so once.
"""
import ctypes
import errno
import json
import os
import platform
import struct
import subprocess
import sys
import tempfile
import time

SKIPPED = 77
PATIENCE = 20  # seconds: the warden removes temporary files after the run has ended
failures = []


def expect(condition, text):
    if not condition:
        failures.append(text)
        print("FAILED:", text)


def processes():
    """Those of this library: by its name, or by the worker's in a session of its own."""
    found = set()
    for name in filter(str.isdigit, os.listdir("/proc")):
        try:
            with open(f"/proc/{name}/maps", encoding="utf-8", errors="replace") as file:
                if "libsandbox_ops.so" in file.read():
                    found.add(int(name))
        except OSError:
            continue
    return found


def left_in_temporary():
    return {name for name in os.listdir("/tmp") if name.startswith("sandbox_ops_")}


def run(program, library, place, names, *options, **how):
    samples, report = os.path.join(place, "s.json"), os.path.join(place, "report.json")
    with open(samples, "w", encoding="utf-8") as file:
        json.dump({"format": "opcheck-c/samples/1", "samples": [{"operator": name, "name": "one", "args": [{"tensor": {"shape": [2, 3]}}]} for name in names]}, file)
    command = [program, "run", "--samples", samples, "--timeout", "10", "--neighbours", "0", "--check", "alias,state", "--json", report, *options, library]
    for name in names:
        command[2:2] = ["--op", name]
    done = subprocess.run(command, capture_output=True, text=True, errors="replace", timeout=500, check=False, **how)
    with open(report, encoding="utf-8") as file:
        return done, json.load(file)


LANDLOCK, SECCOMP = (444, 445, 446), {"x86_64": 317, "aarch64": 277}.get(platform.machine())
PR_SET_NO_NEW_PRIVS, PR_SET_SECCOMP, SECCOMP_MODE_FILTER = 38, 22, 2


def forbid(calls, error):
    """For subprocess: these system calls fail with the error, as in a container."""
    load, equal, answer = 0x20, 0x15, 0x06  # BPF: of the call's number; skip the next if it is another; return
    code = [struct.pack("HBBI", load, 0, 0, 0)]
    for call in calls:
        code += [struct.pack("HBBI", equal, 0, 1, call), struct.pack("HBBI", answer, 0, 0, 0x00050000 | error)]
    text = ctypes.create_string_buffer(b"".join([*code, struct.pack("HBBI", answer, 0, 0, 0x7FFF0000)]))
    program = ctypes.create_string_buffer(struct.pack("HxxxxxxP", (len(text) - 1) // 8, ctypes.addressof(text)))

    def apply():
        libc = ctypes.CDLL(None, use_errno=True)
        if libc.prctl(PR_SET_NO_NEW_PRIVS, 1, 0, 0, 0) != 0 or libc.prctl(PR_SET_SECCOMP, SECCOMP_MODE_FILTER, program, 0, 0) != 0:
            raise OSError(ctypes.get_errno(), "no filter")

    return apply, text


def check_forbidden(program, library, place):
    """A container that forbids Landlock, or filters, or both."""
    for calls, error, misses in (
        (LANDLOCK, errno.ENOSYS, ["Landlock"]),
        (LANDLOCK[2:], errno.EPERM, ["Landlock"]),
        ((SECCOMP,), errno.EPERM, ["seccomp"]),
        ((SECCOMP, *LANDLOCK), errno.EPERM, ["seccomp", "Landlock"]),
    ):
        apply, kept = forbid(calls, error)
        done, report = run(program, library, place, ["sandbox::ok_writes_here", "sandbox::ok_starts_threads"], preexec_fn=apply)
        notes = [note for note in report["notes"] if "sandbox" in note]
        where = f"{[errno.errorcode[error], *calls]}"
        expect(done.returncode == 0, f"{where}: exit status {done.returncode}: {done.stdout[-500:]}")
        expect(len(notes) == 1 and all(word in notes[0] for word in misses), f"{where}: the notes are {notes}")
        expect(sum(result["verdict"] == "pass" for result in report["results"]) > 1, f"{where}: nothing passed")
        del kept


def check(name, expected, results, words):
    findings = [result for result in results if result["verdict"] in ("fail", "error")]
    if expected["primary"] is None:
        expect(not findings, f"{name}: {[(result['rule'], result['message']) for result in findings][:2]}")
        expect(any(result["verdict"] == "pass" for result in results), f"{name}: no case passed")
        return
    says = expected["says"].format(**words)
    primary = [result["message"] for result in findings if result["rule"] == expected["primary"]]
    expect(primary, f"{name}: no {expected['primary']}, but {[(result['rule'], result['message']) for result in findings][:2]}")
    expect(not primary or any(says in message for message in primary), f"{name}: \"{says}\" is not in \"{primary[:1]}\"")
    others = {result["rule"] for result in findings} - {expected["primary"], "state.outside"}
    expect(not others, f"{name}: other rules: {sorted(others)}")


def main():
    program, library, file = sys.argv[1:4]
    with open(file, encoding="utf-8") as stream:
        expected = json.load(stream)["operators"]
    # Not below /tmp, where a run may write what it makes itself. Both were there before the run.
    with tempfile.TemporaryDirectory(dir=os.path.dirname(os.path.abspath(library))) as folder, tempfile.TemporaryDirectory(dir="/tmp") as temporary, \
            tempfile.TemporaryDirectory() as place:
        os.mkdir(os.path.join(folder, "home"))
        for path in (os.path.join(folder, "precious"), os.path.join(temporary, "other")):
            with open(path, "w", encoding="utf-8") as stream:
                stream.write("precious")
        open(os.path.join(temporary, "lock"), "w", encoding="utf-8").close()
        os.environ.update(OPC_SANDBOX_FOLDER=folder, OPC_SANDBOX_TEMPORARY=temporary)
        before, temporary_before = processes(), left_in_temporary()
        time.sleep(0.05)  # what is older than the run is not its own
        if SECCOMP:
            check_forbidden(program, library, place)
        done, report = run(program, library, place, list(expected))
        incomplete = [note for note in report["notes"] if "sandbox" in note]
        if incomplete:
            expect(len(incomplete) == 1, f"it is said {len(incomplete)} times: {incomplete}")
            print(f"SKIP: {incomplete[0]}")
            return 1 if failures else SKIPPED
        expect(done.returncode == 1, f"exit status {done.returncode}: {done.stderr[-500:]}")
        expect(report["run"]["complete"], "the run is not complete")
        for name, expectation in expected.items():
            check(name, expectation, [result for result in report["results"] if result["operator"] == name], {"folder": folder, "temporary": temporary})
        expect(sorted(os.listdir(folder)) == ["home", "precious"] and not os.listdir(os.path.join(folder, "home")), f"{folder} has {os.listdir(folder)}")
        for path in (os.path.join(folder, "precious"), os.path.join(temporary, "other")):
            with open(path, encoding="utf-8") as stream:
                expect(stream.read() == "precious", f"{path} was changed")
        end = time.monotonic() + PATIENCE
        while (processes() - before or left_in_temporary() - temporary_before) and time.monotonic() < end:
            time.sleep(0.1)
        expect(sorted(os.listdir(temporary)) == ["lock", "other"], f"{temporary} has {os.listdir(temporary)}")
        expect(not processes() - before, f"processes are left: {processes() - before}")
        expect(not left_in_temporary() - temporary_before, f"files are left: {sorted(left_in_temporary() - temporary_before)[:3]}")

        open_names = ["sandbox::writes_home", "sandbox::needs_file"]
        done, report = run(program, library, place, open_names, "--no-sandbox")
        expect(done.returncode == 0, f"--no-sandbox: exit status {done.returncode}: {done.stdout[-500:]}")
        expect(os.path.exists(os.path.join(folder, "log")) and os.listdir(os.path.join(folder, "home")), "--no-sandbox: nothing was written")
        findings = [result["message"] for result in report["results"] if result["verdict"] in ("fail", "error")]
        expect(not findings, f"--no-sandbox: {findings[:2]}")
    print(f"{len(expected)} operators, {len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
