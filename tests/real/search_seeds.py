"""Every operator of a library gets arguments, whatever the seed.

    search_seeds.py OPCHECK_C PACKAGE LIBRARY SEED…"""

import json
import os
import subprocess
import sys
import tempfile

from real_library import library_of


def main():
    tool, package, library = sys.argv[1:4]
    path = library_of(package, library.split(","))
    problems, tries = [], 0
    for seed in sys.argv[4:]:
        with tempfile.TemporaryDirectory() as folder:
            report = os.path.join(folder, "report.json")
            command = [tool, "run", "--device", "cpu", "--check", "mutation", "--seed", seed, "--json", report, path]
            ended = subprocess.run(command, stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, errors="replace", check=False)
            if ended.returncode not in (0, 1):
                sys.exit(f"{' '.join(command)}: exit {ended.returncode}\n{ended.stdout}")
            with open(report, encoding="utf-8") as stream:
                searched = {o["name"]: o for o in json.load(stream)["operators"] if "search" in o}
        if not searched:
            problems.append(f"seed {seed}: nothing was searched")
        for name, operator in searched.items():
            tries += operator["search"]["tries"]
            if operator["search"]["state"] not in ("rich", "found"):
                problems.append(f"seed {seed}: {name}: {operator['search']['state']}: {operator.get('sample_detail')}")
    print(f"{len(sys.argv[4:])} seeds, {tries} tries")
    if problems:
        sys.exit("\n".join(problems))


if __name__ == "__main__":
    main()
