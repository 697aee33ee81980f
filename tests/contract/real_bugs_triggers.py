#!/usr/bin/env python3
"""Calls each bug of fixtures/real_bugs and its fixed twin, to show that the bug is one: they agree on the plain sample and differ on the trigger.

Run by a Python that has torch. Each call runs in a process of its own. What two calls may differ in: how they end (a result, an exception, a signal), values,
sizes, strides and dtypes of the results, arguments that were changed, for a bug of kind "autograd" gradients, for one of kind "second derivative" those of the
gradients, too, and for one of kind "meta" what the Meta kernel says.
A bug whose calls never differ has a field "proof" in the expectation file, which says why it is one all the same.
"""
import argparse
import json
import os
import pathlib
import re
import resource
import sys
import tempfile

import torch

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
sys.path.insert(0, str(ROOT / "tests/bench"))
from python_arguments import Arguments  # noqa: E402

CLOSE = {"rtol": 1e-5, "atol": 1e-6, "equal_nan": True}
DERIVED = ("autograd", "second derivative")


def samples_of(path, what):
    with open(re.sub(r"\.expect\.json$", f".{what}.json", path), encoding="utf-8") as file:
        return {sample["operator"]: sample for sample in json.load(file)["samples"]}


def tensors_of(value):
    if isinstance(value, torch.Tensor):
        return [value]
    return [tensor for item in value for tensor in tensors_of(item)] if isinstance(value, (list, tuple)) else []


def layout_of(result):
    return [(tuple(tensor.shape), str(tensor.dtype), tensor.stride()) for tensor in tensors_of(result)]


def on_meta(value):
    if isinstance(value, torch.Tensor):
        return value.to("meta")
    return type(value)(map(on_meta, value)) if isinstance(value, (list, tuple)) else value


def gradients_of(leaves, result, again):
    """Of the results' sum with weights of both signs; `again` of those gradients, too."""
    results = [tensor for tensor in tensors_of(result) if tensor is not None and tensor.requires_grad]
    if not results:
        return [None for _ in leaves]
    total = sum((tensor * torch.arange(1, tensor.numel() + 1).cos().neg().reshape(tensor.shape).to(tensor.dtype)).sum() for tensor in results)
    gradients = torch.autograd.grad(total, leaves, allow_unused=True, create_graph=again)
    return [*gradients, *gradients_of(leaves, list(gradients), False)] if again else gradients


def call(library, sample, kind):
    torch.ops.load_library(library)
    namespace, name = sample["operator"].split("::")
    operator = getattr(getattr(torch.ops, namespace), name).default
    arguments = Arguments(sample, operator._schema, grad=kind in DERIVED)
    given = tensors_of([arguments.args, list(arguments.kwargs.values())])
    try:
        result = operator(*arguments.args, **arguments.kwargs)
        leaves = [tensor for tensor in given if tensor.requires_grad]
        gradients = gradients_of(leaves, result, kind == "second derivative") if kind in DERIVED else []
    except Exception as error:  # noqa: BLE001
        return {"end": f"{type(error).__name__}", "says": str(error).split("\n", maxsplit=1)[0]}
    meta = layout_of(operator(*map(on_meta, arguments.args), **{key: on_meta(value) for key, value in arguments.kwargs.items()})) if kind == "meta" else []
    detached = [tensor.detach().clone() for tensor in tensors_of(result)]
    return {"end": "a result", "layout": layout_of(result), "values": detached, "arguments": [tensor.detach().clone() for tensor in given],
            "gradients": [None if gradient is None else gradient.detach() for gradient in gradients], "meta": meta}


def outcome(library, sample, kind):
    """What a call gives, in a child: an operator may end the process or damage its memory."""
    with tempfile.NamedTemporaryFile() as file:
        pid = os.fork()
        if pid == 0:
            resource.setrlimit(resource.RLIMIT_CORE, (0, 0))
            try:
                torch.save(call(library, sample, kind), file.name)
                os._exit(0)
            except BaseException as error:  # noqa: BLE001
                print(f"{sample['operator']}: {type(error).__name__}: {error}", file=sys.stderr)
                os._exit(1)
        status = os.waitstatus_to_exitcode(os.waitpid(pid, 0)[1])
        if status == 1:
            sys.exit("a call could not be made")
        return {"end": f"signal {-status}"} if status else torch.load(file.name)


def alike(one, other):
    if one is None or other is None:
        return one is other
    if one.shape != other.shape or one.dtype != other.dtype:
        return False
    return torch.allclose(one.double(), other.double(), **CLOSE) if one.is_floating_point() else torch.equal(one, other)


def differences(broken, fixed, kind):
    """What two calls differ in, as words."""
    if broken["end"] != fixed["end"] or broken["end"] != "a result":
        return [] if broken == fixed else [f"{broken['end']} against {fixed['end']}"]
    found = [word for word, part in (("layout", "layout"), ("Meta kernel", "meta")) if broken[part] != fixed[part]]
    for word, part in (("values", "values"), ("a changed argument", "arguments"), ("gradients", "gradients")):
        if len(broken[part]) != len(fixed[part]) or not all(map(alike, broken[part], fixed[part])):
            found.append(word)
    return found


def check(folder, path):
    library = os.path.join(folder, f"libreal_{os.path.basename(path).removesuffix('.expect.json')}.so")
    with open(path, encoding="utf-8") as file:
        expectations = json.load(file)["operators"]
    plain, triggers, wrong = samples_of(path, "samples"), samples_of(path, "triggers"), []
    for name, expectation in expectations.items():
        if expectation["primary"] is None:
            continue
        twin, kind = expectation["twin"], expectation["kind"]
        if plain[name] | {"operator": twin} != plain[twin] or triggers[name] | {"operator": twin} != triggers[twin]:
            wrong.append(f"{name}: its calls are not its twin's")
        says = {}
        for what, samples, judged in (("plain", plain, "value"), ("trigger", triggers, kind)):
            broken, fixed = (outcome(library, samples[one], judged) for one in (name, twin))
            if what == "plain" and fixed["end"] != "a result":
                wrong.append(f"{twin}: the plain sample ends with {fixed}")
            says[what] = differences(broken, fixed, judged)
        if says["plain"]:
            wrong.append(f"{name}: differs from its twin on the plain sample: {', '.join(says['plain'])}")
        if not says["trigger"] and "proof" not in expectation:
            wrong.append(f"{name}: does not differ from its twin on the trigger")
        print(f"{name:60} {', '.join(says['trigger']) or 'no difference: ' + expectation.get('proof', '')}")
    return wrong


def main():
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--folder", required=True, help="the folder of the libraries")
    parser.add_argument("expectation", nargs="+")
    options = parser.parse_args()
    torch.set_num_threads(1)  # a child of a process with a pool of threads waits for them for ever
    wrong = [line for path in options.expectation for line in check(options.folder, path)]
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
