"""opcheck-c record over Python programs that call torchvision's operators, and the replay of what it wrote.

    check_python.py OPCHECK_C PYTHON
"""

import importlib.util
import json
import os
import subprocess
import sys
import tempfile

CALLS = """
import multiprocessing, os, sys
import torch, torchvision

def calls(sizes):
    for size in sizes:
        boxes = torch.rand(size, 4) * 20
        boxes[:, 2:] += boxes[:, :2]
        torchvision.ops.nms(boxes, torch.rand(size), 0.5)
        rois = torch.cat([torch.randint(0, 2, (size, 1)).float(), boxes], 1)
        images = torch.rand(2, 3, 16, 16, requires_grad=True)
        torchvision.ops.roi_align(images, rois, 3, spatial_scale=0.5).sum().backward()
"""

ENDS = {
    "plain": "calls([5, 6, 9])",
    # Each process records: two that are forked, one that is started anew.
    "multiprocessing": """
if __name__ == "__main__":
    for way in ("fork", "spawn"):
        with multiprocessing.get_context(way).Pool(2) as pool:
            pool.map(calls, [[5, 6], [7]])
""",
    # A compiler runs the function with tensors that stand for others: those calls are no samples.
    "traced": """
from torch._subclasses.fake_tensor import FakeTensorMode
with FakeTensorMode():
    torchvision.ops.roi_align(torch.rand(1, 1, 4, 4), torch.rand(1, 5), 2)
calls([5])
class Mine(torch.Tensor):
    pass
torchvision.ops.nms(torch.rand(6, 4).as_subclass(Mine), torch.rand(6).as_subclass(Mine), 0.5)
sys.exit(3)
""",
}


def record(tool, python, name, work):
    script = os.path.join(work, f"calls_{name}.py")
    output = os.path.join(work, f"{name}.samples.json")
    with open(script, "w", encoding="utf-8") as stream:
        stream.write(CALLS + ENDS[name])
    ended = subprocess.run([tool, "record", "--output", output, "--namespace", "torchvision", "--", python, script], stdout=subprocess.PIPE,
                           stderr=subprocess.PIPE, text=True, check=False, timeout=250)
    assert os.path.exists(output), ended
    with open(output, encoding="utf-8") as stream:
        return ended, json.load(stream)["samples"], output


def main():
    tool, python = sys.argv[1:3]
    # Without importing it: that takes seconds. This Python may be another.
    where = "import importlib.util; print(importlib.util.find_spec('torchvision').submodule_search_locations[0])"
    folder = subprocess.run([python, "-c", where], stdout=subprocess.PIPE, text=True, check=True).stdout.strip()
    library = next(path for name in ("_C.so", "_C_stable.so") if os.path.exists(path := os.path.join(folder, name)))  # differs between releases
    with tempfile.TemporaryDirectory() as work:
        ended, samples, output = record(tool, python, "plain", work)
        assert ended.returncode == 0, ended.stderr
        names = {s["operator"] for s in samples}
        assert {"torchvision::nms", "torchvision::roi_align", "torchvision::_roi_align_backward"} <= names, names
        assert " 3 calls" in ended.stderr, ended.stderr

        # Each distinct call comes to a verdict.
        report = os.path.join(work, "report.json")
        subprocess.run([tool, "run", "--no-search", "--samples", output, "--json", report, "--check", "alias,mutation,determinism",
                        *(word for name in names for word in ("--op", name)), library], stdout=subprocess.DEVNULL, check=False, timeout=250)
        with open(report, encoding="utf-8") as stream:
            results = json.load(stream)["results"]
        for name in names:
            plain = {r["case"].split("/")[4]: r["verdict"] for r in results if r["operator"] == name and "/cpu/-/" in r["case"] and r["case"].endswith("/plain") and r["verdict"] != "skip"}
            wanted = sum(s["operator"] == name for s in samples)
            assert len(plain) == wanted and set(plain.values()) == {"pass"}, (name, wanted, plain)

        ended, samples, _ = record(tool, python, "multiprocessing", work)
        assert ended.returncode == 0 and {"torchvision::nms", "torchvision::roi_align"} <= {s["operator"] for s in samples}, ended.stderr
        nms = [line for line in ended.stderr.splitlines() if "torchvision::nms" in line]
        assert len(nms) == 1 and " 6 calls" in nms[0], ended.stderr

        ended, samples, _ = record(tool, python, "traced", work)
        assert ended.returncode == 3, (ended.returncode, ended.stderr)
        nms = [s for s in samples if s["operator"] == "torchvision::nms"]
        assert [s["args"][0]["tensor"]["shape"] for s in nms] == [[5, 4]], nms
        assert "left out: made while a compiler traced" in ended.stderr, ended.stderr


if __name__ == "__main__":
    main()
