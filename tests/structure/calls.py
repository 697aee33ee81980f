#!/usr/bin/env python3
"""calls.py ROOT BUILD: who calls whom, read with nm from the libraries that were built, so that a declaration in the wrong header hides nothing.

Exits with 1 and names both files and the function where
  - a folder uses what only a folder that harness/layers.txt does not allow it defines;
  - files of one folder use each other in a circle.
The library of folder model/json is libopc_model_json.a; where a folder has none, the objects of its target opc_model_json are read. A folder of
which nothing was built is named and left out. Definitions that a program may have many times (inline functions of C++) count for nobody.
"""
import os
import subprocess
import sys

import layers

_EXECUTABLE_OR_DATA = set("TDBRSGAC")  # nm's letters for a definition that a program has once


def target_of(folder):
    return "opc_" + folder.replace("/", "_")


def find_archives(build):
    """{name: path} of the static libraries below `build`, but for those of other libtorches; of two of a name, the one that is less deep."""
    found = {}
    for folder, below, names in os.walk(build):
        below[:] = [name for name in below if name != "CMakeFiles" and not (folder == build and (name.startswith("torch-") or name == "deps"))]
        for name in names:
            if name.startswith("libopc_") and name.endswith(".a"):
                found.setdefault(name, os.path.join(folder, name))
    return found


def built_files(folder, build, archives):
    """The archive of a folder, or its objects; nothing where nothing was built."""
    path = layers.Layers.path(folder)
    archive = f"lib{target_of(folder)}.a"
    own = os.path.join(build, path, archive)
    if os.path.isfile(own) or archive in archives:
        return [own if os.path.isfile(own) else archives[archive]]
    objects = os.path.join(build, path, "CMakeFiles", target_of(folder) + ".dir")
    return sorted(os.path.join(below, name) for below, _, names in os.walk(objects) for name in names if name.endswith(".o"))


def read_objects(files):
    """[(object's name, symbols that it defines, symbols that it needs)] of archives and objects."""
    objects, at = [], None
    listed = subprocess.run(["nm", "-P", "-g", "-A", *files], capture_output=True, text=True, check=False)
    if listed.returncode != 0:
        sys.exit(f"structure.calls: nm failed: {listed.stderr.strip()}")
    for line in listed.stdout.split("\n"):
        place, _, rest = line.partition(": ")
        fields = rest.split()
        if len(fields) < 2:
            continue
        if place != at:
            at = place
            name = place[place.index("[") + 1:place.rindex("]")] if place.endswith("]") else os.path.basename(place)
            objects.append((name.removesuffix(".o"), set(), set()))
        if fields[1] in "Uwv":
            objects[-1][2].add(fields[0])
        elif fields[1] in _EXECUTABLE_OR_DATA:
            objects[-1][1].add(fields[0])
    return objects


def plain(symbols):
    """A symbol as people write it."""
    shown = subprocess.run(["c++filt", *symbols], capture_output=True, text=True, check=False) if any(s.startswith("_Z") for s in symbols) else None
    return shown.stdout.split("\n") if shown and shown.returncode == 0 else list(symbols)


def upward_calls(allowed, objects):
    """The errors of folders that use folders which they may not."""
    home = {}
    for folder, parts in objects.items():
        for name, defined, _ in parts:
            for symbol in defined:
                home.setdefault(symbol, []).append((folder, name))
    errors = []
    for folder, parts in objects.items():
        for name, _, needed in parts:
            wrong = {}
            for symbol in sorted(needed):
                places = home.get(symbol, [])
                if places and not any(place[0] in allowed.allowed[folder] for place in places):
                    wrong.setdefault(places[0], []).append(symbol)
            for (other, source), symbols in wrong.items():
                errors.append(f"{layers.Layers.path(folder)}/{name} uses {', '.join(plain(symbols))} of {layers.Layers.path(other)}/{source}, "
                              f"but {folder} may not include {other}; {allowed.advice(folder, other)}")
    return errors


def inner_circles(folder, parts):
    """The errors of files of one folder that use each other in a circle."""
    home = {symbol: name for name, defined, _ in parts for symbol in defined}
    edges = {name: {} for name, _, _ in parts}  # file → {file: one symbol of it}
    for name, _, needed in parts:
        for symbol in sorted(needed):
            if home.get(symbol, name) != name:
                edges[name].setdefault(home[symbol], symbol)
    errors = []
    for part in layers.circles(edges):
        way = layers.cycle_of(edges, part)
        steps = [f"{one} uses {plain([edges[one][two]])[0]} of {two}" for one, two in zip(way, way[1:])]
        beyond = f" (with {', '.join(sorted(set(part) - set(way)))} it is a knot of {len(part)} files)" if len(part) > len(set(way)) else ""
        errors.append(f"{layers.Layers.path(folder)}: these files use each other in a circle: {'; '.join(steps)}{beyond}; "
                      "move what both need to a file of its own, or give the caller's function as an argument")
    return errors


def main(root, build):
    allowed = layers.Layers(root)
    archives = find_archives(build)
    objects, missing = {}, []
    for folder in allowed.names():
        files = built_files(folder, build, archives)
        if files:
            objects[folder] = read_objects(files)
        else:
            missing.append(folder)
    if missing:
        print(f"not built: {', '.join(missing)}")
    errors = list(allowed.errors)
    if not objects:
        errors.append(f"no library of any folder was found below {build}; build first")
    errors += upward_calls(allowed, objects)
    for folder, parts in objects.items():
        errors += inner_circles(folder, parts)
    return layers.report("structure.calls", errors)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
