"""opcheck-c record over a C++ program, one case a call.

    check_record.py OPCHECK_C FOLDER CASE    FOLDER holds the programs and libraries of this directory's CMakeLists.txt
    check_record.py --list
"""

import json
import os
import resource
import signal
import subprocess
import sys
import tempfile

CASES = {}


def case(function):
    CASES[function.__name__] = function
    return function


class Place:
    def __init__(self, tool, folder, work):
        self.tool, self.folder, self.work = tool, folder, work
        self.ops = f"{folder}/librecord_ops.so"
        self.program = f"{folder}/record_program"
        self.output = f"{work}/calls.samples.json"

    def record(self, command, *options, output=None, **more):
        return subprocess.run([self.tool, "record", "--output", output or self.output, *options, "--", *command], stdout=subprocess.PIPE,
                              stderr=subprocess.PIPE, text=True, timeout=100, check=False, **more)

    def ours(self, mode, count=1):
        return [self.program, self.ops, mode, str(count)]

    def samples(self):
        with open(self.output, encoding="utf-8") as stream:
            whole = json.load(stream)
        assert whole["format"] == "opcheck-c/samples/1"
        return whole["samples"]

    def nothing_left(self):
        left = [name for name in os.listdir(self.work) if ".recording-" in name or ".tmp-" in name]
        assert not left, left

    def run_replay(self, *options):
        return subprocess.run([self.tool, "run", "--no-search", "--samples", self.output, "--json", f"{self.work}/report.json", "--device", "cpu", *options, self.ops],
                              stdout=subprocess.PIPE, stderr=subprocess.STDOUT, text=True, timeout=100, check=False)

    def replay(self, *options):
        ended = self.run_replay(*options)
        assert ended.returncode in (0, 1), ended.stdout
        with open(f"{self.work}/report.json", encoding="utf-8") as stream:
            return json.load(stream)["results"]


def is_plain(result):
    """A sample as it was recorded, its own dtype too."""
    return result["case"].endswith("/plain") and result["case"].split("/")[3] == "-"


def fine(ended, place, code=0):
    """As the program is without us."""
    assert ended.returncode == code, (ended.returncode, ended.stderr)
    assert ended.stdout == "begin\nend\n", ended.stdout
    assert ended.stderr.startswith("words\n"), ended.stderr
    place.nothing_left()


@case
def call_once(place):
    ended = place.record(place.ours("calls", 1000))
    fine(ended, place)
    samples = place.samples()
    assert len(samples) == 1 and samples[0]["operator"] == "rec::plus_one" and samples[0]["source"] == "recorded", samples
    tensor = samples[0]["args"][0]["tensor"]
    assert tensor["shape"] == [8, 8] and len(tensor["fill"]["values"]) == 64, tensor
    assert "1000 calls" in ended.stderr and "1 sample " in ended.stderr, ended.stderr
    verdicts = {r["verdict"] for r in place.replay("--op", "rec::plus_one", "--check", "alias") if r["check"] == "alias"}
    assert "pass" in verdicts, verdicts


@case
def autograd_is_one_call(place):
    ended = place.record(place.ours("autograd"))
    fine(ended, place)
    assert " 1 call  " in ended.stderr, ended.stderr
    assert [s["args"][0]["tensor"]["requires_grad"] for s in place.samples()] == [True]


@case
def call_inside_a_kernel(place):
    ended = place.record(place.ours("nested"))
    fine(ended, place)
    assert [s["operator"] for s in place.samples()] == ["rec::plus_one", "rec::plus_two"]
    assert " 2 calls" in ended.stderr, ended.stderr  # of plus_one; its argument is another tensor the second time


@case
def shape_classes(place):
    fine(place.record(place.ours("shapes", 60)), place)
    kinds = sorted((s["args"][0]["tensor"]["shape"], s["args"][0]["tensor"].get("requires_grad", False)) for s in place.samples())
    assert kinds == [([2, 5], True), ([3, 5], False)], kinds  # sizes of 2, 3 and 4 are one class


@case
def limits(place):
    ended = place.record(place.ours("ranks", 24), "--calls", "5")
    fine(ended, place)
    assert len(place.samples()) == 5
    assert "14 calls left out: more distinct calls of this operator than --calls allows" in ended.stderr, ended.stderr
    ended = place.record(place.ours("ranks", 12), "--total", "3")
    assert len(place.samples()) == 3 and "than --total allows" in ended.stderr, ended.stderr


@case
def layouts_replay(place):
    fine(place.record(place.ours("layouts"), "--elements", "8"), place)
    samples = place.samples()
    assert len(samples) == 9, len(samples)
    plain = [r for r in place.replay("--op", "rec::layout", "--check", "alias,mutation") if is_plain(r)]
    assert len(plain) == 18, len(plain)  # the operator refuses what lies otherwise than in the program
    assert all(r["verdict"] == "pass" for r in plain), [r for r in plain if r["verdict"] != "pass"]


