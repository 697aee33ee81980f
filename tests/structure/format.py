#!/usr/bin/env python3
"""format.py ROOT [DEPS]: clang-format 14 would change no source, with .clang-format as it is at the root.

Versions differ in what they write, so that it is 14 or none: clang-format-14, clang-format, or DEPS/venv*/bin/clang-format, which scripts/setup --full
installs. Without one the test is skipped (77).
"""
import glob
import os
import re
import shutil
import subprocess
import sys

import sources

ENDINGS = (".c", ".h", ".cpp", ".cu")
FOLDERS = ("harness/", "reports/", "ops/", "fixtures/", "tests/", "scripts/")
PROCESSES = 2


def find_program(deps):
    """A clang-format of version 14, or None."""
    for name in ["clang-format-14", "clang-format"] + sorted(glob.glob(os.path.join(glob.escape(deps), "venv*", "bin", "clang-format")) if deps else []):
        program = shutil.which(name)
        if program:
            shown = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
            if re.search(r"version 14\.", shown.stdout):
                return program
    return None


def main(root, deps):
    program = find_program(deps)
    if program is None:
        print("SKIP: there is no clang-format 14; scripts/setup --full installs one")
        return 77
    files = [path for path in sources.tree_files(root) if path.endswith(ENDINGS) and path.startswith(FOLDERS)]
    if not files:
        print(f"structure.format: there is no source in {root}")
        return 1
    running = [subprocess.Popen([program, "--dry-run", "-Werror", *files[part::PROCESSES]], cwd=root, stderr=subprocess.PIPE, text=True)
               for part in range(min(PROCESSES, len(files)))]
    shown = [process.communicate()[1] for process in running]
    wrong = sorted(set(re.findall(r"^(.+?):\d+:\d+: error: ", "".join(shown), re.M)))
    for path in wrong:
        print(f"{path}: clang-format would change this file")
    if wrong:
        print(f"structure.format: {len(wrong)} of {len(files)} files; to fix them, run from the root: {os.path.basename(program)} -i {' '.join(wrong)}")
    elif any(process.returncode for process in running):
        print(f"structure.format: {program} failed: {''.join(shown)[:2000]}")
    return 1 if any(process.returncode for process in running) else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2] if len(sys.argv) > 2 else ""))
