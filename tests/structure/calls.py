#!/usr/bin/env python3
"""calls.py ROOT BUILD: who calls whom, read with nm from the libraries that were built, so that a declaration in the wrong header hides nothing.

Exits with 1 and names both files and the function where
  - a folder uses what only a folder that harness/layers.txt does not allow it defines;
  - files of one folder use each other in a circle.
The library of folder model/json is libopc_model_json.a; the objects of a folder's sources that are in no such library (of a program, of a library
that is preloaded) are read where CMake put them. A folder of which nothing was built is named and left out.

Two kinds of definitions do not count: what a program may have many times (inline functions of C++), and what the harness puts in front of a
function of others (INTERPOSED), for who calls one of these means theirs.
"""
import os
import subprocess
import sys
from fnmatch import fnmatch

import layers

# The system's, CUDA's, c10's and torch's.
INTERPOSED = ("mkdtemp", "dl*", "__cxa*", "cu*", "__cuda*", "_ZN3c10*", "_ZN5torch*", "*malloc*", "*calloc", "realloc", "free", "*memalign", "aligned_alloc",
              "_Znwm", "_Znam")

_ONE_DEFINITION = set("TDBRSGAC")  # nm's letters for a definition that a program has once


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


def find_objects(root, build):
    """{folder: {source: path of its object}} of what CMake compiled, of whatever target; an object that lost its source is left out."""
    found = {}
    for top in ("harness", "reports"):
        for place, _, names in os.walk(os.path.join(build, top)):
            before, is_target, after = os.path.relpath(place, build).partition("/CMakeFiles/")
            folder = os.path.normpath(os.path.join(before, *(".." if part == "__" else part for part in after.split("/")[1:])))
            for name in names:
                source = os.path.join(folder, name[:-2])
                if is_target and name.endswith(".o") and os.path.isfile(os.path.join(root, source)):
                    found.setdefault(layers.Layers.folder_of(source), {}).setdefault(name[:-2], os.path.join(place, name))
    return found


def built_parts(folder, build, archives, objects):
    """What read_objects gives of a folder's library, and of those of its sources that another target has; [] where nothing was built."""
    archive = f"lib{target_of(folder)}.a"
    own = os.path.join(build, layers.Layers.path(folder), archive)
    path = own if os.path.isfile(own) else archives.get(archive)
    parts = read_objects([path]) if path else []
    inside = {name for name, _, _ in parts}
    others = [path for source, path in sorted(objects.get(folder, {}).items()) if source not in inside]
    return parts + (read_objects(others) if others else [])


def read_objects(files):
    """[(source's name, symbols that it defines, symbols that it needs)] of archives and objects."""
    parts, at = [], None
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
            parts.append((name.removesuffix(".o"), set(), set()))
        if fields[1] in "Uwv":
            parts[-1][2].add(fields[0])
        elif fields[1] in _ONE_DEFINITION:
            parts[-1][1].add(fields[0])
    return parts


def interposed(symbols):
    """Those of the symbols that stand in front of others' functions."""
    return {symbol for symbol in symbols if any(fnmatch(symbol, glob) for glob in INTERPOSED)}


def plain(symbols):
    """Symbols as people write them."""
    if not any(symbol.startswith("_Z") for symbol in symbols):
        return symbols
    shown = subprocess.run(["c++filt", *symbols], capture_output=True, text=True, check=False)
    return shown.stdout.split("\n")[:len(symbols)] if shown.returncode == 0 else symbols


def upward_calls(allowed, built):
    """The errors of folders that use folders which they may not."""
    home = {}
    for folder, parts in built.items():
        for name, defined, _ in parts:
            for symbol in defined - interposed(defined):
                home.setdefault(symbol, []).append((folder, name))
    errors = []
    for folder, parts in built.items():
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
    archives, objects = find_archives(build), find_objects(root, build)
    built = {folder: built_parts(folder, build, archives, objects) for folder in allowed.names()}
    missing = [folder for folder, parts in built.items() if not parts]
    built = {folder: parts for folder, parts in built.items() if parts}
    if missing:
        print(f"not built: {', '.join(missing)}")
    errors = list(allowed.errors)
    if not built:
        errors.append(f"no library of any folder was found below {build}; build first")
    errors += upward_calls(allowed, built)
    for folder, parts in built.items():
        errors += inner_circles(folder, parts)
    return layers.report("structure.calls", errors)


if __name__ == "__main__":
    sys.exit(main(sys.argv[1], sys.argv[2]))