@case
def far_in_a_large_storage(place):
    """Of 64 MiB that four elements lie in the middle of, most is left out; how they are aligned is not."""
    fine(place.record(place.ours("far")), place)
    tensor = place.samples()[0]["args"][0]["tensor"]
    assert tensor["storage_offset"] % (1 << 14) == 5 and tensor["storage_offset"] < 1 << 22, tensor
    assert tensor["storage_offset"] + 4 < tensor["storage_size"] < 1 << 23, tensor


@case
def arguments_of_all_kinds(place):
    fine(place.record(place.ours("others")), place)
    by_name = {}
    for sample in place.samples():
        by_name.setdefault(sample["operator"], []).append(sample)
    many = by_name["rec::many"][0]
    assert many["args"][1:] == [None, 3, 0.1, [4, 5], 2.5], many["args"][1:]
    assert many["args"][0][0]["tensor"]["identity"] == many["args"][0][1]["tensor"]["identity"]
    assert many["kwargs"] == {"flag": True, "mode": 'a "word"\n', "dtype": {"dtype": "float64"}, "device": {"device": "cpu"}, "format": None,
                              "generator": None}, many["kwargs"]
    picks = [s["args"][1]["tensor"]["fill"] for s in by_name["rec::pick"]]
    assert picks[0] == {"values": [3, 0, 1]}, picks[0]
    low, high = picks[1]["range"]
    assert 0 <= low < 100 and 39900 < high <= 40000, picks[1]
    fills = {tuple(s["args"][0]["tensor"]["shape"]): (s["args"][0]["tensor"]["fill"], s.get("recorded")) for s in by_name["rec::plus_one"]}
    assert fills[(3000,)][0] == {"full": 0.5} and fills[(3,)][0] == {"full": "nan"}
    assert repr(fills[(2, 1, 2)][0]["values"]) == "['inf', -0.0, 1.00053e-42, 0.1]", fills[(2, 1, 2)]
    assert fills[(2,)][0] == {"values": [1, 0]} and fills[(200000,)][0] == "arange"
    kind, notes = fills[(30, 100)]
    assert kind == "normal" and abs(notes["tensors"]["x"]["std"] - 1) < 0.1 and len(notes["tensors"]["x"]["digest"]) == 16, notes
    assert "other_rec::copy" in by_name
    # Samples of other libraries' operators are passed over, here there are none; all calls come to a verdict.
    results = place.replay("--check", "alias,determinism")
    for sample in place.samples():
        mine = [r for r in results if r["operator"] == sample["operator"] and is_plain(r)]
        assert any(r["verdict"] == "pass" for r in mine), (sample["operator"], mine)
    assert not [r for r in results if r["operator"] == "rec::pick" and r["verdict"] == "error"]


@case
def namespaces_and_globs(place):
    fine(place.record(place.ours("others"), "--namespace", "other_rec"), place)
    assert {s["operator"] for s in place.samples()} == {"other_rec::copy"}
    fine(place.record(place.ours("others"), "--op", "p*k"), place)
    assert {s["operator"] for s in place.samples()} == {"rec::pick"}
    fine(place.record(place.ours("calls"), "--namespace", "aten", "--op", "aten::add.Tensor"), place)
    assert {s["operator"] for s in place.samples()} == {"aten::add.Tensor"}


@case
def what_cannot_be(place):
    ended = place.record(place.ours("unrecordable"))
    assert ended.returncode == 5 and ended.stdout == "begin\nend\n", (ended.returncode, ended.stdout, ended.stderr)
    assert not os.path.exists(place.output)
    for words in ("no call could be", "an address of the program", "on the device meta", "sparse", "dtype that a sample file cannot hold", "custom class"):
        assert words in ended.stderr, (words, ended.stderr)


@case
def values(place):
    fine(place.record(place.ours("large"), "--values"), place)
    tensor = place.samples()[0]["args"][0]["tensor"]
    name = tensor["fill"]["file"]
    assert name.startswith("calls.samples.json.values/bfloat16-") and tensor["shape"] == [100, 300] and tensor["strides"] == [1, 100], tensor
    with open(f"{place.work}/{name}", "rb") as stream:
        whole = stream.read()
    assert whole[:6] == b"\x93NUMPY" and len(whole) == 256 + 100 * 300 * 4, len(whole)
    plain = [r for r in place.replay("--op", "rec::plus_one", "--check", "alias") if is_plain(r)]
    assert [r["verdict"] for r in plain] == ["pass"], plain
    ended = place.record(place.ours("large"), "--values", "--size", "1", "--elements", "1")
    fine(ended, place)


