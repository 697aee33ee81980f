#!/usr/bin/env python3
"""emit.py OPCHECK COMPILER TORCH_ROOT ABI FOLDER WORK: the programs of `run --emit cpp` show what they say.

As tests/python/emit.py. libtorch's headers take ten seconds to compile: all programs are one, each in a namespace of its
own, and the number of the one to run is its argument. The first is compiled as it is written, with the command that it names.
"""
import os
import re
import shlex
import subprocess
import sys

# Library, case, look-alike (None: none), what is printed.
SHOWN = [
    ("stride", "broken_stride::ignores_strides/stride/cpu/-/sample/x.transposed", "ok_strided", "element 1 is 2 and 1"),
    ("stride", "broken_stride::in_list/stride/cpu/-/sample/tensors[1].transposed", None, "element"),
    ("stride", "broken_stride::as_if_dense/stride/cpu/-/sample/x.expanded0", None, "it throws: setStorage"),
    ("mutation", "broken_mutation::scales_slightly/mutation/cpu/-/sample/plain", "ok_copy_and_restores", "x is not declared mutable"),
    ("mutation", "broken_mutation::writes_gaps/mutation/cpu/-/sample/x.sliced", "ok_copy_and_restores", "outside of x"),
    ("mutation", "broken_mutation::transposes_argument/mutation/cpu/-/sample/plain", "ok_copy_and_restores", "x was"),
    ("mutation", "broken_mutation::fills_raw/mutation/cpu/-/sample/plain", "ok_in_place", "version counter"),
    ("mutation", "broken_mutation::declared_not_written/mutation/cpu/-/-/-", "ok_in_place", "x is declared mutable and was not"),
    ("alias", "broken_alias::returns_input/alias/cpu/-/sample/plain", "ok_copy", "is x itself"),
    ("alias", "broken_alias::view/alias/cpu/-/sample/plain", "ok_copy", "memory of x"),
    ("alias", "broken_alias::outputs_share/alias/cpu/-/sample/plain", "ok_two_outputs", "two outputs"),
    ("alias", "broken_alias::cached_output/alias/cpu/-/sample/plain", "ok_copy", "two calls"),
    ("meta", "broken_meta::stride/meta/cpu/-/sample/plain", "ok_copy", "stride is 2 1"),
    ("meta", "broken_meta::count/meta/cpu/-/sample/plain", "ok_unstack", "returns 2"),
    ("meta", "broken_meta::count/meta/cpu/-/sample/x.empty0", "ok_unstack", "the Meta kernel throws"),
    ("meta", "broken_meta::device/meta/cpu/-/sample/plain", "ok_copy", "is on cpu"),
    ("memory", "broken_memory::reads_past_end/memory/cpu/-/sample/plain", "ok_reads", "a signal ended the process"),
    ("memory", "broken_memory::reads_before/memory/cpu/-/sample/plain", "ok_reads", "a signal ended the process"),
    ("memory", "broken_memory::writes_past_output/memory/cpu/-/sample/plain", "ok_reads", "a signal ended the process"),
    ("dtype", "broken_dtype::bfloat16_as_half/dtype/cpu/bfloat16/sample/plain", None, "element"),
    ("initialisation", "broken_initialisation::never_written/initialisation/cpu/-/sample/plain", "ok_copy", "element"),
    ("bitwise", "broken_bitwise::adds_zero/bitwise/cpu/-/sample/x.negative_zero", "ok_copy", "output 0 is not x"),
    ("crash", "broken_crash::segfaults/memory/cpu/-/sample/plain", "ok_copies", "a signal ended the process"),
    ("crash", "broken_crash::exits/memory/cpu/-/sample/plain", "ok_copies", "exit status 0"),
    ("crash", "broken_crash::throws_number/memory/cpu/-/sample/plain", "ok_copies", "no std::exception"),
    ("sample", "broken_sample::rejected/memory/cpu/-/sample/plain", None, "it throws: rejected"),
    ("determinism", "broken_determinism::counts_calls/determinism/cpu/-/sample/plain", "ok_scratch_of_a_thread", "element"),
]
PYTHON_ONLY = ("autograd", "broken_autograd::wrong_factor/autograd/cpu/-/sample/plain")


