#!/usr/bin/env python3
"""sources.py ROOT: the layout of harness/ and reports/, read from their sources: harness/layers.txt, includes, names, comments.

Exits with 1 and names file, line and remedy for each
  - mistake in layers.txt, folder without a row, row without a source;
  - include of a folder that the row does not allow, of a file that does not exist, circle of includes;
  - type that two headers define, function that two headers declare or two sources define, two headers of one name;
  - check_NAME.c without its table check_NAME.def, table that harness/catalogue/checks.def does not include;
  - rule that a check names by a text;
  - comment that names a file that does not exist (comments.py).
A source NAME_absent.c is the alternative of NAME*.c, built in its place, and may define the same functions. So are NAME_12.c and NAME_13.c: the one of the
version in use is built.
"""
import os
import re
import subprocess
import sys

import c_text
import comments
import layers


def tree_files(root):
    """All files of the tree: those that git knows or would add, else all but build folders. Paths from the root."""
    if os.path.exists(os.path.join(root, ".git")):
        command = ["git", "-C", root, "ls-files", "-z", "--cached", "--others", "--exclude-standard"]
        listed = subprocess.run(command, capture_output=True, text=True, check=False)
        if listed.returncode == 0:
            return sorted(path for path in listed.stdout.split("\0") if path and os.path.isfile(os.path.join(root, path)))
    found = []
    for folder, below, names in os.walk(root):
        at_root = folder == root
        below[:] = [name for name in below if name not in (".git", "__pycache__") and not (at_root and (name == "build" or name.startswith("build-")))]
        found += [os.path.relpath(os.path.join(folder, name), root) for name in names]
    return sorted(found)


