#!/usr/bin/env python3
"""Breaks things around runs of opcheck-c. No result may be lost without a word, no broken run may look green, and nothing may be left behind.

    breaks.py OPCHECK_C FIXTURES FOLDER [--seed N] [--points N] [--crowd N] [PART…]

FIXTURES has the libraries of fault_ops.cpp and libinjected.so. The parts, all of them by default:

    kill    kill -9 of one process of a run, at POINTS moments: opcheck-c, the worker, a child of it
    disk    a disk for journal and reports that is full after so many pages, and one on which no temporary folder can be made
    calls   calls that are interrupted, and transfers of a part
    clock   clocks that jump
    flood   operators that write without end
    crowd   a thousand operators that all crash

Which process is killed, and when, follows from the seed. Exit 1: something was lost or left; each line says what."""

import argparse
import ctypes
import json
import os
import pathlib
import random
import re
import resource
import shutil
import signal
import subprocess
import sys
import time

TIMEOUT, ENDED, PAGE = 600, 20, 4096
SAMPLE = {"tensor": {"shape": [2, 3], "dtype": "float32"}}
SUBREAPER = 36  # PR_SET_CHILD_SUBREAPER: what outlives its parent becomes a child of this process
# Mounts a small file system, runs the command, and copies what is there then.
ON_SMALL_DISK = 'mount -t tmpfs -o "$1" none "$2" || exit 77; code=0; "${@:4}" || code=$?; cp -r "$2/." "$3"; exit $code'


def descendants(pid):
    """Pairs of a process and its depth below this one; what has ended and was not waited for is left out."""
    found = []
    for task in pathlib.Path(f"/proc/{pid}/task").glob("*/children"):
        try:
            children = [int(word) for word in task.read_text().split()]
        except OSError:
            continue
        for child in children:
            found += [(child, 1), *((below, depth + 1) for below, depth in descendants(child))]
    return [(process, depth) for process, depth in found if is_alive(process)]


def is_alive(pid):
    try:
        return pathlib.Path(f"/proc/{pid}/stat").read_text().rsplit(")", 1)[1].split()[0] not in "ZX"
    except OSError:
        return False


def shared_memory():
    """Names of POSIX and System V shared memory."""
    table = pathlib.Path("/proc/sysvipc/shm")
    return {*os.listdir("/dev/shm"), *(line.split()[1] for line in table.read_text().splitlines()[1:])}


class Run:
    """One run in a folder of its own, with a folder for temporary files that must be empty afterwards."""

    def __init__(self, folder, command, environment):
        self.folder, self.temporary, self.ended = folder, folder / "tmp", True
        shutil.rmtree(folder, ignore_errors=True)
        self.temporary.mkdir(parents=True)
        self.output = (folder / "output.txt").open("w+", errors="replace")
        values = {**os.environ, "TMPDIR": str(self.temporary), **environment}
        self.process = subprocess.Popen(command, stdout=self.output, stderr=self.output, stdin=subprocess.DEVNULL, env=values, cwd=folder)

    def wait(self):
        """The exit status, and what is wrong with how it ended, in words. A run that does not end is killed."""
        try:
            self.process.wait(TIMEOUT)
        except subprocess.TimeoutExpired:
            self.ended = False
            self.process.kill()
            self.process.wait()
        self.output.close()
        return self.process.returncode, [*self.left(), *([] if self.ended else ["the run did not end"])]

    def left(self):
        ended = time.monotonic() + ENDED
        while (processes := descendants(os.getpid())) and time.monotonic() < ended:
            time.sleep(0.05)
        for process, _ in processes:
            name = pathlib.Path(f"/proc/{process}/comm")
            yield f"process {name.read_text().strip() if name.exists() else process} is left"
            os.kill(process, signal.SIGKILL)
        while True:  # those that came here when their parents ended
            try:
                if os.waitpid(-1, os.WNOHANG)[0] == 0:
                    break
            except ChildProcessError:
                break
        ended = time.monotonic() + 2  # the janitor of the folder is given a moment
        while (files := sorted(path.name for path in self.temporary.iterdir())) and time.monotonic() < ended:
            time.sleep(0.05)
        if files:
            yield f"temporary files are left: {', '.join(files[:3])}"

    def said(self):
        return (self.folder / "output.txt").read_text(errors="replace")


