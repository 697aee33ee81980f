"""memcheck_inert.py OPCHECK_C TORCH_ROOT: a wheel's library runs under Valgrind with a libtorch that has neither Python nor CUDA.

What the library wants of those two is inert then: made up while it is loaded, which Valgrind has to follow."""

import json
import os
import subprocess
import sys
import tempfile

from real_library import library_of
from small_set import make_small

OPERATOR = "torchvision::nms"


def main():
    tool, root = sys.argv[1:3]
    library = library_of("torchvision", ["_C.so", "_C_stable.so"])
    with tempfile.TemporaryDirectory() as folder:
        report = os.path.join(folder, "report.json")
        command = [tool, "run", "--tool", "memcheck", "--torch", make_small(root, folder), "--op", OPERATOR, "--check", "memory", "--json", report, library]
        # Nobody asks here where a value comes from, and that costs a third more.
        environment = {**os.environ, "VALGRIND_OPTS": "--track-origins=no"}
        ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False, env=environment)
        if ended.returncode != 0:
            sys.exit(f"{' '.join(command)}: exit {ended.returncode}\n{ended.stdout}")
        with open(report, encoding="utf-8") as stream:
            found = json.load(stream)
    passed = sum(result["operator"] == OPERATOR and result["verdict"] == "pass" for result in found["results"])
    print(f"{passed} cases pass; {found['notes']}")
    if not found["run"]["complete"] or passed == 0 or not any("Valgrind watched" in note for note in found["notes"]):
        sys.exit(ended.stdout)


if __name__ == "__main__":
    main()
