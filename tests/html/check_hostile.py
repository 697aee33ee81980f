"""Texts that try to break the HTML report: markup, control characters, bytes that are no UTF-8, 10 MB.

usage: check_hostile.py OPCHECK_C
"""
import json
import pathlib
import subprocess
import sys
import tempfile

import page

TEXTS = {
    "markup": "</script></style></code><img src=x onerror=alert(1)><!--<script>]]>&amp;&#60;\"' `",
    "control": "\x01\x07\x08\x0b\x0c\x1b[31mred\x1b]0;title\x07 \x7f\x85 \r\nnext\ttab",
    "direction": "\u202egnp.\u202c \u2066x\u2069 \ufffe\uffff \u20ac \U0001f600",
    "long": "x<" * 5_000_000,
    "many lines": "<b>\n" * 200_000,
}
LIBRARY = "lib/lib<i>x.so"
OPERATOR = {"t": "operator", "name": "", "schema": "f(Tensor x) -> Tensor", "library": LIBRARY, "registered_at": "a<b>.cpp:1", "dispatch_keys": ["CPU"], "tags": []}


def records():
    yield {"t": "run", "format": "opcheck-c/journal/1", "version": "1<2", "argv": ["run", "<script>"], "seed": 7, "started": "2026-01-02T03:04:05Z"}
    yield {"t": "tool", "torch": "2.11<0>", "cuda": "\"'"}
    yield {"t": "library", "path": LIBRARY, "status": "failed", "error": {"kind": "x", "message": TEXTS["markup"]}, "operators": 1, "classes": 0}
    for number, long_text in enumerate(TEXTS.values()):
        text = long_text[:20_000]
        name = f"my_ops::f{number}.<u>"
        yield {**OPERATOR, "name": name, "schema": text}
        for verdict, rule, reason in (("fail", "mutation.undeclared", None), ("pass", None, None), ("skip", None, "rejected")):
            check = {"fail": "mutation", "pass": "meta", "skip": "dtype"}[verdict]
            yield {"t": "result", "operator": name, "check": check, "case": f"{name}/{check}/cpu/-/s-1/x.<b>&", "verdict": verdict, "severity": "error",
                   "rule": rule, "reason": reason, "message": long_text, "repro": text, "seconds": 0.1,
                   "evidence": {"input": {text[:100]: text, "x": 3, "y": None}, "why": text, "frames": [{"module": text, "symbol": text, "file": text, "line": 1}],
                                "accesses": [{"rule": "memory.out_of_bounds_read", "access": text, "offset": 2**62, "bytes": -1, "argument": text}, {"access": 1}],
                                "differences": {"output": text, "shape": [0, -1], "got": [text, 3], "wanted": [], "wrong": [0, 0, 99]}} if verdict == "fail" else {}}
        yield {"t": "coverage", "operator": name, "inputs": {"accepted": 1}, "devices": {text[:100]: "accepted", "cpu": text},
               "arguments": {text[:100]: {text[:90]: {text[:80]: "refused"}, "dtypes": {"float32": 4}}}, "refusals": {text: 1}}
        yield {"t": "sample_source", "operator": name, "source": "none", "detail": text}
        yield {"t": "note", "message": long_text}
    yield {"t": "end", "seconds": 1.5, "exit_code": 1, "complete": True}


def main(opcheck_c):
    with tempfile.TemporaryDirectory() as name:
        folder = pathlib.Path(name)
        lines = [json.dumps(record).encode() for record in records()]
        lines.insert(-1, b'{"t": "note", "message": "\xff\xc3("}')  # no UTF-8: a damaged record
        (folder / "run.jsonl").write_bytes(b"".join(line + b"\n" for line in lines))
        subprocess.run([opcheck_c, "report", "render", "--html", folder / "report.html", "--json", folder / "report.json", folder / "run.jsonl"], check=True)
        data = (folder / "report.html").read_bytes()
        report = json.loads((folder / "report.json").read_text(encoding="utf-8"))
    assert len(data) < 1_500_000, f"the page has {len(data)} bytes: long texts are not cut"
    shown = page.Page(data)  # strict
    tags = {element.tag for element in shown.root.iter() if isinstance(element.tag, str)}
    assert not tags & {"img", "u"}, tags
    assert all(not element.text for element in shown.root.iter("i")), "a text made an element"
    scripts = list(shown.root.iter("script"))
    assert len(scripts) == len(TEXTS) + 1, "a text ended a script, or began one"
    assert all(script.get("type") == "application/json" for script in scripts[:-1])
    assert len(shown.problems()) == len(report["problems"]) > 0
    assert [case["case"] for case in shown.cases()] == [result["case"] for result in report["results"]]
    text = page.text_of(shown.root.find("body"))
    assert TEXTS["markup"] in text
    assert "\x1b" not in text and "\u202e" not in text and "\\u202Egnp." in text and "\\x01" in text
    assert "bytes more)" in text and "This report is incomplete" in text


if __name__ == "__main__":
    main(*sys.argv[1:])
