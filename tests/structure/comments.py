"""Names of files in comments and texts: each must be a file of the tree.

A name counts where it ends as a source, a script or a text does, or is a path from the root (harness/base, scripts/test). It is looked for from
the root, from harness/ and from the folder of the file that names it; a name without a folder may be anywhere in the tree. `*` and `{a,b}` are
globs, and so is a word in capitals (check_NAME.c). No name of ours, and not looked for: what stands in "quotes" or <brackets>, in an address,
before a line number (conv.cpp:34), in another project's folder (FOREIGN), what some file of ours includes as <header>, a bare name of data (.json,
.txt), and MADE.
"""
import ast
import os
import re
import tokenize
from fnmatch import fnmatch

import c_text

# Folders of others: libtorch and its sources, CUDA, Python's library, the kernel, the system.
FOREIGN = ("ATen/", "aten/", "c10/", "torch/", "torchgen/", "caffe2/", "nvidia/", "valgrind/", "sanitizer/", "Lib/", "fs/", "mm/", "sys/", "linux/",
           "bits/", "asm/")
# Headers of others that no file includes, by glob.
FOREIGN_HEADERS = ("cuda*.h", "cublas*.h", "cupti*.h", "driver_types.h", "elf.h", "link.h", "link_*.h")
# What a run of ours makes, or is given.
MADE = ("summary.md", "reports/evidence/gpu.md", "version.py")

_ENDING = r"(?:h|cpp|c|def|py|md|txt|cmake|cu|json)"
_NAME = re.compile(r"(?<![\w.*/}$@~-])(?:[\w.*/-]|\{[\w.*,/-]*\})*[\w*}]\.(?:" + _ENDING + r"|\{" + _ENDING + "(?:," + _ENDING + r")*\})(?!\w|\.\w|[*/]|:\d)")
_PATH = re.compile(r"(?<![\w.*/}$@~<\"'-])(?:harness|reports|scripts|tests|fixtures|ops)/[\w./-]*\w(?![\w.]*[*{])")
_CAPITALS = re.compile(r"(?<![A-Za-z])[A-Z]+(?![A-Za-z])")
_BRACES = re.compile(r"\{([^{}]*)\}")
_C = (".c", ".h", ".cpp", ".def", ".cu")
_BARE_DATA = (".json", ".txt")


def is_read(path):
    """Whether a file's comments are read."""
    name = os.path.basename(path)
    if path in ("CONTRIBUTING.md", "CMakeLists.txt") or name == "README.md":
        return True
    if not path.startswith(("harness/", "reports/", "scripts/", "tests/")):
        return False
    return name == "CMakeLists.txt" or name.endswith(_C + (".py", ".cmake", ".sh")) or path.startswith("scripts/") and "." not in name


def texts(path, text):
    """(line, text) of the comments of a file, or of all lines of a text. A name in a comment of many lines keeps its line."""
    if path.endswith(_C):
        line_of = c_text.Lines(text)
        found = [(line_of(offset), comment) for offset, comment in c_text.comments(text)]
    elif path.endswith(".py") or text.startswith("#!/usr/bin/env python3"):
        found = _python(text)
    elif path.endswith(".md"):
        found = [(1, text)]
    else:
        found = [(number, line[line.index("#"):]) for number, line in enumerate(text.split("\n"), 1) if re.search(r"(?:^|\s)#", line)]
    return [(first + at, line) for first, comment in found for at, line in enumerate(comment.split("\n"))]


def _python(text):
    """Comments and docstrings."""
    found = []
    for node in ast.walk(ast.parse(text)):
        body = getattr(node, "body", None)
        if isinstance(node, (ast.Module, ast.ClassDef, ast.FunctionDef)) and body and isinstance(body[0], ast.Expr):
            if isinstance(body[0].value, ast.Constant) and isinstance(body[0].value.value, str):
                found.append((body[0].lineno, body[0].value.value))
    lines = iter(text.splitlines(True))
    found += [(token.start[0], token.string) for token in tokenize.generate_tokens(lambda: next(lines, "")) if token.type == tokenize.COMMENT]
    return sorted(found)


def _alternatives(name):
    """The globs that a name with {a,b} stands for."""
    match = _BRACES.search(name)
    if not match:
        return [name]
    return [other for part in match.group(1).split(",") for other in _alternatives(name[:match.start()] + part + name[match.end():])]


class Tree:
    """The files of the tree, and whether a name in a comment is one of them."""

    def __init__(self, files, system_headers):
        self.files = set(files)
        self.folders = {path[:at.start()] for path in files for at in re.finditer("/", path)}
        self.by_name = {}
        for path in files:
            self.by_name.setdefault(os.path.basename(path), []).append(path)
        self.system = system_headers

    def _exists(self, name, folder):
        if "/" not in name:
            names = self.by_name if "*" in name else [name] if name in self.by_name else []
            return any(fnmatch(known, name) for known in names)
        for start in ("", "harness", folder):
            path = os.path.normpath(os.path.join(start, name))
            if path in self.files or "*" in path and any(fnmatch(known, path) and known.count("/") == path.count("/") for known in self.files):
                return True
        return False

    def missing(self, path, line):
        """The names in a line of `path` that are no files."""
        for match in _NAME.finditer(line):
            name, before = match.group(), line[max(match.start() - 1, 0):match.start()]
            if before in ('"', "'", "<", ">", "=", ":") and before or "//" in name or name.startswith(FOREIGN) or name in self.system or name in MADE:
                continue
            if "/" not in name and (name.endswith(_BARE_DATA) or any(fnmatch(name, glob) for glob in FOREIGN_HEADERS)):
                continue
            globs = _alternatives(name if name.endswith(".md") else _CAPITALS.sub("*", name))
            if not self._exists(name, os.path.dirname(path)) and not all(self._exists(glob, os.path.dirname(path)) for glob in globs):
                yield name
        for match in _PATH.finditer(line):
            name = match.group()
            if not _NAME.fullmatch(name) and name not in self.files | self.folders and not _CAPITALS.search(name):
                yield name
