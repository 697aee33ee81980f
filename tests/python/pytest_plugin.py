#!/usr/bin/env python3
"""pytest_plugin.py OPCHECK_C PYTHON SOURCE LIBRARY FOLDER: pytest --opcheck-c, as the wheel's plugin has it, on modules and a library, good and bad.

Exits with 77 where pytest is not installed."""

import os
import pathlib
import re
import shutil
import subprocess
import sys

OPERATOR = """import torch


@torch.library.custom_op("my_ops::one_more", mutates_args=())
def one_more(x: torch.Tensor) -> torch.Tensor:
    return x + 1


one_more.register_fake(lambda x: torch.empty_like({fake}))
"""
# What hides torch from the Python of pytest.
NO_TORCH = "import sys\nsys.modules['torch'] = None\n"


class Runner:
    def __init__(self, tool, python, source, folder):
        self.python, self.folder, self.wrong = python, pathlib.Path(folder), []
        path = os.pathsep.join([str(pathlib.Path(tool).parent), os.environ["PATH"]])
        packages = os.pathsep.join([str(pathlib.Path(source, "scripts/packaging")), str(self.folder)])
        self.environment = {**os.environ, "PATH": path, "PYTHONPATH": packages, "PYTHONDONTWRITEBYTECODE": "1"}

    def run(self, what, code, texts, *arguments):
        """texts: regular expressions that the output has; those that begin with "no:" it has not."""
        command = [self.python, "-m", "pytest", "-p", "opcheck_c.pytest_plugin", "-p", "no:cacheprovider", "-v", "--color=no", *arguments]
        ended = subprocess.run(command, cwd=self.folder, env=self.environment, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, check=False)
        bad = [text for text in texts if (re.search(text.removeprefix("no:"), ended.stdout) is None) is not text.startswith("no:")]
        if ended.returncode != code or bad:
            self.wrong.append(f"{what}: exit status {ended.returncode}, expected {code}; not as expected: {bad}\n{ended.stdout}")

    def write(self, name, text):
        path = self.folder / name
        path.parent.mkdir(parents=True, exist_ok=True)
        path.write_text(text, encoding="utf-8")


def modules(runner):
    """A module that is correct, one that is broken, and what goes wrong before either."""
    checks = "--opcheck-c-options=--check alias,meta,autograd"
    runner.write("my_package/__init__.py", "")
    runner.write("my_package/ops.py", OPERATOR.format(fake="x + 1"))
    runner.write("test_own.py", "def test_own():\n    pass\n")
    runner.run("a correct module", 0, [r"test_own PASSED", r"opcheck-c::my_ops::one_more/alias PASSED", r"one_more/meta PASSED", r"one_more/autograd SKIPPED",
                                       r"PASSED: 1 of 1 operators and classes checked", r"3 passed, 1 skipped"], "--opcheck-c=my_package.ops", checks)  # fmt: skip
    runner.run("one check of it", 0, [r"1 passed, 3 deselected"], "--opcheck-c=my_package.ops", checks, "-k", "opcheck-c and alias")
    runner.run("by the marker", 0, [r"2 passed, 1 skipped, 1 deselected"], "--opcheck-c=my_package.ops", checks, "-m", "opcheck_c")
    runner.write("my_package/ops.py", OPERATOR.format(fake="x.flatten()"))
    runner.run("a broken module", 1, [r"one_more/meta FAILED", r"one_more/alias PASSED", r"rule: meta.shape", r"repro: .*opcheck-c run --case", r"1 failed, 2 passed",
                                      "no:Traceback"], "--opcheck-c=my_package.ops", checks)  # fmt: skip
    runner.write("my_package/ops.py", OPERATOR.replace("one_more.register_fake", "_ = ").format(fake="1"))
    runner.run("a warning", 0, [r"one_more/meta PASSED", r"OpcheckWarning: .*there is no fake kernel"], "--opcheck-c=my_package.ops", checks)
    runner.run("a warning that counts", 1, [r"one_more/meta FAILED"], "--opcheck-c=my_package.ops", checks + " --strict")
    runner.run("a module that is not there", 1, [r"load no_such_module FAILED", r"ModuleNotFoundError"], "--opcheck-c=no_such_module")
    runner.run("too few checked", 1, [r"opcheck-c::run FAILED", r"no operators|nothing ran|NOTHING"], "--opcheck-c=json")
    runner.run("a wrong option", 4, [r"unknown option --strickt; did you mean --strict"], "--opcheck-c=my_package.ops", "--opcheck-c-options=--strickt")
    runner.run("options and nothing to check", 4, [r"name it with --opcheck-c TARGET"], "--opcheck-c-options=--strict")
    runner.write("no_torch.py", NO_TORCH)
    runner.run("without torch", 4, [r"has no torch, which a module with operators imports: pip install torch", "no:INTERNALERROR"],
               "-p", "no_torch", "--opcheck-c=my_package.ops")  # fmt: skip
    runner.run("without the option nothing changes", 0, [r"1 passed", "no:opcheck"], "test_own.py")


def main():
    tool, python, source, library, folder = sys.argv[1:]
    if subprocess.run([python, "-c", "import pytest"], capture_output=True, check=False).returncode != 0:
        print("pytest is not installed")
        return 77
    shutil.rmtree(folder, ignore_errors=True)
    pathlib.Path(folder).mkdir(parents=True)
    runner = Runner(tool, python, source, folder)
    modules(runner)
    runner.run("a library", 0, [r"identity_conv_op/alias PASSED", r"PASSED: 2 of 2"], f"--opcheck-c={library}", "-k", "opcheck-c")
    print("\n".join(runner.wrong))
    return 1 if runner.wrong else 0


if __name__ == "__main__":
    sys.exit(main())
