#!/usr/bin/env python3
"""dialect.py ROOT: the C sources of harness/ and reports/ are written in one way.

Exits with 1 and names file, line and remedy for each
  - chain of `status == OPC_OK`: an error is passed on by OPC_RETURN_IF_ERROR (base/status.h);
  - function with both goto and OPC_SCOPED: clean-up is one of the two;
  - comparison with NULL: pointers are conditions, `if (p)` and `if (!p)`;
  - static function whose name another C file's static function has: a debugger could not tell them apart.
"""
import os
import re
import sys

import c_text

FUNCTION = re.compile(r"^(?:static |inline |_Noreturn )*[A-Za-z_][\w ]*[ *]+(\w+)\((?:[^;{}]|\n)*?\)(?: OPC_\w+(?:\([^)]*\))?)* \{\n(.*?)^\}", re.M | re.S)
STATIC = re.compile(r"^static (?:inline )?(?:[A-Za-z_]\w*[ *]+)+(\w+)\(", re.M)
NOT_A_FUNCTION = {"__attribute__", "_Alignas"}


def sources(root):
    """{path: code without comments and without what strings say} of the C files."""
    found = {}
    for top in ("harness", "reports"):
        for folder, _, names in sorted(os.walk(os.path.join(root, top))):
            for name in sorted(names):
                if name.endswith((".c", ".h")):
                    path = os.path.join(folder, name)
                    with open(path, encoding="utf-8") as file:
                        code = c_text.without_comments(file.read())
                    found[os.path.relpath(path, root)] = re.sub(r'"(?:\\.|[^"\\\n])*"', lambda text: '"' + " " * (len(text.group()) - 2) + '"', code)
    return found


def main(root):
    errors, statics = [], {}
    for path, code in sources(root).items():
        line_of = c_text.Lines(code)
        for match in re.finditer(r"\bstatus == OPC_OK\b|\bOPC_OK == \w+", code):
            errors.append((path, line_of(match.start()), "a chain of statuses: use OPC_RETURN_IF_ERROR, and OPC_SCOPED for what must be cleared"))
        for match in re.finditer(r"[!=]= NULL\b", code):
            errors.append((path, line_of(match.start()), "a comparison with NULL: write `if (p)` or `if (!p)`"))
        for match in FUNCTION.finditer(code):
            if "OPC_SCOPED(" in match.group(2) and re.search(r"\bgoto\b", match.group(2)):
                errors.append((path, line_of(match.start(1)), f"{match.group(1)} has goto and OPC_SCOPED: clean up in one of the two ways"))
        if path.endswith(".c"):
            for match in STATIC.finditer(code):
                if match.group(1) not in NOT_A_FUNCTION:
                    statics.setdefault(match.group(1), {}).setdefault(path, line_of(match.start(1)))
    for name, places in sorted(statics.items()):
        if len(places) > 1:
            for path, line in sorted(places.items())[1:]:
                errors.append((path, line, f"static {name} is also in {min(places)}: put the module's name in front"))
    for path, line, text in sorted(errors):
        print(f"{path}:{line}: {text}")
    if errors:
        print(f"structure.dialect: {len(errors)} error{'s' if len(errors) > 1 else ''}")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
