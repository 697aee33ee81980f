"""check_package.py OPCHECK-C FOLDER OPERATORS.so OTHER_OPERATORS.so: opcheck-c package on the exported identity models.

The good ones run, and it is said that their output's bits equal the input's. Damaged packages, and those for other machines, get an error of their own kind. Operators that
crash, hang, refuse or compute something else are findings of the right rule, and the tool goes on.
"""
import array
import io
import math
import os
import sys
import tempfile
import zipfile

from package_run import expect, failures, run

EQUAL = "the output's bits equal the input's"


def rewrite(source, target, edit):
    """A copy whose entries are what edit(name, bytes) returns; None leaves one out."""
    with zipfile.ZipFile(source) as old, zipfile.ZipFile(target, "w", zipfile.ZIP_STORED) as new:
        for entry in old.infolist():
            data = edit(entry.filename, old.read(entry))
            if data is not None:
                new.writestr(entry.filename, data)
    return target


def replacing(end, old, new):
    return lambda name, data: data.replace(old, new) if name.endswith(end) else data


def check_good(program, folder, library):
    for name in ("identity_model", "identity_class_model"):
        path = os.path.join(folder, f"{name}.pt2")
        code, text, report = run(program, path, "--library", library)
        expect(code == 0 and EQUAL in text, f"{name}: exit status {code}: {text}")
        passed = {result["check"] for result in report["results"] if result["verdict"] == "pass"}
        expect(passed == {"package", "bitwise"}, f"{name}: passes of {sorted(passed)}")
    bare = os.path.join(folder, "bare.pt2")
    rewrite(os.path.join(folder, "identity_model.pt2"), bare, lambda name, data: data)
    code, text, _ = run(program, bare, "--library", library)
    expect(code == 0 and EQUAL in text and "from the package itself" in text, f"without samples: exit status {code}: {text}")


def saved_tensor(values, shape):
    """What torch.save writes for ((float32 tensor,), {}), without a torch: the smallest pickle that says it."""
    sizes = b"".join(b"M" + size.to_bytes(2, "little") for size in shape)
    steps = [int(math.prod(shape[i + 1:])) for i in range(len(shape))]
    strides = b"".join(b"J" + step.to_bytes(4, "little") for step in steps)
    storage = b"(X\x07\0\0\0storagectorch\nFloatStorage\nX\x01\0\0\x000X\x03\0\0\0cpuJ" + len(values).to_bytes(4, "little") + b"tQ"
    tensor = b"ctorch._utils\n_rebuild_tensor_v2\n(" + storage + b"K\0(" + sizes + b"t(" + strides + b"t\x89ccollections\nOrderedDict\n)RtR"
    with io.BytesIO() as file:
        with zipfile.ZipFile(file, "w", zipfile.ZIP_STORED) as archive:
            archive.writestr("archive/data.pkl", b"\x80\x02" + tensor + b"\x85}\x86.")
            archive.writestr("archive/byteorder", "little")
            archive.writestr("archive/data/0", values.tobytes())
        return file.getvalue()


def check_example(program, folder, library):
    """A package that holds the exported program beside the compiled model holds the inputs that it was exported with."""
    shape = (1, 3, 224, 224)
    values = array.array("f", (index % 1000 / 8 for index in range(math.prod(shape))))
    for name, saved, origin in (("example", saved_tensor(values, shape), "the example in the package itself"),
                                ("example_of_another_model", saved_tensor(values[:12], (3, 4)), "shapes and dtypes from the package itself"),
                                ("broken_example", b"PK\3\4", "shapes and dtypes from the package itself")):
        path = os.path.join(folder, f"{name}.pt2")
        rewrite(os.path.join(folder, "bare.pt2"), path, lambda entry, data: data)
        with zipfile.ZipFile(path, "a", zipfile.ZIP_STORED) as archive:
            archive.writestr("identity_model/data/sample_inputs/model.pt", saved)
        code, text, _ = run(program, path, "--library", library)
        expect(code == 0 and EQUAL in text and origin in text, f"{name}: exit status {code}: {text}")


def check_missing(program, folder):
    for name, kind, word in (("identity_model", "missing_operator", "my_ops::identity_conv_op"),
                             ("identity_class_model", "missing_class", "my_ops.IdentityConvClass")):
        code, text, report = run(program, os.path.join(folder, f"{name}.pt2"))
        error = report["libraries"][-1]["error"] or {"kind": "none", "message": ""}
        expect(code == 4 and error["kind"] == kind, f"{name} without its library: exit status {code}, {error}")
        expect(word in error["message"] and "--library" in error["message"], f"{name} without its library: {error['message']}")
        expect("libidentity_conv_ops.so" in error["message"], f"{name}: which library is missing is not said: {error['message']}")


