#!/usr/bin/env python3
"""kernel_places.py OPCHECK_C LIBRARY SOURCE FOLDER: findings name the function of the kernel and the line of its definition, however it was registered; without debug information
its name and an offset. Standard library only."""

import json
import os
import re
import shutil
import subprocess
import sys


def marks_of(source):
    """By operator, the line that has its mark."""
    with open(source, encoding="utf-8") as stream:
        lines = stream.read().splitlines()
    return {found[1]: number for number, line in enumerate(lines, 1) if (found := re.search(r"// where: (\w+)$", line))}


def places_of(opcheck, library, report):
    """By operator, the problem of check alias or meta."""
    subprocess.run([opcheck, "run", "--check", "alias,meta", "--op", "kernel_places::*", "--json", report, library], capture_output=True, check=False)
    with open(report, encoding="utf-8") as stream:
        problems = json.load(stream)["problems"]
    return {name.removeprefix("kernel_places::"): problem for problem in problems for name in problem["operators"]}


# How a report names the function.
FUNCTIONS = {"of_pointer": "of_pointer", "of_template_argument": "of_template_argument", "of_static": "of_static", "overloaded": "places::overloaded",
             "of_template": "places::of_template", "member": "places::Kernels::member", "functor": "places::Functor::operator", "boxed": "places::boxed",
             "of_lambda": "lambda", "meta": "places::shape_of_two", "of_stable": "places::of_stable"}


def main():
    opcheck, library, source, folder = sys.argv[1:]
    os.makedirs(folder, exist_ok=True)
    failed = []
    marks = marks_of(source)
    found = places_of(opcheck, library, os.path.join(folder, "whole.json"))
    if "of_stable" not in found:
        marks.pop("of_stable")  # this libtorch has no TORCH_BOX
    if sorted(found) != sorted(marks):
        failed.append(f"problems of {sorted(found)}, expected of {sorted(marks)}")
    for name in sorted(set(found) & set(marks)):
        problem, expected = found[name], f"{FUNCTIONS[name]} ({os.path.basename(source)}:{marks[name]})"
        if problem["location"] != expected or problem.get("line") != marks[name] or not problem.get("file", "").endswith(os.path.basename(source)):
            failed.append(f"{name}: {problem['location']}, line {problem.get('line')}; expected {expected}")

    stripped = os.path.join(folder, "libkernel_places.so")
    shutil.copy(library, stripped)
    subprocess.run(["strip", "--strip-debug", stripped], check=True)
    for name, problem in sorted(places_of(opcheck, stripped, os.path.join(folder, "stripped.json")).items()):
        expected = r"kernel" if name == "of_lambda" else re.escape(FUNCTIONS[name])
        if not re.fullmatch(rf"({expected}|lambda) \(libkernel_places\.so\+0x[0-9a-f]+\)", problem["location"] or "") or "file" in problem:
            failed.append(f"{name}, without debug information: {problem['location']}")
    print("\n".join(failed))
    return 1 if failed else 0


sys.exit(main())
