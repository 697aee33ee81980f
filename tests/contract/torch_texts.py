#!/usr/bin/env python3
"""Looks up in the installed libtorch what harness/bridge/api/torch_texts.def expects its exceptions to say.

    torch_texts.py TORCH_FOLDER

A text must be there from the version on that its row names, and not before."""

import mmap
import pathlib
import re
import sys

TABLE = pathlib.Path(__file__).resolve().parents[2] / "harness/bridge/api/torch_texts.def"
ROW = re.compile(r'^OPC_TORCH_TEXT\((\w+), "([^"]*)", "[^"]*", (\w+),\s*"([^"]*)",\s*"([^"]*)"\)', re.MULTILINE)


def is_in(path, proof):
    if not path.stat().st_size:
        return False
    with path.open("rb") as file, mmap.mmap(file.fileno(), 0, access=mmap.ACCESS_READ) as content:
        return content.find(proof.encode()) >= 0


def version_of(torch):
    """2.11, from the headers."""
    for header in ("include/torch/headeronly/version.h", "include/torch/csrc/api/include/torch/version.h"):
        if (torch / header).is_file():
            numbers = dict(re.findall(r"^#define TORCH_VERSION_(MAJOR|MINOR) (\d+)$", (torch / header).read_text(encoding="utf-8"), re.MULTILINE))
            if len(numbers) == 2:
                return f"{numbers['MAJOR']}.{numbers['MINOR']}"
    sys.exit(f"no version in the headers of {torch}")


def number(version):
    return [int(part) for part in version.split(".")]


def main(torch):
    text = TABLE.read_text(encoding="utf-8")
    rows = ROW.findall(text)
    if len(rows) != len(re.findall(r"^OPC_TORCH_TEXT\(", text, re.MULTILINE)):
        sys.exit(f"{TABLE}: not every row could be read")
    cpu_first = sorted(torch.glob("lib/lib*.so*"), key=lambda path: ("torch_cpu" not in path.name, path.stat().st_size))
    files = {"LIBRARY": cpu_first, "PYTHON": [*sorted(torch.glob("_library/*.py")), *torch.glob("_ops.py")]}
    if not files["LIBRARY"]:
        print(f"SKIP: no libraries of libtorch in {torch}")
        sys.exit(77)
    version = version_of(torch)
    wrong = 0
    for meaning, whole, where, proof, since in rows:
        if where == "APART":
            continue
        if where == "PYTHON" and not files["PYTHON"]:
            print(f"not looked up, because this libtorch has no Python: {whole}")
            continue
        stated, found = number(version) >= number(since), any(is_in(path, proof) for path in files[where])
        if proof not in whole or stated != found:
            print(f"{meaning}: {proof!r} is {'there' if found else 'missing'} in libtorch {version}; its row says since {since}", file=sys.stderr)
            wrong += 1
    print(f"{len(rows)} texts, {wrong} wrong")
    sys.exit(1 if wrong else 0)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