def emit(opcheck, folder, library, case, file):
    command = [opcheck, "run", "--case", case, "--emit", "cpp", file, os.path.join(folder, f"libbroken_{library}.so")]
    return subprocess.run(command, capture_output=True, text=True, timeout=300)


def collect(opcheck, folder, work):
    """(what it is, source, status that is expected, text that is expected)"""
    found = []
    for number, (library, case, look_alike, text) in enumerate(SHOWN):
        file = os.path.join(work, f"{number}.cpp")
        done = emit(opcheck, folder, library, case, file)
        if not os.path.exists(file):
            print(f"{case}: exit status {done.returncode}: {done.stdout}{done.stderr}")
            continue
        with open(file, encoding="utf-8") as stream:
            source = stream.read()
        found.append((case, source, 1, text))
        if look_alike:
            operator = case.split("/", 1)[0]
            other = source.replace(f'findSchemaOrThrow("{operator}"', f'findSchemaOrThrow("{operator.split("::")[0]}::{look_alike}"')
            assert other != source, f"{case}: the program does not name its operator"
            found.append((f"{case}, with {look_alike}", other, 0, "does not fail"))
    return found


def together(sources):
    """All programs in one: their includes, then each in a namespace, then a main that calls the one that its argument names."""
    includes, bodies = [], []
    for number, source in enumerate(sources):
        lines = source.splitlines()
        includes += [line for line in lines if line.startswith("#include ") and line not in includes]
        body = "\n".join(line for line in lines if not line.startswith("#include "))
        bodies.append(f"namespace program_{number} {{\n{body.replace('int main() {', 'int run() {')}\n}}")
    calls = "".join(f"    case {number}: return program_{number}::run();\n" for number in range(len(sources)))
    return "\n".join(includes + bodies) + f"\nint main(int, char **argv) {{\n  switch (std::atoi(argv[1])) {{\n{calls}  }}\n  return 99;\n}}\n"


def compile_line(source, file, compiler, root, abi):
    """The command in the program's comments, with this compiler and libtorch."""
    line = re.search(r"^// Compile: c\+\+ (.*)$", source, re.M).group(1).replace("$TORCH", root).replace("THIS.cpp", file)
    return [*shlex.split(compiler), *shlex.split(line), f"-D_GLIBCXX_USE_CXX11_ABI={abi}", "-o", file + ".out"]


def main(opcheck, compiler, root, abi, folder, work):
    os.makedirs(work, exist_ok=True)
    for name in os.listdir(work):
        os.unlink(os.path.join(work, name))
    errors, expected = [], collect(opcheck, folder, work)
    if len(expected) != sum(2 if look_alike else 1 for _, _, look_alike, _ in SHOWN):
        errors.append("some programs were not written")
    first, every = os.path.join(work, "0.cpp"), os.path.join(work, "all.cpp")
    with open(every, "w", encoding="utf-8") as stream:
        stream.write(together([source for _, source, _, _ in expected]))
    for file in (first, every):
        done = subprocess.run(compile_line(expected[0][1], file, compiler, root, abi), capture_output=True, text=True)
        if done.returncode:
            print(f"{file} does not compile:\n{done.stderr[:4000]}")
            return 1
    if subprocess.run([first + ".out"], capture_output=True).returncode != 1:
        errors.append(f"{first} alone does not fail")
    for number, (what, _, status, text) in enumerate(expected):
        run = subprocess.run([every + ".out", str(number)], capture_output=True, text=True, timeout=120)
        if run.returncode != status or text not in run.stdout:
            errors.append(f"{what} (number {number}): exit status {run.returncode}, wanted {status} and \"{text}\": {run.stdout}{run.stderr}")
    done = emit(opcheck, folder, *PYTHON_ONLY, os.path.join(work, "none.cpp"))
    if done.returncode != 2 or "--emit python" not in done.stderr and "no part for it yet" not in done.stderr:
        errors.append(f"{PYTHON_ONLY[1]}: exit status {done.returncode}: {done.stderr}")
    print("\n".join(errors) if errors else f"{len(expected)} programs do what they say")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
