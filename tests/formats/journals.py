"""Journals for tests of the report formats: each function returns the lines of one."""
import json

LIBRARY = "lib/libmy_ops.so"


def line(t, **fields):
    return json.dumps({"t": t, **fields}).encode() + b"\n"


def head(failed=()):
    yield line("run", format="opcheck-c/journal/1", version="9.9", argv=["opcheck-c", "run", LIBRARY], seed=0, started="2026-01-02T03:04:05Z")
    yield line("tool", torch="2.11.0", cuda="")
    yield line("library", path=LIBRARY, status="loaded", error=None, operators=1, classes=0)
    for path in failed:
        yield line("library", path=path, status="failed", error={"kind": "missing_library", "message": "needs libfoo.so"}, operators=0, classes=0)


def operator(name, registered_at="csrc/scale.cpp:9"):
    return line("operator", name=name, schema=f"{name}(Tensor x) -> Tensor", library=LIBRARY, registered_at=registered_at, dispatch_keys=["CPU"], tags=[])


def result(name, check, verdict, rule=None, severity="error", reason=None, message="m", sample="s", evidence=None, variant="plain"):
    return line("result", operator=name, check=check, case=f"{name}/{check}/cpu/-/{sample}/{variant}", verdict=verdict, severity=severity, rule=rule,
                reason=reason, message=message, evidence=evidence or {}, repro=f"opcheck-c run --case '{name}/{check}' {LIBRARY}", seconds=0.01)


def end(code):
    return line("end", seconds=1.5, exit_code=code, complete=True)


def failing(name, **more):
    return result(name, "stride", "fail", "stride.wrong_result", **more)


def warned(name, **more):
    return result(name, "registration", "fail", "registration.no_meta_kernel", severity="warning", **more)


def problems(errors, warnings):
    """So many operators that are wrong, and so many with a warning."""
    yield from head()
    for number in range(errors):
        yield operator(f"n::bad{number:05}")
        yield failing(f"n::bad{number:05}", message=f"element {number} differs")
    for number in range(warnings):
        yield operator(f"n::odd{number:05}")
        yield warned(f"n::odd{number:05}")
    yield end(1 if errors else 0)


def known():
    """One known failure, with a case of the same check that passes; one skip; one pass."""
    yield from head()
    yield operator("n::known")
    yield result("n::known", "stride", "skip", reason="xfail", message="differs (expected: issue 13)")
    yield result("n::known", "stride", "pass", sample="s2")
    yield result("n::known", "dtype", "skip", reason="rejected", message="no # half")
    yield result("n::known", "meta", "pass")
    yield end(0)


def hostile(megabytes):
    """Messages with markup, commands, control characters, bytes that are no text, and one of many megabytes."""
    nasty = "::error::pwned\n::set-output name=a::b\n%0A<script>alert(1)</script> `code` | [link](http://x) \x1b[31mred\x07 ]]> # TODO \\ @user\r\n..."
    yield from head(failed=["lib/a%b, c:d.so"])
    yield operator("n::nasty", registered_at="csrc/my file, 100%:x.cpp:7")
    yield failing("n::nasty", message=nasty)
    yield result("n::nasty", "meta", "skip", reason="rejected", message=nasty)
    yield operator("n::long")
    yield failing("n::long", message="€" * ((megabytes << 20) // 3))
    yield operator("n::bytes")
    yield failing("n::bytes", message="BYTES").replace(b"BYTES", b"\\ud800 \xff\xfe")
    yield operator("n::escaped")
    yield failing("n::escaped", message="\\xff\ufffe\u0085")
    yield end(4)


def large(operators, cases):
    """Operators with so many cases each; every tenth operator is wrong."""
    yield from head()
    checks = ["dtype", "stride", "empty", "alias", "mutation", "meta", "memory", "autograd", "determinism", "leak"]
    for number in range(operators):
        name = f"n::op{number:05}"
        yield operator(name)
        for case in range(cases):
            bad = number % 10 == 0 and case == 1
            yield result(name, checks[case % len(checks)], "fail" if bad else "pass", "stride.wrong_result" if bad else None, sample=f"s{case}",
                         evidence={"input": {"x": "float32[2, 3]"}})
    yield end(1)
