"""harness/layers.txt: which folders there are, and which folders each of them may include.

A line is `FOLDER: NAME NAME …`; `#` starts a comment. FOLDER is a path below harness/, or "reports" for the folder reports/. A NAME is a folder
of the file, else a group: all folders of the file below that prefix ("model" for model/json, model/schema, …). A folder may include itself,
what its row names, and whatever those may include.
"""
import os
import re

SOURCES = (".c", ".h", ".cpp", ".def", ".cu")
FILE = "harness/layers.txt"


def circles(edges):
    """The strongly connected parts of more than one node (or of a node with an edge to itself) of {node: nodes}, each sorted."""
    order, seen, found = [], set(), []
    for root in sorted(edges):
        stack = [] if root in seen else [(root, iter(sorted(edges[root])))]
        seen.add(root)
        while stack:
            following = next((node for node in stack[-1][1] if node in edges and node not in seen), None)
            if following is None:
                order.append(stack.pop()[0])
            else:
                seen.add(following)
                stack.append((following, iter(sorted(edges[following]))))
    back = {node: set() for node in edges}
    for node, targets in edges.items():
        for target in targets:
            if target in back:
                back[target].add(node)
    seen = set()
    for root in reversed(order):
        part, waiting = set(), [] if root in seen else [root]
        seen.add(root)
        while waiting:
            node = waiting.pop()
            part.add(node)
            waiting += back[node] - seen
            seen |= back[node]
        if len(part) > 1 or part and root in edges[root]:
            found.append(sorted(part))
    return sorted(found)


def cycle_of(edges, part):
    """One way around in a circle, as a list that starts and ends with the same node."""
    start = part[0]
    came_from, waiting = {}, [start]
    for node in waiting:
        for target in sorted(edges[node]):
            if target == start:
                way = [start, node]
                while way[-1] != start:
                    way.append(came_from[way[-1]])
                return way[::-1]
            if target in part and target not in came_from:
                came_from[target] = node
                waiting.append(target)
    return [start]


class Layers:
    """rows: folder → the names of its row, in order. allowed: folder → the folders that it may include. errors: what is wrong with the file."""

    def __init__(self, root):
        self.rows, self.line_of, self.errors = {}, {}, []
        path = os.path.join(root, FILE)
        if not os.path.isfile(path):
            self.errors.append(f"{FILE}: there is no such file; write a line `FOLDER: NAME NAME …` for each folder")
            lines = []
        else:
            with open(path, encoding="utf-8") as file:
                lines = file.read().split("\n")
        for number, line in enumerate(lines, 1):
            line = line.split("#", 1)[0].strip()
            if line:
                self._row(number, *line.partition(":"))
        direct = {folder: self._targets(folder) for folder in self.rows}
        self._check_circles(direct)
        self.allowed = {folder: self._reach(direct, folder) for folder in direct}

    def _error(self, number, text):
        self.errors.append(f"{FILE}:{number}: {text}")

    def _row(self, number, folder, colon, names):
        folder = folder.strip()
        if not colon or not folder or " " in folder:
            self._error(number, "this line is not `FOLDER: NAME NAME …`")
        elif folder in self.rows:
            self._error(number, f"{folder} has a row already, in line {self.line_of[folder]}; make one row of the two")
        else:
            self.rows[folder], self.line_of[folder] = names.split(), number

    def _targets(self, folder):
        """The folders that the row of `folder` names, groups taken apart."""
        targets, number = set(), self.line_of[folder]
        for name in self.rows[folder]:
            group = [other for other in self.rows if other.startswith(name + "/")]
            if name == folder:
                self._error(number, f"{folder} names itself; a folder may always include itself, remove the name")
            elif name in self.rows:
                targets.add(name)
            elif folder in group:
                self._error(number, f"{folder} names the group {name}, of which it is a member: a circle; name the folders that it needs")
            elif group:
                targets.update(group)
            else:
                self._error(number, f"{folder} names {name}, which is neither a folder nor a group of this file")
        return targets

    def _check_circles(self, direct):
        for part in circles(direct):
            way = cycle_of(direct, part)
            self._error(self.line_of[way[0]], f"these rows are a circle: {' → '.join(way)}; remove one of the names")

    @staticmethod
    def _reach(direct, folder):
        reached, waiting = {folder}, [folder]
        while waiting:
            new = direct[waiting.pop()] - reached
            reached |= new
            waiting += new
        return reached

    def names(self):
        """The listed folders, in the order of the file."""
        return list(self.rows)

    @staticmethod
    def path(folder):
        """Where a listed folder is, from the root of the project."""
        return folder if folder == "reports" else "harness/" + folder

    @staticmethod
    def folder_of(path):
        """The name in layers.txt of the folder that a path of harness/ or reports/ is in. A check's table belongs to catalogue."""
        if re.fullmatch(r"harness/checks/.*/check_\w+\.def", path):
            return "catalogue"
        folder = os.path.dirname(path)
        return folder[len("harness/"):] if folder.startswith("harness/") else folder

    def advice(self, folder, target):
        """What to do about a use of `target` in `folder`."""
        if target in self.allowed and folder in self.allowed[target]:
            return f"{target} may include {folder}, so move what is needed down, out of {target}"
        return f"move what is needed to a folder that {folder} may include, or add {target} to its row in {FILE}"


def report(test, errors):
    """Prints the errors and returns the exit status."""
    for error in errors:
        print(error)
    if errors:
        print(f"{test}: {len(errors)} error{'s' if len(errors) > 1 else ''}")
    return 1 if errors else 0