@case
def objects(place):
    fine(place.record(place.ours("objects")), place)
    (sample,) = place.samples()
    kept = sample["args"][1]["object"]
    assert kept["class"] == "rec.Kept" and kept["pickle"].startswith("calls.samples.json.values/object-"), kept
    plain = [r for r in place.replay("--op", "rec::kept", "--check", "alias") if is_plain(r)]
    assert [r["verdict"] for r in plain] == ["pass"], plain
    os.unlink(f"{place.work}/{kept['pickle']}")
    ended = place.run_replay("--op", "rec::kept", "--check", "alias")
    assert ended.returncode == 2 and "cannot open" in ended.stdout and kept["pickle"] in ended.stdout, ended
    fine(place.record(place.ours("fork")), place)
    assert not os.path.exists(f"{place.output}.values"), "the file of an object is left"


@case
def values_of_an_earlier_recording(place):
    """Files that the earlier output named go; what it did not name, and what no recording names so, stays."""
    folder = f"{place.output}.values"
    fine(place.record(place.ours("large"), "--values"), place)
    fine(place.record(place.ours("large"), "--values"), place)
    named = [json.dumps(sample).count("calls.samples.json.values/") for sample in place.samples()]
    ours = os.listdir(folder)
    assert len(ours) == sum(named) > 0, (ours, named)
    assert all(name in json.dumps(place.samples()) for name in ours), ours
    foreign = ["float32-0123456789abcdef.npy", "weights.npy", "float32-0123456789abcdef.txt"]
    for name in [*foreign, "../float32-0123456789abcdef.npy"]:
        with open(f"{folder}/{name}", "w", encoding="utf-8") as stream:
            stream.write("mine")
    with open(place.output, "w", encoding="utf-8") as stream:
        stream.writelines(f'"calls.samples.json.values/{name}"\n' for name in [*ours, *foreign[1:], "../float32-0123456789abcdef.npy"])
    fine(place.record(place.ours("fork")), place)
    assert set(os.listdir(folder)) == set(foreign), os.listdir(folder)
    assert os.path.exists(f"{place.work}/float32-0123456789abcdef.npy")
    for name in foreign:
        os.unlink(f"{folder}/{name}")
    os.rmdir(folder)
    fine(place.record(place.ours("large"), "--values"), place)
    fine(place.record(place.ours("fork")), place)
    assert not os.path.exists(folder), "an empty folder is left"


@case
def threads(place):
    ended = place.record(place.ours("threads", 120))
    fine(ended, place)
    assert len(place.samples()) == 12 and " 960 calls" in ended.stderr, ended.stderr


@case
def fork(place):
    ended = place.record(place.ours("fork"))
    fine(ended, place)
    assert len(place.samples()) == 4 and " 4 calls" in ended.stderr, ended.stderr
    ended = place.record(place.ours("fork_first"))
    fine(ended, place)
    assert len(place.samples()) == 3, ended.stderr


@case
def several_programs(place):
    script = f'"$0" "$1" ranks 3; "$0" "$1" ranks 5 & wait; "$0" "$1" 7'
    ended = place.record(["sh", "-c", script, place.program, place.ops])
    assert ended.returncode == 7, ended
    assert len(place.samples()) == 5 and "in 3 processes" in ended.stderr, ended.stderr  # what both called is written once


@case
def killed(place):
    ended = place.record(place.ours("kill", 12))
    assert ended.returncode == -9, ended.returncode
    assert len(place.samples()) == 12 and " 12 calls" in ended.stderr, ended.stderr
    place.nothing_left()
    ended = place.record(place.ours("abort", 3))
    assert ended.returncode == -6 and len(place.samples()) == 3, ended


@case
def terminated(place):
    """A signal to opcheck-c reaches the program; what was called is kept."""
    script = f'"$0" "$1" ranks 3; kill -TERM $PPID; exec sleep 20'
    ended = place.record(["sh", "-c", script, place.program, place.ops])
    assert ended.returncode == -15 and len(place.samples()) == 3, (ended.returncode, ended.stderr)


@case
def exit_codes(place):
    for code in (1, 5, 42):
        ended = place.record(place.ours(str(code)))
        assert ended.returncode == code, (code, ended.returncode)
    ended = place.record(place.ours("0"))
    assert ended.returncode == 5 and "no operator that was asked for was called" in ended.stderr, ended
    ended = place.record(["/no/such/program"])
    assert ended.returncode == 2 and "cannot execute /no/such/program" in ended.stderr, ended
    ended = place.record(place.ours("calls"), output="/no/such/folder/x.json")
    assert ended.returncode == 3 and ended.stdout == "", ended
    place.nothing_left()


@case
def without_libtorch(place):
    """A process without libtorch gets the shim, which is 4 pages of code, and libc; nothing else."""
    maps = place.record(["cat", "/proc/self/maps"])
    assert maps.returncode == 5 and "no process of the program had libtorch in it" in maps.stderr, maps.stderr
    objects = {line.split()[-1] for line in maps.stdout.splitlines() if ".so" in line}
    assert any("libopcheck-record.so" in name for name in objects), objects
    assert all("libopcheck-record.so" in name or "libc.so" in name or "ld-linux" in name for name in objects), objects


