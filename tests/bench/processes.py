"""Programs run and measured, for scripts/bench: wall and CPU seconds, high water marks of memory."""

import os
import pathlib
import shlex
import subprocess
import sys
import threading
import time

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent


def environment():
    """TORCH_ROOT and, after --full, PYTHON, as scripts/env prints them for a shell."""
    lines = subprocess.run([ROOT / "scripts/env"], check=True, capture_output=True, text=True).stdout.splitlines()
    return dict("".join(shlex.split(line)).split("=", 1) for line in lines if "=" in line)


def high_water(pid, found, stop):
    """Polls VmHWM of a process and its children: wait4 would fold a worker's memory into its parent's."""
    while not stop.is_set():
        for task in [pid, *children_of(pid)]:
            try:
                status = pathlib.Path(f"/proc/{task}/status").read_text()
            except OSError:
                continue
            fields = dict(line.split(":", 1) for line in status.splitlines() if ":" in line)
            if "VmHWM" in fields:
                kib = int(fields["VmHWM"].split()[0])
                name = fields["Name"].strip()
                found[name] = max(found.get(name, 0), kib)
                if task == pid:  # the symboliser is a child of the same name
                    found["parent"] = max(found.get("parent", 0), kib)
        time.sleep(0.002)


def children_of(pid):
    try:
        return [int(p) for p in pathlib.Path(f"/proc/{pid}/task/{pid}/children").read_text().split()]
    except OSError:
        return []


def timed(command, ok=(0,), watch=False, output=subprocess.DEVNULL):
    """Wall seconds, CPU seconds of the program and all that it waited for, and with watch the high water marks by process name, and as "parent" that of
    the program itself (KiB). What it prints goes to output."""
    marks, stop = {}, threading.Event()
    start = time.perf_counter()
    process = subprocess.Popen(command, stdout=output, stderr=subprocess.PIPE)
    watcher = threading.Thread(target=high_water, args=(process.pid, marks, stop)) if watch else None
    if watcher:
        watcher.start()
    error = process.stderr.read()
    _, status, usage = os.wait4(process.pid, 0)
    process.returncode = os.waitstatus_to_exitcode(status)
    wall = time.perf_counter() - start
    stop.set()
    if watcher:
        watcher.join()
    if process.returncode not in ok:
        sys.exit(f"bench: {command[0]} ended with {process.returncode}:\n{error.decode(errors='replace')}")
    return wall, usage.ru_utime + usage.ru_stime, marks
