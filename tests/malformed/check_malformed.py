"""check_malformed.py OPCHECK-C FOLDER GOOD.so SAMPLES: runs opcheck-c on each malformed library beside a good one.

Each must give exit status 4, an error of its own kind whose message says what to do, the same error in JUnit, and results for the good one.
"""
import json
import os
import shutil
import subprocess
import sys
import tempfile
import xml.etree.ElementTree as ElementTree

# library: kind of the error, words that its message holds
EXPECTED = {
    "text.so": ("not_elf", "not a shared library"),
    "empty.so": ("not_elf", "empty"),
    "script.so": ("not_elf", "linker script"),
    "truncated.so": ("truncated", "ends too early"),
    "header_only.so": ("truncated", "ELF header"),
    "other_architecture.so": ("architecture", "AArch64"),
    "thirty_two_bit.so": ("architecture", "32-bit"),
    "unreadable.so": ("unreadable", "cannot be read"),
    "folder.so": ("unreadable", "folder"),
    "missing.so": ("not_found", "no such file"),
    "undefined_symbol.so": ("undefined_symbol", "opc_nowhere_to_be_found"),
    "needs_sibling.so": ("missing_dependency", "libopc_sibling.so"),
    "throws.so": ("initialiser_threw", "the initialiser found no configuration"),
    "throws_no_exception.so": ("initialiser_threw", "throws"),
    "aborts.so": ("initialiser_aborted", "SIGABRT"),
    "exits.so": ("initialiser_exited", "exit code 3"),
    "hangs.so": ("initialiser_hung", "did not end within"),
    "namespace_twice.so": ("duplicate", "namespace is defined twice"),
    "operator_twice.so": ("duplicate", "defined twice"),
    "unknown_type.so": ("schema", "Nobody"),
    "bad_schema.so": ("schema", "schema"),
}

failures = []


def expect(condition, text):
    if not condition:
        failures.append(text)
        print("FAILED:", text)


def run(program, *arguments):
    return subprocess.run([program, "run", "--device", "cpu", "--jobs", "2", *arguments], capture_output=True, text=True, timeout=120)


def check_one(program, folder, good, samples, name, kind, words):
    path = os.path.join(folder, name)
    with tempfile.TemporaryDirectory() as place:
        report, junit = os.path.join(place, "r.json"), os.path.join(place, "r.xml")
        done = run(program, "--samples", samples, "--check", "registration,alias", "--json", report, "--junit", junit, path, good)
        expect(done.returncode == 4, f"{name}: exit status {done.returncode}, not 4: {done.stderr[-500:]}")
        if not os.path.exists(report):
            return
        with open(report, encoding="utf-8") as stream:
            content = json.load(stream)
        errors = {entry["path"]: entry["error"] for entry in content["libraries"]}
        error = errors.get(path) or {"kind": "none", "message": ""}
        expect(error["kind"] == kind, f"{name}: kind {error['kind']}, not {kind}: {error['message']}")
        expect(words in error["message"], f"{name}: \"{words}\" is not in \"{error['message']}\"")
        expect(errors.get(good, "absent") is None, f"{name}: the good library did not load beside it")
        expect(any(result["verdict"] == "pass" for result in content["results"]), f"{name}: the good library was not checked beside it")
        texts = [(element.get("message") or "") + (element.text or "") for element in ElementTree.parse(junit).iter("error")]
        expect(any(words in text for text in texts), f"{name}: JUnit does not hold the error")
        expect(os.path.basename(path) in done.stdout + done.stderr, f"{name}: the terminal does not name it")


def main():
    program, folder, good, samples = sys.argv[1:5]
    for name, (kind, words) in EXPECTED.items():
        check_one(program, folder, good, samples, name, kind, words)
    alone = run(program, os.path.join(folder, "no_operators.so"))
    expect(alone.returncode == 5, f"no_operators.so: exit status {alone.returncode}, not 5")
    expect("registers no operators" in alone.stdout + alone.stderr, "no_operators.so: not said that it registers no operators")
    # A library that it needs may come behind it on the command line.
    sibling = os.path.join(folder, "elsewhere", "libopc_sibling.so")
    pair = run(program, os.path.join(folder, "needs_sibling.so"), sibling)
    expect(pair.returncode == 5, f"needs_sibling.so before its sibling: exit status {pair.returncode}, not 5: {pair.stdout}")
    # Or lie anywhere in the package that both were installed with, where Python would load it first; of two of its name neither is taken.
    with tempfile.TemporaryDirectory() as place:
        for part in ("pkg-1.0.dist-info", "pkg/kernels", "pkg/bindings", "pkg/other"):
            os.makedirs(os.path.join(place, part))
        needing = shutil.copy(os.path.join(folder, "needs_sibling.so"), os.path.join(place, "pkg", "kernels"))
        shutil.copy(sibling, os.path.join(place, "pkg", "bindings"))
        package = run(program, needing)
        expect(package.returncode == 5, f"needs_sibling.so in a package: exit status {package.returncode}, not 5: {package.stdout}")
        shutil.copy(sibling, os.path.join(place, "pkg", "other"))
        package = run(program, needing)
        expect(package.returncode == 4, f"needs_sibling.so in a package with two siblings: exit status {package.returncode}, not 4: {package.stdout}")
    print(f"{len(EXPECTED) + 2} libraries, {len(failures)} failures")
    return 1 if failures else 0


sys.exit(main())