@case
def environment(place):
    other = f"{place.folder}/librecord_preloaded.so"
    ended = place.record(["sh", "-c", 'echo "$LD_PRELOAD"'], env={**os.environ, "LD_PRELOAD": other})
    assert ended.stdout.splitlines().count("preloaded") >= 1 and ended.stdout.splitlines()[-1].endswith(f":{other}"), ended.stdout
    before = subprocess.run(["env"], stdout=subprocess.PIPE, text=True, check=True).stdout.splitlines()
    inside = place.record(["env"]).stdout.splitlines()
    added = {line.split("=")[0] for line in set(inside) ^ set(before)} - {"_"}
    assert added == {"LD_PRELOAD", "OPCHECK_RECORD"}, added
    ended = place.record(["sh", "-c", "exit 9"], preexec_fn=lambda: signal.signal(signal.SIGCHLD, signal.SIG_IGN))
    assert ended.returncode == 9, ended
    signals = place.record(["grep", "SigIgn", "/proc/self/status"]).stdout
    assert signals == subprocess.run(["grep", "SigIgn", "/proc/self/status"], stdout=subprocess.PIPE, text=True, check=True).stdout, signals


@case
def static_program(place):
    ended = place.record([f"{place.folder}/record_static"])
    assert ended.returncode == 5 and ended.stdout == "static\n" and "statically linked" in ended.stderr, ended


@case
def plugins(place):
    """libtorch comes by dlopen: found by the caller's RUNPATH, or by a path; called through a symbol, or through an initialiser's registration."""
    host, plugin = f"{place.folder}/record_host", f"{place.folder}/plugins/librecord_plugin.so"
    for mode, name in (("dlsym", plugin), ("registered", plugin), ("dlsym", "librecord_plugin.so")):
        ended = place.record([host, mode, name])
        assert ended.returncode == 0, (mode, name, ended)
        assert [s["operator"] for s in place.samples()] == ["plug::twice"], (mode, name)
        os.unlink(place.output)
    ended = place.record([host, "dlsym", "no_such_plugin.so"])
    assert ended.returncode == 3 and ended.stderr.startswith("no_such_plugin.so: cannot open shared object file"), ended


@case
def closed_descriptors(place):
    fine(place.record(place.ours("closes_all", 6)), place)
    assert len(place.samples()) == 6


@case
def state_of_the_process(place):
    fine(place.record(place.ours("state")), place)
    assert len(place.samples()) == 1


@case
def no_space(place):
    """The program notices nothing where nothing can be written."""
    ended = place.record(place.ours("limited", 4))
    assert ended.returncode == 5 and ended.stdout == "begin\nend\n" and "they could not be written down" in ended.stderr, ended
    ended = place.record(place.ours("calls"), output="/dev/full")
    assert ended.returncode == 3 and ended.stdout == "begin\nend\n" and "cannot write /dev/full" in ended.stderr, ended
    ended = place.record(place.ours("7"), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (4096, 4096)))
    assert ended.returncode == 7, ended
    ended = place.record(place.ours("ranks", 12), preexec_fn=lambda: resource.setrlimit(resource.RLIMIT_FSIZE, (1000, 1000)))
    assert ended.returncode in (0, 3, 5) and ended.stdout == "begin\nend\n", ended
    place.nothing_left()


@case
def another_libtorch(place):
    """One that no observer was built for: told, and left alone."""
    root = f"{place.work}/torch"
    os.mkdir(root)
    os.symlink(os.environ["OPC_TEST_TORCH_ROOT"] + "/lib", f"{root}/lib")
    with open(f"{root}/version.py", "w", encoding="utf-8") as stream:
        stream.write("__version__ = '9.7.0+cpu'\n")
    ended = place.record(place.ours("calls"), env={**os.environ, "LD_LIBRARY_PATH": f"{root}/lib"})
    assert ended.returncode == 3 and ended.stdout == "begin\nend\n", ended
    assert "is libtorch 9.7, and " in ended.stderr and "is built for " in ended.stderr, ended.stderr


@case
def old_output_stays(place):
    with open(place.output, "w", encoding="utf-8") as stream:
        stream.write("precious")
    assert place.record(["true"]).returncode == 5
    with open(place.output, encoding="utf-8") as stream:
        assert stream.read() == "precious"


def main():
    if sys.argv[1] == "--list":
        print("\n".join(CASES))
        return
    tool, folder, name = sys.argv[1:4]
    with tempfile.TemporaryDirectory() as work:
        CASES[name](Place(tool, folder, work))


if __name__ == "__main__":
    main()
