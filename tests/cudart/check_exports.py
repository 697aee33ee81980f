"""check_exports.py WRAPPERS REAL: the wrappers of the CUDA runtime export every function that the real runtime exports, by the same version of the symbol, and
have the same names and texts for its errors."""

import ctypes
import json
import os
import re
import subprocess
import sys

OWN = {"opc_launch_api"}
CODES = range(1000)
REWORDED = {27}  # 12.8 has another text than 12.6
UNKNOWN = "unrecognized error code"


def exports(path):
    """{function: version} of what a library defines."""
    text = subprocess.run(["readelf", "--dyn-syms", "--wide", path], capture_output=True, text=True, check=True).stdout
    rows = (line.split() for line in text.splitlines())
    found = (row[7].partition("@") for row in rows if len(row) >= 8 and row[0].rstrip(":").isdigit() and row[6] not in ("UND", "ABS") and row[4] in ("GLOBAL", "WEAK"))
    return {name: version.lstrip("@") for name, _, version in found}


def error_texts(path, codes):
    library = ctypes.CDLL(path)
    functions = [library.cudaGetErrorName, library.cudaGetErrorString]
    for function in functions:
        function.restype, function.argtypes = ctypes.c_char_p, [ctypes.c_int]
    return {code: [function(code).decode() for function in functions] for code in codes}


def version_of(path):
    library, version = ctypes.CDLL(path), ctypes.c_int()
    library.cudaRuntimeGetVersion(ctypes.byref(version))
    return version.value


def told_by_wrappers(path):
    """The same, and the version, from the wrappers, which are always preloaded, over no real runtime."""
    environment = {**os.environ, "LD_PRELOAD": path, "OPC_CUDA_MODE": "simulated"}
    text = subprocess.run([sys.executable, __file__, "--texts"], env=environment, capture_output=True, text=True, check=True).stdout
    told = json.loads(text)
    return {int(code): texts for code, texts in told["texts"].items()}, told["version"]


def main():
    if sys.argv[1] == "--texts":
        return print(json.dumps({"texts": error_texts(None, CODES), "version": version_of(None)}))
    wrappers, real = sys.argv[1:3]
    ours, theirs = exports(wrappers), exports(real)
    failures = [f"{name} is not exported" for name in sorted(theirs.keys() - ours.keys())]
    failures += [f"{name} has version {ours[name]}, not {theirs[name]}" for name in sorted(theirs.keys() & ours.keys()) if ours[name] != theirs[name]]
    failures += [f"{name} is exported, and is no function of the runtime" for name in sorted(ours.keys() - theirs.keys() - OWN) if not re.fullmatch("(__)?cuda[A-Z]\\w*", name)]
    if len(theirs) < 300:
        failures.append(f"only {len(theirs)} exports of {real} were read")

    known = {code: texts for code, texts in error_texts(real, CODES).items() if texts[0] != UNKNOWN}
    told, version = told_by_wrappers(os.path.abspath(wrappers))
    # The wrappers were built with the headers of one version: they know no error that came later.
    newer = {code for code in known if version_of(real) > version and told[code][0] == UNKNOWN}
    known = {code: texts for code, texts in known.items() if code not in newer}
    failures += [f"error {code}: {told[code]}, not {texts}" for code, texts in known.items() if told[code][:1] != texts[:1] or (told[code] != texts and code not in REWORDED)]
    if len(known) < 100:
        failures.append(f"{real} has names for only {len(known)} errors")

    for failure in failures:
        print("FAILED:", failure)
    print(f"{len(theirs)} exports, {len(known)} errors, {len(newer)} newer ones; {len(ours.keys() - theirs.keys() - OWN)} functions of newer minor versions")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
