#!/usr/bin/env python3
"""Looks up in the installed libtorch what harness/bridge/api/torch_texts.def expects its exceptions to say.

    torch_texts.py TORCH_FOLDER"""

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


def main(torch):
    text = TABLE.read_text(encoding="utf-8")
    rows = ROW.findall(text)
    if len(rows) != len(re.findall(r"^OPC_TORCH_TEXT\(", text, re.MULTILINE)):
        sys.exit(f"{TABLE}: not every row could be read")
    cpu_first = sorted(torch.glob("lib/lib*.so*"), key=lambda path: ("torch_cpu" not in path.name, path.stat().st_size))
    files = {"LIBRARY": cpu_first, "PYTHON": sorted(torch.glob("_library/*.py"))}
    if not files["LIBRARY"]:
        print(f"SKIP: no libraries of libtorch in {torch}")
        sys.exit(77)
    missing = 0
    for meaning, whole, where, proof, versions in rows:
        if where == "APART":
            continue
        if where == "PYTHON" and not files["PYTHON"]:
            print(f"not looked up, because this libtorch has no Python: {whole}")
        elif proof not in whole or not versions or not any(is_in(path, proof) for path in files[where]):
            print(f"{meaning}: {proof!r} is nowhere in {torch}", file=sys.stderr)
            missing += 1
    print(f"{len(rows)} texts, {missing} missing")
    sys.exit(1 if missing else 0)


if __name__ == "__main__":
    main(pathlib.Path(sys.argv[1]))
