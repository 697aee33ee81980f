#!/usr/bin/env python3
"""page.py OPCHECK_C PYTHON SOURCE PAGE FOLDER: runs the lines of the page for Python projects as they are, from pytest and from CTest.

Of the page's section "From pytest and CTest", the command line of pytest runs with the plugin in SOURCE, and the block of CMake becomes part of a
CMakeLists.txt. Both run twice: on a my_package.ops that is correct, and on one that is broken and must fail. Without pytest only CMake's are run."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

SECTION = "## From pytest and CTest"
OPERATOR = """import torch


@torch.library.custom_op("my_ops::one_more", mutates_args=())
def one_more(x: torch.Tensor) -> torch.Tensor:
    return x + 1


one_more.register_fake(lambda x: torch.empty_like({fake}))
"""
CMAKE = """cmake_minimum_required(VERSION 3.18)
project(my_project LANGUAGES NONE)
find_package(Python3 COMPONENTS Interpreter REQUIRED)
enable_testing()
"""


def block(section, kind):
    found = re.findall(rf"^```{kind}\n(.*?)^```$", section, re.MULTILINE | re.DOTALL)
    if len(found) != 1:
        sys.exit(f"{SECTION} has {len(found)} blocks of {kind}, expected one")
    return found[0]


def run(command, folder, **variables):
    return subprocess.run(command, cwd=folder, env={**os.environ, **variables}, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)


def mistakes(what, ended, wanted, text):
    if (ended.returncode == 0) != wanted or text not in ended.stdout:
        yield f'{what}: exit status {ended.returncode}, expected {"0" if wanted else "another than 0"} and "{text}"\n{ended.stdout}'


def main():
    tool, python, source, page, folder = sys.argv[1:]
    text = pathlib.Path(page).read_text(encoding="utf-8")
    section = text[text.index(SECTION) + 1 :].partition("\n## ")[0]
    shutil.rmtree(folder, ignore_errors=True)
    package, build = pathlib.Path(folder, "my_package"), pathlib.Path(folder, "build")
    package.mkdir(parents=True)
    package.joinpath("__init__.py").touch()
    by_pytest = block(section, "sh").partition("#")[0].split()
    if by_pytest[:3] != ["python3", "-m", "pytest"]:
        sys.exit(f"{SECTION}: the line for pytest is {by_pytest}")
    pathlib.Path(folder, "CMakeLists.txt").write_text(CMAKE + block(section, "cmake"), encoding="utf-8")
    has_pytest = subprocess.run([python, "-c", "import pytest"], capture_output=True, check=False).returncode == 0
    print("with pytest" if has_pytest else "pytest is not installed: its line is left out")
    by_pytest = [python, "-m", "pytest", "-p", "opcheck_c.pytest_plugin", *by_pytest[3:]]
    path = {"PATH": os.pathsep.join([str(pathlib.Path(tool).parent), os.environ["PATH"]]),
            "PYTHONPATH": os.pathsep.join([folder, str(pathlib.Path(source, "scripts/packaging"))]), "PYTHONDONTWRITEBYTECODE": "1"}  # fmt: skip
    wrong = list(mistakes("cmake", run(["cmake", "-S", folder, "-B", str(build), f"-DPython3_EXECUTABLE={python}"], folder, **path), True, ""))
    for fake, correct in (("x + 1", True), ("x.flatten()", False)):
        package.joinpath("ops.py").write_text(OPERATOR.format(fake=fake), encoding="utf-8")
        says = "PASSED: 1 of 1" if correct else "meta.shape"
        if has_pytest:
            wrong += mistakes(f"pytest with {fake}", run(by_pytest, folder, **path), correct, says)
        wrong += mistakes(f"CTest with {fake}", run(["ctest", "-V"], build, **path), correct, says)
        report = build / "my_ops.xml"
        if ("<failure" in report.read_text(encoding="utf-8") if report.exists() else None) is not (not correct):
            wrong.append(f"CTest with {fake}: {report} does not say so")
    print("\n".join(wrong))
    return 1 if wrong else 0


if __name__ == "__main__":
    sys.exit(main())
