"""torch.library.opcheck on operators and their samples: what scripts/bench compares opcheck-c with.

    python_opcheck.py LIBRARY SAMPLES [OPERATOR…]    checks them as a test suite would, in this process; each failure is a line
    python_opcheck.py --plan                         reads a plan from standard input, and writes a JSON line for each of its operators

A plan: {"timeout": seconds, "memory": MiB, "folder": of relative files and modules, "costs": false where nobody asks what the tests cost,
"once" where nobody asks for more than what is called so below, "libraries":
[{"library": FILE or null, "fakes": MODULE or null, "operators": {"ns::op": [SAMPLE, …]}}]}.
Each operator runs in a fork of this process, which has imported torch and warmed opcheck up: a crash or a hang ends nothing but itself, and
no operator pays for imports. A line: {"operator", "end": "ran" | "died" | "hung" | "unusable", "how": words,
"test": the last one begun, "turn": "first" | "again" | "grad" | "once", "failures": {test: first line},
"again": {test: CPU seconds with everything warm, the operator too},
"once": {test: CPU seconds of its first run on the operator, everything else being warm: what a suite pays that calls opcheck once for each operator},
"grad": the same of the tests that pass on the same sample with inputs that require grad, without which opcheck tests no gradient; {}: nothing can}."""

import importlib
import json
import os
import resource
import select
import signal
import sys
import time

os.environ.pop("CI", None)  # torch turns a warning of its own into an error where it is set: verdicts are not to depend on that

import torch
from torch.testing._internal.optests.generate_tests import ALL_TEST_UTILS, DEFAULT_TEST_UTILS

from python_arguments import Arguments, Unusable, made_up


def find_operator(name):
    namespace, _, name = name.partition("::")
    name, _, overload = name.partition(".")
    try:
        return getattr(getattr(getattr(torch.ops, namespace), name), overload or "default")
    except AttributeError:
        raise Unusable("no such operator: there is no schema to call it by") from None


def run_test(operator, sample, test, grad=False):
    """CPU seconds, all threads, and the first line of what failed or None."""
    arguments = Arguments(sample, operator._schema, grad=grad)
    began = time.process_time()
    result = torch.library.opcheck(operator, arguments.args, arguments.kwargs, test_utils=(test,), raise_exception=False)[test]
    seconds = time.process_time() - began
    if not isinstance(result, BaseException):
        return seconds, None
    lines = str(result).strip().splitlines() or [""]
    return seconds, f"{type(result).__name__}: {lines[0]}"


AGAIN = 3  # times, of which the least counts


# ---- one operator in a process of its own ----


def valid_samples(samples):
    return [sample for sample in samples if not sample.get("expect", {}).get("rejects", False)]


def load(library, fakes, name, samples):
    """The operator, and the samples that it takes."""
    if library:
        torch.ops.load_library(library)
    if fakes:
        sys.path.insert(0, os.getcwd())
        importlib.import_module(fakes)
    operator = find_operator(name)
    usable = valid_samples(samples) if samples else [made_up(operator._schema)]
    if not usable:
        raise Unusable("every sample is one that the operator has to reject")
    return operator, usable


def run_turn(operator, turn, sample, tests, tell):
    for test in tests:
        tell({"turn": turn, "test": test})
        seconds, failure = run_test(operator, sample, test, grad=turn == "grad")
        tell({"turn": turn, "test": test, "seconds": seconds, "failure": failure})


def verdicts(operator, usable, tell):
    """All tests on each sample."""
    for sample in usable:
        run_turn(operator, "first", sample, ALL_TEST_UTILS, tell)


def verdicts_and_costs(operator, usable, tell):
    """The verdicts; then the first sample again, for the time that the tests take with everything warm."""
    verdicts(operator, usable, tell)
    turns = [("again", usable[0])] * AGAIN
    if Arguments(usable[0], operator._schema, grad=True).tracked:
        turns += [("grad", usable[0])] * AGAIN
    for turn, sample in turns:
        run_turn(operator, turn, sample, ALL_TEST_UTILS, tell)


def first_cost(operator, usable, tell):
    """The default tests once. Another operator's tests come first, so that no page is left that the fork would have to copy for them, and nothing that
    the first backward imports where the sample has gradients."""
    grad = '"requires_grad": true' in json.dumps(usable[0])
    torch.library.opcheck(torch.ops.opcheck_c_bench.copy.default, (torch.ones(2, 3, requires_grad=grad),), raise_exception=False)
    run_turn(operator, "once", usable[0], DEFAULT_TEST_UTILS, tell)


def child_main(body, library, fakes, name, samples, memory, pipe):
    """Never returns: what an operator did to the process must not reach the parent's exit."""
    out = os.fdopen(pipe, "w", buffering=1, encoding="utf-8")

    def tell(message):
        out.write(json.dumps(message) + "\n")

    quiet = os.open(os.devnull, os.O_RDWR)
    for fd in (0, 1, 2):
        os.dup2(quiet, fd)
    resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
    with open("/proc/self/statm", encoding="ascii") as stream:
        mapped = int(stream.read().split()[0]) * resource.getpagesize()
    resource.setrlimit(resource.RLIMIT_AS, (mapped + (memory << 20),) * 2)
    try:
        body(*load(library, fakes, name, samples), tell)
        tell({"end": "ran"})
    except Unusable as why:
        tell({"end": "unusable", "how": str(why)})
    except BaseException as error:
        tell({"end": "died", "how": f"{type(error).__name__}: {error}"})
    finally:
        os._exit(0)