class Breaks:
    def __init__(self, options):
        self.opcheck, self.options, self.random = options.opcheck, options, random.Random(options.seed)
        self.mistakes, self.count = [], 0
        self.folder = options.folder.resolve()
        self.folder.mkdir(parents=True, exist_ok=True)
        self.samples("fault_ops", *(f"faults::{name}" for name in ("right", "wrong", "chatty", "flood")))
        self.samples("fault_crowd", *(f"fault_crowd::crash_{number}" for number in range(options.crowd)))

    def samples(self, library, *names):
        """One for each operator."""
        samples = {"format": "opcheck-c/samples/1", "samples": [{"operator": name, "args": [SAMPLE]} for name in names]}
        (self.folder / f"{library}.json").write_text(json.dumps(samples))

    def run(self, name, arguments, library="fault_ops", target=".", inject=None, wrapper=()):
        """Starts a run; its files go to target. inject: as injected.c has it."""
        self.count += 1
        reports = [word for kind in ("journal", "json", "junit") for word in (f"--{kind}", f"{target}/run.{kind}")]
        command = [self.opcheck, "run", "--device", "cpu", "--no-search", "--jobs", "2", "--samples", str(self.folder / f"{library}.json"), *reports, *arguments]
        more = {"LD_PRELOAD": str(self.options.fixtures / "libinjected.so"), "OPC_INJECT": inject} if inject else {}
        return Run(self.folder / name, [*wrapper, *command, str(self.options.fixtures / f"lib{library}.so")], more)

    def wrong(self, name, *what):
        self.mistakes += [f"{name}: {each}" for each in what]

    # --- What a run left behind -----------------------------------------------------------------------------------------------------

    def report(self, name, file):
        """The JSON report of that name; None: there is none."""
        path = self.folder / name / file
        try:
            return json.loads(path.read_text()) if path.exists() else None
        except ValueError as error:
            self.wrong(name, f"{file} is broken: {error}")
            return None

    def results(self, name, file):
        """Verdict and rule by case."""
        return {result["case"]: (result["verdict"], result["rule"]) for result in (self.report(name, file) or {}).get("results", [])}

    def is_honest(self, name, whole):
        """Of a run that could not do all its work: what it left is a part of the whole run and says so, or is the whole."""
        complete = False
        for file in ("run.journal", "run.json"):
            path = self.folder / name / file
            if not path.exists() or path.stat().st_size == 0:
                continue
            again = f"again.{path.suffix[1:]}.json"
            done = subprocess.run([self.opcheck, "report", "--json", again, file], cwd=self.folder / name, capture_output=True, text=True, check=False)
            if done.returncode != 0:
                self.wrong(name, f"{file} cannot be read: {done.stderr[-300:]}")
                continue
            if self.report(name, again)["run"]["complete"]:
                complete = True
                self.is_whole(name, whole, again)
                continue
            for case, (verdict, rule) in self.results(name, again).items():
                if case not in whole or (verdict == "pass" and whole[case][0] != "pass"):
                    self.wrong(name, f"{case} is {verdict} {rule} in {file}")
        junit = self.folder / name / "run.junit"
        if junit.exists() and not complete and not re.search(r"<(error|failure)\b", junit.read_text()):
            self.wrong(name, "run.junit is green")

    def is_whole(self, name, whole, file="run.json", may_differ=False):
        """All results are there, and as they should be. Where they may differ, a case may be skipped or fail, and none passes that should not."""
        found = self.results(name, file)
        self.wrong(name, *(f"{case} has no result" for case in sorted(whole.keys() - found.keys())[:3]))
        for case in sorted(whole.keys() & found.keys()):
            if found[case] != whole[case] and (found[case][0] == "pass" or not may_differ):
                self.wrong(name, f"{case}: {found[case]}, not {whole[case]}")

    def whole(self, arguments, code):
        """The results of a run that nothing disturbs."""
        run = self.run("undisturbed", arguments)
        began = time.monotonic()
        got, left = run.wait()
        self.seconds = time.monotonic() - began
        if got != code or left:
            sys.exit(f"a run that nothing disturbs ends with {got}; {left}; {run.said()[-2000:]}")
        self.journal_size = (run.folder / "run.journal").stat().st_size
        self.sizes = {path.name: path.stat().st_size for path in run.folder.glob("run.*")}
        return self.results("undisturbed", "run.json")

    # --- The parts ------------------------------------------------------------------------------------------------------------------

    def kill(self):
        arguments = ("--op", "faults::right", "--op", "faults::wrong")
        whole = self.whole(arguments, 1)
        victims = {"opcheck-c": 0, "worker": 0, "child": 0, "ended before": 0}
        for point in range(self.options.points):
            victim = self.random.choice(["opcheck-c", "worker", "child"])
            size, delay = self.random.uniform(0, self.journal_size), self.random.uniform(0, 0.02)
            if self.random.random() < 0.2:  # while libtorch is loaded
                size, delay = 0, self.random.uniform(0, self.seconds / 2)
            name = "kill"
            run = self.run(name, arguments)
            hit = self.kill_one(run, victim, size, delay)
            victims[victim if hit else "ended before"] += 1
            code, left = run.wait()
            where = f"point {point}, {victim}, {size:.0f} bytes"
            before = len(self.mistakes)
            self.wrong(where, *left)
            if hit and victim == "opcheck-c":
                self.is_honest(name, whole)
            elif code in (1, 3):
                self.is_whole(name, whole, may_differ=True) if code == 1 else self.is_honest(name, whole)
            else:
                self.wrong(where, f"exit status {code}: {run.said()[-300:]}")
            if len(self.mistakes) > before:
                kept = self.folder / f"kill-{point}"
                shutil.rmtree(kept, ignore_errors=True)
                shutil.copytree(run.folder, kept)
                self.wrong(where, f"kept in {kept.name}")
        if victims["ended before"] * 2 > self.options.points:
            self.wrong("kill", f"{victims['ended before']} runs had ended before")
        return ", ".join(f"{count} {name}" for name, count in victims.items())

    def kill_one(self, run, victim, size, delay):
        """Waits until the journal has so many bytes, and so many seconds more. False: there is no such process any more."""
        journal = run.folder / "run.journal"
        while size > 0 and (not journal.exists() or journal.stat().st_size < size):
            if not is_alive(run.process.pid):
                return False
            time.sleep(0.001)
        time.sleep(delay)
        ended = time.monotonic() + 5
        while is_alive(run.process.pid) and time.monotonic() < ended:
            depth = {"opcheck-c": 0, "worker": 1, "child": 2}[victim]
            processes = [run.process.pid] if depth == 0 else [pid for pid, its in descendants(run.process.pid) if min(its, 2) == depth]
            if processes:
                try:
                    os.kill(self.random.choice(processes), signal.SIGKILL)
                    return True
                except ProcessLookupError:
                    continue
            time.sleep(0.001)
        return False

    def disk(self):
        arguments = ("--op", "faults::right")
        whole = self.whole(arguments, 0)
        pages = sum(size // PAGE + 2 for size in self.sizes.values()) * 2 + 4
        steps = sorted({1 + (pages - 1) * point // max(1, self.options.points - 1) for point in range(self.options.points)})
        reports, temporary = self.folder / "small", self.folder / "disk/tmp"
        reports.mkdir(exist_ok=True)
        codes = [self.on_disk(arguments, whole, f"size={step * PAGE}", reports, target=reports) for step in steps]
        if 77 in codes:
            return "not tried: no file system can be mounted here"
        codes += [self.on_disk(arguments, whole, f"nr_inodes={count}", temporary) for count in (1, 2, 3, 4, 1000)]
        if {0, 3} - set(codes):
            self.wrong("disk", f"all runs end with {codes[0]}")
        return f"{len(steps)} sizes up to {pages} pages, 5 numbers of temporary files; room enough in {codes.count(0)}"

    def on_disk(self, arguments, whole, options, mount, target="."):
        """A run with a small file system at a folder. Its exit status."""
        name = "disk"
        copy = self.folder / name
        wrapper = ["unshare", *(["--map-root-user"] if os.getuid() else []), "--mount", "bash", "-c", ON_SMALL_DISK, "disk", options, str(mount), str(copy)]
        run = self.run(name, arguments, target=target, wrapper=wrapper)
        code, left = run.wait()
        self.wrong(f"disk with {options}", *left, *(f"{path.name} is left" for path in copy.glob("opcheck-c-*")))
        if code == 0:
            self.is_whole(name, whole)
        elif code == 3 and re.search(r"(?i)no space left", run.said()) and re.search(r"free some space|make room|set TMPDIR", run.said()):
            self.is_honest(name, whole)
        elif code != 77:
            self.wrong(f"disk with {options}", f"exit status {code}: {run.said()[-300:]}")
        return code

    def calls(self):
        arguments = ("--op", "faults::right", "--op", "faults::wrong")
        whole = self.whole(arguments, 1)
        tries = max(2, self.options.points // 10)
        for seed in range(tries):
            run = self.run("calls", arguments, inject=f"calls:{self.options.seed * 1000 + seed}")
            code, left = run.wait()
            self.wrong(f"calls {seed}", *left)
            if code == 1:
                self.is_whole("calls", whole)
            else:
                self.wrong(f"calls {seed}", f"exit status {code}: {run.said()[-300:]}")
        return f"{tries} runs"

    def clock(self):
        arguments = ("--op", "faults::right", "--op", "faults::wrong")
        whole = self.whole(arguments, 1)
        tries = max(2, self.options.points // 10)
        for number in range(tries):
            at = int((time.monotonic() + self.random.uniform(0, self.seconds)) * 1e9)
            run = self.run("clock", arguments, inject=f"clock:{at}")
            code, left = run.wait()
            self.wrong(f"clock {number}", *left)
            if code in (0, 1, 5):  # an operator whose time is over at the jump is named as not checked
                self.is_whole("clock", whole, may_differ=True)
                if code != 1 and not re.search(r"not checked\n +operators +faults::\w+ \(budget\)", run.said()):
                    self.wrong(f"clock {number}", f"exit status {code}, and no operator is named: {run.said()[-300:]}")
            elif code in (3, 4):  # while a worker was started, or the library loaded
                self.is_honest("clock", whole)
            else:
                self.wrong(f"clock {number}", f"exit status {code}: {run.said()[-300:]}")
        return f"{tries} runs"

    def flood(self):
        arguments = ("--op", "faults::chatty", "--op", "faults::flood", "--op", "faults::right", "--check", "alias,bitwise", "--timeout", "1")
        run = self.run("flood", arguments)
        code, left = run.wait()
        memory = resource.getrusage(resource.RUSAGE_CHILDREN).ru_maxrss  # of the largest process so far, workers included
        self.wrong("flood", *left)
        results = self.results("flood", "run.json")
        verdicts = {name: {verdict for case, (verdict, _) in results.items() if case.startswith(f"faults::{name}/")} for name in ("right", "chatty", "flood")}
        written = sum(path.stat().st_size for path in run.folder.glob("*") if path.is_file())
        if code != 1 or "pass" not in verdicts["right"] or "pass" not in verdicts["chatty"] or verdicts["right"] & {"fail", "error"}:
            self.wrong("flood", f"exit status {code}, verdicts {verdicts}")
        if not verdicts["flood"] & {"fail", "error"} or "pass" in verdicts["flood"]:
            self.wrong("flood", f"the operator that never ends: {verdicts['flood']}")
        if written > 32 << 20:
            self.wrong("flood", f"{written >> 20} MiB are written")
        return f"{len(results)} results, {written >> 10} KiB written, no process above {memory >> 10} MiB"

    def crowd(self):
        arguments = (*(word for number in range(self.options.crowd) for word in ("--op", f"fault_crowd::crash_{number}")), "--check", "alias")
        run = self.run("crowd", arguments, library="fault_crowd")
        began = time.monotonic()
        code, left = run.wait()
        self.wrong("crowd", *left)
        results = self.results("crowd", "run.json")
        crashed = {case.split("/")[0] for case, (verdict, rule) in results.items() if verdict == "error" and rule.startswith("signal.")}
        if code != 1 or len(crashed) != self.options.crowd:
            self.wrong("crowd", f"exit status {code}; {len(crashed)} operators of {self.options.crowd} crash by the report")
        return f"{len(crashed)} operators, {len(results)} results, {time.monotonic() - began:.0f} s"


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("opcheck")
    parser.add_argument("fixtures", type=pathlib.Path)
    parser.add_argument("folder", type=pathlib.Path)
    parser.add_argument("parts", nargs="*", metavar="PART")
    parser.add_argument("--seed", type=int, default=0)
    parser.add_argument("--points", type=int, default=200)
    parser.add_argument("--crowd", type=int, default=1000)
    parser.add_argument("--alone", action="store_true", help="nothing else runs on this machine: shared memory that is new was left by a run")
    options = parser.parse_intermixed_args()
    options.opcheck, options.fixtures = os.path.abspath(options.opcheck), options.fixtures.resolve()  # each run has a folder of its own
    parts = ("kill", "disk", "calls", "clock", "flood", "crowd")
    unknown = [part for part in options.parts if part not in parts]
    if unknown:
        parser.error(f"no part {unknown[0]}; there are {', '.join(parts)}")
    ctypes.CDLL(None).prctl(SUBREAPER, 1, 0, 0, 0)
    breaks, before = Breaks(options), shared_memory()
    for part in options.parts or parts:
        count, began, mistakes = breaks.count, time.monotonic(), len(breaks.mistakes)
        text = getattr(breaks, part)()
        if options.alone and shared_memory() - before:
            breaks.wrong(part, f"shared memory is left: {', '.join(sorted(shared_memory() - before))}")
        print(f"{part}: {breaks.count - count} runs in {time.monotonic() - began:.0f} s; {text}; {len(breaks.mistakes) - mistakes} mistakes", flush=True)
    print("\n".join(breaks.mistakes))
    return 1 if breaks.mistakes else 0


if __name__ == "__main__":
    sys.exit(main())
