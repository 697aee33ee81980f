#!/usr/bin/env python3
"""make_wheel.py STAGE LICENSES PLATFORM OUT: packs STAGE/opcheck_c, an installed opcheck-c, as a wheel, and prints its path.

LICENSES is a folder with a text for each bundled library. PLATFORM is linux_x86_64, say; auditwheel replaces it by a manylinux tag."""

import base64
import hashlib
import pathlib
import re
import sys
import zipfile

ROOT = pathlib.Path(__file__).resolve().parent.parent.parent
ENTRY_POINTS = """[console_scripts]
opcheck-c = opcheck_c.__main__:main

[pytest11]
opcheck-c = opcheck_c.pytest_plugin
"""
SUMMARY = "Test harness for PyTorch custom operators in shared libraries"


def version():
    return re.search(r"project\(opcheck-c VERSION ([0-9.]+)", (ROOT / "CMakeLists.txt").read_text(encoding="utf-8")).group(1)


def metadata(number, licenses):
    head = ["Metadata-Version: 2.4", "Name: opcheck-c", f"Version: {number}", f"Summary: {SUMMARY}", "License-Expression: MIT",
            *(f"License-File: {name}" for name in licenses), "Requires-Python: >=3.8", "Description-Content-Type: text/markdown"]  # fmt: skip
    text = (ROOT / "scripts/packaging/README.md").read_text(encoding="utf-8")
    return "\n".join(head) + "\n\n" + text


def content(stage, licenses, platform, number):
    """{path in the wheel: (bytes, whether it can be executed)}"""
    files = {}
    for folder in (ROOT / "scripts/packaging/opcheck_c", stage / "opcheck_c"):
        for path in sorted(folder.rglob("*")):
            if path.is_file() and path.suffix != ".pyc":
                name = path.relative_to(folder)
                # The manual page and completions: shells and man look for them beside the environment's bin.
                place = f"opcheck_c-{number}.data/data/{name}" if name.parts[0] == "share" else f"opcheck_c/{name}"
                files[place] = path.read_bytes(), bool(path.stat().st_mode & 0o111)
    files["opcheck_c/ci.sh"] = (ROOT / "scripts/ci/opcheck.sh").read_bytes(), True
    info = f"opcheck_c-{number}.dist-info"
    texts = {"LICENSE": ROOT / "LICENSE", **{f"{path.name}": path for path in sorted(licenses.iterdir())}}
    for name, path in texts.items():
        files[f"{info}/licenses/{name}"] = path.read_bytes(), False
    files[f"{info}/METADATA"] = metadata(number, texts).encode(), False
    files[f"{info}/WHEEL"] = f"Wheel-Version: 1.0\nGenerator: opcheck-c\nRoot-Is-Purelib: false\nTag: py3-none-{platform}\n".encode(), False
    files[f"{info}/entry_points.txt"] = ENTRY_POINTS.encode(), False
    return info, files


def write(target, info, files):
    record = []
    with zipfile.ZipFile(target, "w", zipfile.ZIP_DEFLATED, compresslevel=9) as wheel:
        for name, (data, executable) in files.items():
            entry = zipfile.ZipInfo(name, (2020, 1, 1, 0, 0, 0))
            entry.external_attr = (0o100755 if executable else 0o100644) << 16
            entry.compress_type = zipfile.ZIP_DEFLATED
            wheel.writestr(entry, data)
            digest = base64.urlsafe_b64encode(hashlib.sha256(data).digest()).rstrip(b"=").decode()
            record.append(f"{name},sha256={digest},{len(data)}\n")
        wheel.writestr(zipfile.ZipInfo(f"{info}/RECORD", (2020, 1, 1, 0, 0, 0)), "".join(record) + f"{info}/RECORD,,\n")


def main():
    stage, licenses, platform, out = sys.argv[1:]
    number = version()
    info, files = content(pathlib.Path(stage), pathlib.Path(licenses), platform, number)
    if "opcheck_c/bin/opcheck-c" not in files:
        sys.exit(f"make_wheel: no opcheck-c in {stage}/opcheck_c/bin")
    target = pathlib.Path(out) / f"opcheck_c-{number}-py3-none-{platform}.whl"
    write(target, info, files)
    print(target)


if __name__ == "__main__":
    main()