def read_until(pipe, deadline):
    """Everything the child told, and whether it kept to its time."""
    told = b""
    while True:
        left = deadline - time.monotonic()
        ready, _, _ = select.select([pipe], [], [], max(left, 0))
        if not ready:
            return told, False
        piece = os.read(pipe, 1 << 16)
        if not piece:
            return told, True
        told += piece


def end_of(pid, patience):
    """How a child that has nothing more to tell ended; after its seconds of patience it is killed."""
    deadline = time.monotonic() + patience
    while True:
        ended, status = os.waitpid(pid, os.WNOHANG)
        if ended:
            return os.waitstatus_to_exitcode(status)
        if time.monotonic() >= deadline:
            os.kill(pid, signal.SIGKILL)
            deadline = float("inf")
        time.sleep(0.001)


def fold(messages):
    """One row of the child's messages."""
    row = {"failures": {}, "again": {}, "grad": {}, "once": {}}
    for message in messages:
        if "end" in message:
            row.update(message)
        elif "seconds" not in message:
            row.update(message)  # the test, and which turn of it
        elif message["turn"] in ("again", "once") or (message["turn"] == "grad" and not message["failure"]):
            least = row[message["turn"]]
            least[message["test"]] = min(message["seconds"], least.get(message["test"], message["seconds"]))
        elif message["failure"] and message["turn"] == "first":
            row["failures"].setdefault(message["test"], message["failure"])
    return row


def run_child(body, library, fakes, name, samples, plan):
    """Its messages, whether it kept to its time, and how it ended."""
    reader, writer = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(reader)
        child_main(body, library, fakes, name, samples, plan["memory"], writer)
    os.close(writer)
    told, in_time = read_until(reader, time.monotonic() + plan["timeout"])
    os.close(reader)
    status = end_of(pid, 1 if in_time else 0)
    return [json.loads(line) for line in told.decode("utf-8", "replace").splitlines() if line.endswith("}")], in_time, status


def cost_once(library, fakes, name, samples, plan):
    return fold([message for _ in range(AGAIN) for message in run_child(first_cost, library, fakes, name, samples, plan)[0]])


def check_operator(library, fakes, name, samples, plan):
    if plan["costs"] == "once":
        return {"operator": name, **cost_once(library, fakes, name, samples, plan)}
    messages, in_time, status = run_child(verdicts_and_costs if plan["costs"] else verdicts, library, fakes, name, samples, plan)
    row = fold(messages)
    if not in_time:
        row.update(end="hung", how=f"no end within {plan['timeout']} s")
    elif "end" not in row:
        row.update(end="died", how=signal.Signals(-status).name if status < 0 else f"exit {status}")
    elif row["end"] == "ran" and plan["costs"]:
        row["once"] = cost_once(library, fakes, name, samples, plan)["once"]
    if row.get("turn") in ("again", "grad"):
        row["end"] = "ran"  # that is for the time alone: whoever calls opcheck once has all verdicts by then
    return {"operator": name, **row}


# ---- a whole plan ----


def warm_up():
    """Imports everything and fills what opcheck caches, so that the first operator pays for no more than the others. No backward: autograd refuses to
    run in a fork of a process where it has run."""
    operator = torch.library.custom_op("opcheck_c_bench::copy", torch.clone, mutates_args=(), schema="(Tensor x) -> Tensor")
    operator.register_fake(torch.empty_like)
    operator.register_autograd(lambda ctx, grad: grad)
    for _ in range(2):
        torch.library.opcheck(operator, (torch.ones(2, 3),), test_utils="ALL")


def run_plan(plan):
    warm_up()
    head = {"torch": torch.__version__, "python": sys.version.split()[0], "tests": list(ALL_TEST_UTILS), "default": list(DEFAULT_TEST_UTILS)}
    print(json.dumps(head), flush=True)
    os.chdir(plan["folder"])
    for library in plan["libraries"]:
        for name, samples in library["operators"].items():
            print(json.dumps(check_operator(library["library"], library.get("fakes"), name, samples, plan)), flush=True)


def run_suite(library, samples, operators):
    torch.ops.load_library(library)
    with open(samples, encoding="utf-8") as stream:
        listed = json.load(stream)["samples"]
    for sample in valid_samples(listed):
        if operators and sample["operator"] not in operators:
            continue
        operator = find_operator(sample["operator"])
        arguments = Arguments(sample, operator._schema)
        results = torch.library.opcheck(operator, arguments.args, arguments.kwargs, raise_exception=False)
        for test, result in results.items():
            if result != "SUCCESS":
                print(f"{sample['operator']}: {test}: {result}")


if __name__ == "__main__":
    if sys.argv[1:] == ["--plan"]:
        run_plan(json.load(sys.stdin))
    else:
        run_suite(sys.argv[1], sys.argv[2], sys.argv[3:])