class Sources:
    """The sources of harness/ and reports/: {path: code without comments}, and the errors that were found."""

    def __init__(self, root):
        self.layers = layers.Layers(root)
        self.errors = list(self.layers.errors)
        self.files = tree_files(root)
        self.text = {}
        for path in self.files:
            if path.endswith(layers.SOURCES) or comments.is_read(path):
                with open(os.path.join(root, path), encoding="utf-8", errors="replace") as file:
                    self.text[path] = file.read()
        self.code = {path: c_text.without_comments(text) for path, text in self.text.items()
                     if path.endswith(layers.SOURCES) and path.startswith(("harness/", "reports/"))}
        self.line_of = {path: c_text.Lines(code) for path, code in self.code.items()}

    def error(self, path, line, text):
        self.errors.append(f"{path}:{line}: {text}")

    def folders(self):
        """Each folder with sources has a row, each row has sources."""
        present = {}
        for path in self.code:
            present.setdefault(layers.Layers.folder_of(path), path)
        for folder, path in present.items():
            if folder not in self.layers.rows:
                self.error(path, 1, f"the folder {folder} has no row in {layers.FILE}; add one that says what it may include")
        for folder in self.layers.rows:
            if folder not in present:
                self.error(layers.FILE, self.layers.line_of[folder], f"{folder}: there is no source in {layers.Layers.path(folder)}; remove the row")

    def includes(self):
        """Each include is of a file that exists and in a folder that the row allows; no circles."""
        edges = {path: {} for path in self.code}  # path → {included path: line}
        for path, code in self.code.items():
            folder = layers.Layers.folder_of(path)
            for offset, kind, name in c_text.includes(code):
                line = self.line_of[path](offset)
                target = next((place for place in ("harness/" + name, name) if place in self.code), None)
                if target is None:
                    if kind == '"':
                        self.error(path, line, f'"{name}" is no file of harness/ or reports/; write the path from harness/ ("reports/…" for reports)')
                    continue
                edges[path].setdefault(target, line)
                other = layers.Layers.folder_of(target)
                if folder in self.layers.rows and other in self.layers.rows and other not in self.layers.allowed[folder]:
                    self.error(path, line, f"{folder} may not include {other} ({name}); {self.layers.advice(folder, other)}")
        for part in layers.circles(edges):
            way = layers.cycle_of(edges, part)
            self.error(way[0], edges[way[0]][way[1]], f"these files include each other in a circle: {' → '.join(way)}; remove one of the includes")

    def names(self):
        """Each type and function has one home."""
        homes = {"type": {}, "declared": {}, "defined": {}}
        for path, code in self.code.items():
            names = c_text.Names(code)
            if path.endswith(".h"):
                found = [("type", names.types), ("declared", {**names.defined, **names.declared})]
            elif path.endswith((".c", ".cpp", ".cu")):
                found = [("defined", names.defined)]
            else:
                continue
            for kind, table in found:
                for name, offset in table.items():
                    homes[kind].setdefault(name, []).append((path, self.line_of[path](offset)))
        for kind, what, verb, remedy in (
                ("type", "type", "defines", "rename one, or keep it in one header"),
                ("declared", "function", "declares", "keep the declaration in the header of the file that defines it"),
                ("defined", "function", "defines", "rename one, make it static, or keep one of the two")):
            for name, places in homes[kind].items():
                places = self._without_alternatives(places) if kind == "defined" else places
                if len(places) > 1 and name != "main":
                    others = ", ".join(f"{path}:{line}" for path, line in places[1:])
                    self.error(*places[0], f"{name} is a {what} that {others} {verb} too; {remedy}")

    @staticmethod
    def _without_alternatives(places):
        """Leaves out NAME_absent.c where the others are NAME*.c of its folder, and all but one of NAME_12.c, NAME_13.c."""
        def is_alternative(path):
            stem = path[:-len("_absent.c")] if path.endswith("_absent.c") else None
            return stem is not None and all(other == path or other.startswith(stem) for other, _ in places)
        versions = [re.fullmatch(r"(.*)_\d+\.c", path) for path, _ in places]
        if all(versions) and len({match[1] for match in versions}) == 1 and len({path for path, _ in places}) == len(places):
            return places[:1]
        return [(path, line) for path, line in places if not is_alternative(path)]

    def headers(self):
        """No two headers have the same base name."""
        homes = {}
        for path in self.code:
            if path.endswith(".h"):
                homes.setdefault(os.path.basename(path), []).append(path)
        for paths in homes.values():
            if len(paths) > 1:
                self.error(paths[0], 1, f"{', '.join(paths[1:])} is a header of the same name; rename one")

    def tables(self):
        """Each check has a table beside it, and checks.def includes it."""
        listed = "harness/catalogue/checks.def"
        included = {"harness/" + name for _, _, name in c_text.includes(self.code.get(listed, ""))}
        for path in self.code:
            table = path[:-2] + ".def"
            if re.fullmatch(r"harness/checks/\w+/check_\w+\.c", path) and table not in included:
                self.error(path, 1, f"{listed} does not include {table[len('harness/'):]}; write the check's table, and add its line in the order of the stages")

    def rules(self):
        """A check names rules by their enum, so the compiler knows them."""
        rules = {match for path, code in self.code.items() if path.endswith(".def") for match in re.findall(r"^OPC_RULE\((\w+), (\w+),", code, re.M)}
        for path, code in self.code.items():
            if path.startswith("harness/checks/") and path.endswith(".c"):
                for match in re.finditer(r'"(\w+)\.(\w+)"', code):
                    if match.groups() in rules:
                        self.error(path, self.line_of[path](match.start()), f"name the rule {match[1]}.{match[2]} as OPC_RULE_{match[1]}_{match[2]}")

    def comments(self):
        """A comment names no file that is not there."""
        system = {name for path, text in self.text.items() if path.endswith(layers.SOURCES) for _, kind, name in c_text.includes(text) if kind == "<"}
        tree = comments.Tree(self.files, system)
        for path, text in self.text.items():
            if comments.is_read(path):
                for line, comment in comments.texts(path, text):
                    for name in tree.missing(path, comment):
                        self.error(path, line, f"{name} is named here, and there is no such file; name what is meant, or put an example in quotes")


def main(root):
    sources = Sources(root)
    sources.folders()
    sources.includes()
    sources.names()
    sources.headers()
    sources.tables()
    sources.rules()
    sources.comments()
    if not sources.code:
        sources.error("harness", 1, "no source was found below it")
    return layers.report("structure.sources", sources.errors)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
