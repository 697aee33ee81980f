#!/usr/bin/env python3
"""check_forms.py RUN_PTX INSTRUCTIONS [PTXAS]: every form of instruction, against values that are calculated here with whole and rational numbers.

Makes a kernel for each form, has run_ptx run them all over special and random values, and compares bit for bit; approximations within their documented
error. Every family of INSTRUCTIONS (instructions.def) must be in a form, but those of ELSEWHERE. With PTXAS, NVIDIA's assembler must accept the kernels.
"""
import os
import random
import re
import struct
import subprocess
import sys
import tempfile

import forms

COUNT = 768
WARP = 32
# Tested by test_ptx_kernels.c and test_ptx_defects.c, or without a result.
ELSEWHERE = {"nothing", "fence"}
HEAD = ".version 9.0\n.target sm_90\n.address_size 64\n"
BODY = """.visible .entry {name}(.param .u64 pa, .param .u64 pb, .param .u64 pc, .param .u64 po)
{{
.reg .pred %p<8>;
.reg .b16 %h<16>;
.reg .b32 %r<16>;
.reg .b64 %x<24>;
mov.u32 %r0, %ctaid.x;
mov.u32 %r1, %ntid.x;
mov.u32 %r2, %tid.x;
mad.lo.u32 %r3, %r0, %r1, %r2;
mul.wide.u32 %x0, %r3, 8;
mul.wide.u32 %x1, %r3, 16;
ld.param.u64 %x2, [pa];
ld.param.u64 %x3, [pb];
ld.param.u64 %x4, [pc];
ld.param.u64 %x16, [po];
add.u64 %x2, %x2, %x0;
add.u64 %x3, %x3, %x0;
add.u64 %x4, %x4, %x0;
add.u64 %x16, %x16, %x1;
ld.global.u64 %x10, [%x2];
ld.global.u64 %x11, [%x3];
ld.global.u64 %x12, [%x4];
mov.b64 {{%r10, %r4}}, %x10;
mov.b64 {{%r11, %r4}}, %x11;
mov.b64 {{%r12, %r4}}, %x12;
mov.b32 {{%h10, %h4}}, %r10;
mov.b32 {{%h11, %h4}}, %r11;
mov.b32 {{%h12, %h4}}, %r12;
and.b64 %x13, %x10, 1;
setp.ne.u64 %p1, %x13, 0;
and.b64 %x13, %x11, 1;
setp.ne.u64 %p2, %x13, 0;
and.b64 %x13, %x12, 1;
setp.ne.u64 %p3, %x13, 0;
mov.u64 %x6, 0;
mov.u64 %x7, 0;
{body}
st.global.v2.u64 [%x16], {{%x6, %x7}};
ret;
}}
"""


def inputs(form, chance):
    """COUNT values for each of a, b, c: special ones with each other first."""
    special = form.special
    out = []
    for position in range(3):
        size = len(special)
        values = [special[(i, i // size, 7 * i + i // size)[position] % size] for i in range(min(size ** 2, COUNT - 192))]
        while len(values) < COUNT:
            kind = chance.randrange(4)
            values.append(chance.choice(special) if kind == 0 else chance.getrandbits(64) if kind < 3 else chance.getrandbits(64) >> chance.randrange(64))
        out.append(values)
    return out


def close(form, got, expected):
    """Whether an approximation is within its error. NaN, infinity and zero are exact."""
    f, bits = form.bounded
    if got == expected:
        return True
    if f.is_nan(got) or f.is_nan(expected) or f.is_infinite(expected):
        return False
    x, y = float(f.value(got)), float(f.value(expected))
    return abs(x - y) <= 2.0 ** bits * max(abs(y), form.scale)


def compare(form, arrays, out):
    """The first mistakes, in words."""
    errors = []
    for start in range(0, COUNT, WARP if form.warp else 1):
        index = range(start, start + (WARP if form.warp else 1))
        if form.warp:
            expected = form.oracle(*[[array[i] for i in index] for array in arrays])
        else:
            expected = [form.oracle(*[array[start] for array in arrays])]
        for i, value in zip(index, expected):
            value = value if isinstance(value, tuple) else (value, 0)
            got = out[2 * i], out[2 * i + 1]
            good = close(form, got[0], value[0]) if form.bounded else got == value
            if not good:
                given = ", ".join(f"{array[i]:#x}" for array in arrays)
                errors.append(f"{form.name}: ({given}) gives {got[0]:#x} {got[1]:#x}, expected {value[0]:#x} {value[1]:#x}")
    return errors[:3] + ([f"{form.name}: and {len(errors) - 3} more"] if len(errors) > 3 else [])


def families(path):
    """{family: [(name, pattern of the words)]} of the table."""
    with open(path, encoding="utf-8") as file:
        text = file.read()
    macros = dict(re.findall(r'^#define (\w+) "(.*)"$', text, re.M))
    found = {}
    for name, words, family in re.findall(r'^OPC_PTX\("(\w+)", (.*?), "[\w?]*", (\w+), \w+, \w+\)$', text, re.M):
        pattern = "".join(macros[macro] if macro else quoted for quoted, macro in re.findall(r'"([^"]*)"|(\w+)', words))
        found.setdefault(family, []).append((name, pattern))
    return found


def fits(opcode, name, pattern):
    words = opcode.split(".")
    at = 1
    for token in pattern.split(" ") if pattern else []:
        alternatives = token.rstrip("?").split("|")
        if at < len(words) and any(words[at] == one or one.endswith("*") and words[at].startswith(one[:-1]) for one in alternatives):
            at += 1
        elif not token.endswith("?"):
            return False
    return words[0] == name and at == len(words)


def untested(path, tested):
    opcodes = {opcode for form in tested for opcode in re.findall(r"[a-z]\w*(?:\.[\w:]+)+|\btrap\b|\bexit\b|\bret\b", form.body)} | set(re.findall(r"^([a-z]\w*(?:\.[\w:]+)*)", BODY, re.M))
    return [f"no form tests the family {family} ({rows[0][0]} {rows[0][1]})" for family, rows in families(path).items()
            if family not in ELSEWHERE and not any(fits(opcode, name, pattern) for opcode in opcodes for name, pattern in rows)]


def main(program, table, ptxas=None):
    chance = random.Random(53)
    tested = forms.all_forms()
    arrays = [inputs(form, chance) for form in tested]
    with tempfile.TemporaryDirectory() as folder:
        paths = [os.path.join(folder, name) for name in ("forms.ptx", "in", "out")]
        with open(paths[0], "w", encoding="ascii") as file:
            file.write(HEAD + "".join(BODY.format(name=f"k{i}", body=form.body) for i, form in enumerate(tested)))
        with open(paths[1], "wb") as file:
            for each in arrays:
                for values in each:
                    file.write(struct.pack(f"<{COUNT}Q", *values))
        if ptxas:
            subprocess.run([ptxas, "-arch=sm_90", "-O0", "-o", os.path.join(folder, "cubin"), paths[0]], check=True)
        subprocess.run([program, *paths, str(COUNT)], check=True)
        with open(paths[2], "rb") as file:
            out = file.read()
    errors = untested(table, tested)
    size = 16 * COUNT
    for i, form in enumerate(tested):
        errors += compare(form, arrays[i], struct.unpack(f"<{2 * COUNT}Q", out[i * size:(i + 1) * size]))
    print("\n".join(errors[:60]) or f"{len(tested)} forms, {COUNT} values each")
    return 1 if errors else 0


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
