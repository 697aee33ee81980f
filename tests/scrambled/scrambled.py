#!/usr/bin/env python3
"""Runs the parts of scripts/verdicts with the programs of BUILD and with their scrambled twins (harness/base/text.h): the verdict lists must be equal, and
every message must differ. Where they are not, both run again: what a busy machine made of a case (a timeout) is no mistake.

    scrambled.py BUILD PART…"""

import importlib.machinery
import importlib.util
import pathlib
import re
import sys
import tempfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
SHOWN = 40


def load_verdicts():
    loader = importlib.machinery.SourceFileLoader("verdicts", str(ROOT / "scripts/verdicts"))
    module = importlib.util.module_from_spec(importlib.util.spec_from_loader("verdicts", loader))
    sys.dont_write_bytecode = True
    loader.exec_module(module)
    return module


def run_both(verdicts, build, part, arguments, folder):
    """The results of the two programs, and the rows that only one of them has, with its sign in front."""
    usual, other = (verdicts.results_of(program / "bin/opcheck-c", arguments, folder) for program in (build, build / "scrambled"))
    rows, other_rows = ({" ".join(verdicts.row_of(part, result)) for result in results} for results in (usual, other))
    return usual, other, [f"- {row}" for row in sorted(rows - other_rows)] + [f"+ {row}" for row in sorted(other_rows - rows)]


def main():
    verdicts, build, parts = load_verdicts(), pathlib.Path(sys.argv[1]), sys.argv[2:]
    mistakes, cases = [], 0
    with tempfile.TemporaryDirectory() as temporary:
        folder = pathlib.Path(temporary)
        for part in parts:
            commands = verdicts.commands_of(part, build)
            if not commands:
                mistakes.append(f"{part}: it is not built")
            for arguments in commands:
                usual, other, differing = run_both(verdicts, build, part, arguments, folder)
                if differing:
                    again = {row.split()[2] for row in run_both(verdicts, build, part, arguments, folder)[2]}  # SIGN PART CASE ...
                    differing = [row for row in differing if row.split()[2] in again]
                words = {result["message"] for result in usual if re.search("[a-z]", result["message"])}
                mistakes += differing
                mistakes += [f"{part}: {result['case']} has its usual message: {result['message']}" for result in other if result["message"] in words]
                cases += len(usual)
    print("\n".join(mistakes[:SHOWN]))
    print(f"{cases} results, {len(mistakes)} mistakes")
    return 1 if mistakes or not cases else 0


if __name__ == "__main__":
    sys.exit(main())