def damaged_packages(good, folder):
    """(name, kind of the error, words of its message) of each."""
    metadata = "_metadata.json"
    changes = {
        "machine": (replacing(metadata, b'"AOTI_MACHINE": "', b'"AOTI_MACHINE": "not_'), "architecture", "processors, this machine is"),
        "platform": (replacing(metadata, b"linux", b"windows"), "architecture", "compiled for windows"),
        "instructions": (replacing(metadata, b'"AOTI_CPU_ISA": "', b'"AOTI_CPU_ISA": "AMX_TILE NEON '), "instruction_set", "this processor has no"),
        "device": (replacing(metadata, b'"AOTI_DEVICE_KEY": "cpu"', b'"AOTI_DEVICE_KEY": "xpu"'), "device", "compiled for the device xpu"),
        "argument": (replacing("wrapper.json", b'"name": "x"', b'"name": "y"'), "schema", "an argument \"y\""),
        "other_torch": (replacing(".so", b"aoti_torch_new_uninitialized_tensor", b"aoti_torch_new_uninitialized_nothin"), "abi", "another libtorch"),
        "cut_code": (lambda name, data: data[:5000] if name.endswith(".so") else data, "package_crashed", "ends the process"),
        "no_models": (lambda name, data: None if "aotinductor" in name else data, "not_package", "not an AOTInductor package"),
        "no_json": (replacing("wrapper.json", b"{", b"["), "truncated", "is not JSON"),
    }
    for name, (edit, kind, words) in changes.items():
        yield rewrite(good, os.path.join(folder, f"{name}.pt2"), edit), kind, words
    with open(good, "rb") as stream:
        whole = stream.read()
    middle = whole.index(b"\x7fELF") + 100000
    for name, data, kind, words in (
            ("cut", whole[:len(whole) // 2], "truncated", "ends too early"),
            ("flipped", whole[:middle] + bytes([whole[middle] ^ 255]) + whole[middle + 1:], "truncated", "checksum"),
            ("empty", b"", "not_package", "empty"),
            ("text", b"hello\n", "not_package", "zip file")):
        path = os.path.join(folder, f"{name}.pt2")
        with open(path, "wb") as stream:
            stream.write(data)
        yield path, kind, words
    yield os.path.join(folder, "absent.pt2"), "not_found", "no such file"
    yield folder, "not_package", "a folder"


def check_damaged(program, folder, library):
    with tempfile.TemporaryDirectory() as place:
        for path, kind, words in damaged_packages(os.path.join(folder, "identity_model.pt2"), place):
            code, text, report = run(program, path, "--library", library)
            error = report["libraries"][-1]["error"] or {"kind": "none", "message": ""}
            name = os.path.basename(path)
            expect(code == 4 and error["kind"] == kind, f"{name}: exit status {code}, {error}")
            expect(words in error["message"], f"{name}: \"{words}\" is not in: {error['message']}")
            expect(report["libraries"][0]["status"] == "loaded" or kind in ("not_package", "not_found"), f"{name}: the library beside it did not load")


# How the operator behaves: the rules that are expected, without those of other checks that follow from them.
BEHAVIOURS = {
    "": set(),
    "crashes": {"signal.SIGSEGV"},
    "exits": {"exit"},
    "hangs": {"timeout"},
    "hungry": {"memory"},
    "refuses": {"sample.rejected"},
    "uninitialised": {"package.not_repeatable", "bitwise.same_bits"},
    "wrong": {"bitwise.same_bits"},
}


def check_behaviours(program, folder, other):
    good = os.path.join(folder, "identity_model.pt2")
    for how, wanted in BEHAVIOURS.items():
        code, text, report = run(program, good, "--library", other, "--timeout", "20" if how == "hungry" else "3", "--memory", "2048", OPC_TEST_IDENTITY=how)
        findings = [result for result in report["results"] if result["verdict"] in ("fail", "error")]
        rules = {result["rule"] for result in findings}
        expect(rules == wanted and code == (1 if wanted else 0), f"{how or 'right'}: exit status {code}, {sorted(rules)}: {text[-2000:]}")
        expect(all("package" in result["repro"] for result in findings), f"{how}: a finding without a line that reproduces it")
        if how == "refuses":
            expect("not to my taste" in text, f"refuses: the operator's own words are missing: {text}")
    with tempfile.TemporaryDirectory() as place:
        lying = rewrite(good, os.path.join(place, "lying.pt2"), replacing("wrapper.cpp", b"expected: 224", b"expected: 8"))
        code, text, report = run(program, lying, "--library", other)
        rules = {result["rule"] for result in report["results"]}
        expect(code == 1 and rules == {"package.refused"}, f"lying about its inputs: exit status {code}, {rules}")
        expect("unmatched dim value at 2" in text, f"lying about its inputs: {text}")


def main():
    program, folder, library, other = sys.argv[1:5]
    check_good(program, folder, library)
    check_example(program, folder, library)
    check_missing(program, folder)
    check_damaged(program, folder, library)
    check_behaviours(program, folder, other)
    left = [name for name in os.listdir("/tmp") if name.startswith("pt2")] + [name for name in os.listdir(".") if name.startswith("pt2")]
    expect(not left, f"left behind: {left}")
    print(f"{len(failures)} failures")
    return 1 if failures else 0


if __name__ == "__main__":
    sys.exit(main())
