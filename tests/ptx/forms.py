"""The forms of instructions that check_forms.py tests: a kernel's body, the special values that it gets, and what must come out.

A body reads a, b, c in %x10 %x11 %x12 (64 bits), %r10… (32), %h10… (16) and %p1 %p2 %p3 (bit 0), and writes %x6 and %x7. An oracle gets the three numbers of
64 bits of a lane, or of a warp, and returns one or two.
"""
import math
from fractions import Fraction

import exact_floats as ex

M64 = (1 << 64) - 1
INTEGERS = ("u16", "s16", "u32", "s32", "u64", "s64")
EDGES = [0, 1, 2, 31, 32, 33, 63, 64, 0x7f, 0x80, 0xff, 0x7fff, 0x8000, 0xffff, 0x10000, 0x7fffffff, 0x80000000, 0xffffffff, 1 << 32, (1 << 63) - 1, 1 << 63, M64,
         M64 - 1, 0x0123456789abcdef]
FLOATS = [0, 1 << 31, 1, 0x80000001, 0x007fffff, 0x00800000, 0x3f800000, 0xbf800000, 0x3f800001, 0x3f7fffff, 0x3f000000, 0x40490fdb, 0x4b000001, 0x4effffff, 0x4f000000,
          0xcf000000, 0x5f000000, 0x7f7fffff, 0xff7fffff, 0x7f800000, 0xff800000, 0x7fc00000, 0x7f800001, 0x33800000]
DOUBLES = [0, 1 << 63, 1, (1 << 63) + 1, 0x000fffffffffffff, 0x0010000000000000, 0x3ff0000000000000, 0xbff0000000000000, 0x3ff0000000000001, 0x3fefffffffffffff,
           0x3fe0000000000000, 0x4330000000000001, 0x41dfffffffc00000, 0x41e0000000000000, 0xc1e0000000000000, 0x43e0000000000000, 0x47efffffe0000000, 0x47effffff0000000,
           0x7fefffffffffffff, 0x7ff0000000000000, 0xfff0000000000000, 0x7ff8000000000000, 0x36a0000000000000, 0x3e70000010000000]
HALVES = [0, 0x8000, 1, 0x8001, 0x03ff, 0x0400, 0x3c00, 0xbc00, 0x3c01, 0x3bff, 0x3800, 0x7bff, 0xfbff, 0x7c00, 0xfc00, 0x7e00, 0x3f80, 0xbf80, 0x7f7f, 0x7f80, 0xff80, 0x7fc0, 0x0080,
          0x00010001]
PAIRS = [low | high << 16 for low in HALVES[:6] + HALVES[10:13] for high in (0x3c00, 0x8001, 0x7bff)]


class Form:
    def __init__(self, name, body, oracle, special=None, warp=False, bounded=None, scale=0.0):
        self.name, self.body, self.oracle, self.special = name, body, oracle, special or EDGES
        self.warp, self.bounded, self.scale = warp, bounded, scale  # bounded: (format, binary logarithm of the error)


def bits_of(kind):
    return {"pred": 1, "f16x2": 32, "bf16x2": 32, "bf16": 16, "tf32": 32}.get(kind) or int(kind.lstrip("bsuf"))


def register(kind, number):
    return f"%{ {8: 'r', 16: 'h', 32: 'r', 64: 'x'}[bits_of(kind)]}{number}"


def out(kind, number, to):
    """A register's number of `kind` bits as one of 64, in %x{to}."""
    bits = bits_of(kind)
    if bits == 64:
        return f"mov.b64 %x{to}, %x{number};"
    return f"cvt.u64.u{bits} %x{to}, {register(kind, number)};"


def simple(opcode, oracle, to, sources, special=None, **more):
    """d = opcode(a, b, c), registers of these kinds."""
    operands = ", ".join([register(to, 5)] + [register(kind, 10 + i) for i, kind in enumerate(sources)])
    return Form(opcode, f"{opcode} {operands};\n{out(to, 5, 6)}", oracle, special, **more)


def number(value, kind):
    """The low bits as a whole number of the kind."""
    bits = bits_of(kind)
    value &= (1 << bits) - 1
    return value - (1 << bits) if kind[0] == "s" and value >> (bits - 1) else value


def masked(value, kind):
    return value & ((1 << bits_of(kind)) - 1)


def clamp(value, kind):
    bits = bits_of(kind)
    low, high = (-(1 << bits - 1), (1 << bits - 1) - 1) if kind[0] == "s" else (0, (1 << bits) - 1)
    return min(max(value, low), high)


# ---- whole numbers ----

def integer(opcode, kind, function, count, to=None, third=None):
    kinds = [kind] * count
    if third:
        kinds[2] = third

    def oracle(*values):
        return masked(function(*[number(value, each) for value, each in zip(values, kinds)]), to or kind)
    return simple(opcode, oracle, to or kind, kinds)


def quotient(x, y, kind):
    if y == 0:
        return -1
    size = abs(x) // abs(y)
    return size if (x < 0) == (y < 0) else -size


def remainder(x, y, kind):
    return x if y == 0 else x - y * quotient(x, y, kind)


def low24(x, kind):
    return number(x << 8, kind) >> 8


def whole_numbers():
    for t in INTEGERS:
        b = bits_of(t)
        wide = t[0] + str(2 * b)
        yield integer(f"add.{t}", t, lambda x, y: x + y, 2)
        yield integer(f"sub.{t}", t, lambda x, y: x - y, 2)
        yield integer(f"mul.lo.{t}", t, lambda x, y: x * y, 2)
        yield integer(f"mul.hi.{t}", t, lambda x, y, b=b: x * y >> b, 2)
        yield integer(f"mad.lo.{t}", t, lambda x, y, z: x * y + z, 3)
        yield integer(f"mad.hi.{t}", t, lambda x, y, z, b=b: (x * y >> b) + z, 3)
        yield integer(f"sad.{t}", t, lambda x, y, z: z + abs(x - y), 3)
        yield integer(f"min.{t}", t, min, 2)
        yield integer(f"max.{t}", t, max, 2)
        yield integer(f"div.{t}", t, lambda x, y, t=t: quotient(x, y, t), 2)
        yield integer(f"rem.{t}", t, lambda x, y, t=t: remainder(x, y, t), 2)
        if b < 64:
            yield integer(f"mul.wide.{t}", t, lambda x, y: x * y, 2, to=wide)
            yield integer(f"mad.wide.{t}", t, lambda x, y, z: x * y + z, 3, to=wide, third=wide)
        if t[0] == "s":
            yield integer(f"abs.{t}", t, abs, 1)
            yield integer(f"neg.{t}", t, lambda x: -x, 1)
        yield simple(f"shr.{t}", lambda x, y, _, t=t: masked(number(x, t) >> min(y & 0xffffffff, 64), t), t, [t, "u32"])
    yield integer("add.sat.s32", "s32", lambda x, y: clamp(x + y, "s32"), 2)
    yield integer("sub.sat.s32", "s32", lambda x, y: clamp(x - y, "s32"), 2)
    yield integer("mad.hi.sat.s32", "s32", lambda x, y, z: clamp((x * y >> 32) + z, "s32"), 3)
    for t in ("u32", "s32"):
        yield integer(f"mul24.lo.{t}", t, lambda x, y, t=t: low24(x, t) * low24(y, t), 2)
        yield integer(f"mul24.hi.{t}", t, lambda x, y, t=t: low24(x, t) * low24(y, t) >> 16, 2)
        yield integer(f"mad24.lo.{t}", t, lambda x, y, z, t=t: low24(x, t) * low24(y, t) + z, 3)
        yield integer(f"mad24.hi.{t}", t, lambda x, y, z, t=t: (low24(x, t) * low24(y, t) >> 16) + z, 3)
        for u in ("u32", "s32"):
            def parts(x, kind, size):
                return [number(x >> at, kind[0] + str(size)) for at in range(0, 32, size)]
            yield simple(f"dp4a.{t}.{u}", lambda x, y, z, t=t, u=u: masked(z + sum(p * q for p, q in zip(parts(x, t, 8), parts(y, u, 8))), "u32"), "b32", ["b32"] * 3)
            for half in ("lo", "hi"):
                yield simple(f"dp2a.{half}.{t}.{u}", lambda x, y, z, t=t, u=u, half=half: masked(z + sum(p * q for p, q in zip(parts(x, t, 16), parts(y, u, 8)[2 * (half == "hi"):])), "u32"), "b32", ["b32"] * 3)
    for t, r in (("u32", "r"), ("u64", "x")):
        b = bits_of(t)
        def widen(n):
            return f"cvt.u64.u32 %x{n + 1}, %r{n};"
        both = (widen(5) + "\n" + widen(6)) if b == 32 else "mov.b64 %x6, %x5;\nmov.b64 %x7, %x9;"
        high = "%r6" if b == 32 else "%x9"
        low = f"%{r}5"
        body = lambda first, second: first + "\n" + second + "\n" + both
        m = (1 << b) - 1
        yield Form(f"add.cc.{t}", body(f"add.cc.{t} {low}, %{r}10, %{r}11;", f"addc.{t} {high}, %{r}12, 0;"),
                   lambda x, y, z, m=m, b=b: ((x & m) + (y & m) & m, (z & m) + ((x & m) + (y & m) >> b) & m))
        yield Form(f"addc.cc.{t}", body(f"add.cc.{t} {low}, %{r}10, %{r}11;\naddc.cc.{t} {low}, %{r}12, {low};", f"addc.{t} {high}, 0, 0;"),
                   lambda x, y, z, m=m, b=b: carried(x & m, y & m, z & m, b))
        yield Form(f"sub.cc.{t}", body(f"sub.cc.{t} {low}, %{r}10, %{r}11;", f"subc.{t} {high}, %{r}12, 0;"),
                   lambda x, y, z, m=m: ((x & m) - (y & m) & m, (z & m) - ((x & m) < (y & m)) & m))
        yield Form(f"mad.cc.{t}", body(f"mad.lo.cc.{t} {low}, %{r}10, %{r}11, %{r}12;", f"madc.hi.{t} {high}, %{r}10, %{r}11, 0;"),
                   lambda x, y, z, m=m, b=b: ((x & m) * (y & m) + (z & m) & m, (x & m) * (y & m) + (z & m) >> b))
        s = "s" + t[1:]
        yield Form(f"mad.hi.cc.{s}", body(f"mad.hi.cc.{s} {low}, %{r}10, %{r}11, %{r}12;", f"addc.{s} {high}, 0, 0;"),
                   lambda x, y, z, m=m, b=b, s=s: (lambda h: (h + (z & m) & m, h + (z & m) >> b))(number(x, s) * number(y, s) >> b & m))


def carried(x, y, z, b):
    first = x + y
    second = z + (first & ((1 << b) - 1)) + (first >> b)
    return second & ((1 << b) - 1), second >> b


# ---- bits ----

def find(x, t, amount):
    b = bits_of(t)
    x = number(x, t)
    x = ~x if x < 0 else x
    if x == 0:
        return 0xffffffff
    place = x.bit_length() - 1
    return b - 1 - place if amount else place


def field(x, at, count, t):
    b, at, count = bits_of(t), at & 0xff, count & 0xff
    x = masked(x, t)
    top = min(at + count - 1, b - 1)
    fill = (x >> top & 1) if t[0] == "s" and count else 0
    value = x >> at & (1 << max(min(count, b - at), 0)) - 1 if at < b else 0
    kept = max(min(count, b - at), 0)
    return masked(value | ((M64 << kept) if fill else 0), t)


def inserted(x, y, at, count, b):
    at, count = at & 0xff, count & 0xff
    mask = ((1 << count) - 1 << at) & ((1 << b) - 1)
    return (y & ~mask & ((1 << b) - 1)) | (x << at & mask)


def extended(x, count, wrap, t):
    count = count & 31 if wrap else min(count, 32)
    return masked(number(x, t[0] + str(count)), "u32") if count else 0


def bit_mask(at, count, wrap):
    at, count = (at & 31, count & 31) if wrap else (min(at, 32), min(count, 32))
    return (1 << count) - 1 << at & 0xffffffff


def permuted(x, y, control, mode):
    source = [(y << 32 | x) >> 8 * i & 0xff for i in range(8)]
    n = control & 3
    chosen = {"": [control >> 4 * i & 15 for i in range(4)], "f4e": [n, n + 1, n + 2, n + 3], "b4e": [n, n - 1 & 7, n - 2 & 7, n - 3 & 7], "rc8": [n] * 4,
              "ecl": [max(i, n) for i in range(4)], "ecr": [min(i, n) for i in range(4)], "rc16": [2 * (n & 1), 2 * (n & 1) + 1] * 2}[mode]
    return sum((source[s & 7] if not s & 8 else 0xff * (source[s & 7] >> 7)) << 8 * i for i, s in enumerate(chosen))


def bits():
    m32 = 0xffffffff
    for t in ("b16", "b32", "b64"):
        b = bits_of(t)
        for name, function in (("and", lambda x, y: x & y), ("or", lambda x, y: x | y), ("xor", lambda x, y: x ^ y)):
            yield simple(f"{name}.{t}", lambda x, y, _, f=function, t=t: masked(f(x, y), t), t, [t, t])
        yield simple(f"not.{t}", lambda x, *_, t=t: masked(~x, t), t, [t])
        yield simple(f"cnot.{t}", lambda x, *_, t=t: int(masked(x, t) == 0), t, [t])
        yield simple(f"shl.{t}", lambda x, y, _, t=t: masked(x << min(y & m32, 64), t), t, [t, "u32"])
        yield simple(f"shr.{t}", lambda x, y, _, t=t: masked(x, t) >> min(y & m32, 64), t, [t, "u32"])
        if b == 16:
            continue
        yield simple(f"popc.{t}", lambda x, *_, t=t: masked(x, t).bit_count(), "b32", [t])
        yield simple(f"clz.{t}", lambda x, *_, t=t, b=b: b - masked(x, t).bit_length(), "b32", [t])
        yield simple(f"brev.{t}", lambda x, *_, t=t, b=b: int(f"{masked(x, t):0{b}b}"[::-1], 2), t, [t])
        reg = register(t, 10), register(t, 11)
        yield Form(f"bfi.{t}", f"bfi.{t} {register(t, 9)}, {reg[0]}, {reg[1]}, %r12, 13;\n{out(t, 9, 6)}", lambda x, y, z, b=b: inserted(masked(x, f"b{b}"), masked(y, f"b{b}"), z, 13, b))
        yield Form(f"bfi.{t} count", f"bfi.{t} {register(t, 9)}, {reg[0]}, {reg[1]}, 5, %r12;\n{out(t, 9, 6)}", lambda x, y, z, b=b: inserted(masked(x, f"b{b}"), masked(y, f"b{b}"), 5, z, b))
    for t in ("u32", "s32", "u64", "s64"):
        yield simple(f"bfind.{t}", lambda x, *_, t=t: find(x, t, False), "b32", [t])
        yield simple(f"bfind.shiftamt.{t}", lambda x, *_, t=t: find(x, t, True), "b32", [t])
        yield simple(f"bfe.{t}", lambda x, y, z, t=t: field(x, y, z, t), t, [t, "u32", "u32"])
    for how in ("wrap", "clamp"):
        for t in ("u32", "s32"):
            yield simple(f"szext.{how}.{t}", lambda x, y, _, t=t, how=how: extended(x, y & m32, how == "wrap", t), t, [t, "u32"])
        yield simple(f"bmsk.{how}.b32", lambda x, y, _, how=how: bit_mask(x & m32, y & m32, how == "wrap"), "b32", ["u32", "u32"])
        for side in "lr":
            def shifted(x, y, z, how=how, side=side):
                both, by = (y & m32) << 32 | x & m32, z & 31 if how == "wrap" else min(z & m32, 32)
                return (both << by >> 32 if side == "l" else both >> by) & m32
            yield simple(f"shf.{side}.{how}.b32", shifted, "b32", ["b32"] * 3)
    for table in (0x80, 0x96, 0xe8, 0x1b, 0xca):
        def looked_up(x, y, z, table=table):
            return sum((table >> ((x >> i & 1) * 4 + (y >> i & 1) * 2 + (z >> i & 1)) & 1) << i for i in range(32))
        yield Form(f"lop3 {table:#x}", f"lop3.b32 %r5, %r10, %r11, %r12, {table};\ncvt.u64.u32 %x6, %r5;", looked_up)
    for mode in ("", "f4e", "b4e", "rc8", "ecl", "ecr", "rc16"):
        yield simple("prmt.b32" + ("." + mode if mode else ""), lambda x, y, z, mode=mode: permuted(x & m32, y & m32, z & m32, mode), "b32", ["b32"] * 3)
    for name, function in (("and", lambda x, y: x & y), ("or", lambda x, y: x | y), ("xor", lambda x, y: x ^ y)):
        yield Form(f"{name}.pred", f"{name}.pred %p4, %p1, !%p2;\nselp.u64 %x6, 1, 0, %p4;", lambda x, y, _, f=function: f(x & 1, 1 - (y & 1)))
    yield Form("not.pred", "not.pred %p4, %p1;\nmov.pred %p5, %p4;\nselp.u64 %x6, 7, 9, %p5;", lambda x, *_: 9 if x & 1 else 7)


# ---- comparison ----

ORDERED = {"eq": "e", "ne": "lg", "lt": "l", "le": "le", "gt": "g", "ge": "ge", "lo": "l", "ls": "le", "hi": "g", "hs": "ge", "equ": "eu", "neu": "lgu", "ltu": "lu", "leu": "leu",
           "gtu": "gu", "geu": "geu", "num": "leg", "nan": "u"}


def order(x, y, t, ftz=False):
    if t[0] not in "fb" or t[:2] in ("b1", "b3", "b6"):
        x, y = number(x, t), number(y, t)
        return "e" if x == y else "l" if x < y else "g"
    f = FORMATS[t]
    x, y = x & (1 << f.bits) - 1, y & (1 << f.bits) - 1
    if f.is_nan(x) or f.is_nan(y):
        return "u"
    if ftz:
        x, y = f.flush(x), f.flush(y)

    def rank(v):
        return -(v & (f.sign - 1)) if v & f.sign else v
    return "e" if rank(x) == rank(y) else "l" if rank(x) < rank(y) else "g"


FORMATS = {"f16": ex.F16, "bf16": ex.BF16, "f32": ex.F32, "f64": ex.F64}
SPECIAL = {"f16": HALVES, "bf16": HALVES, "f32": FLOATS, "f64": DOUBLES}


def comparisons():
    for t in INTEGERS + ("b16", "b32", "b64", "f32", "f64", "f16", "bf16"):
        real = t in FORMATS
        names = ("eq", "ne") if t[0] == "b" and not real else tuple(ORDERED) if real else ("eq", "ne", "lt", "le", "gt", "ge") + (("lo", "ls", "hi", "hs") if t[0] == "u" else ())
        for name in names:
            if real and name in ("lo", "ls", "hi", "hs"):
                continue
            a, b = register(t, 10), register(t, 11)
            if t in ("f16", "bf16"):
                yield Form(f"setp.{name}.{t}", f"setp.{name}.{t} %p4, {a}, {b};\nselp.u64 %x6, 1, 0, %p4;", lambda x, y, _, name=name, t=t: int(order(x, y, t) in ORDERED[name]), HALVES)
                continue
            yield Form(f"setp.{name}.{t}", f"setp.{name}.{t} %p4|%p5, {a}, {b};\nselp.u64 %x6, 1, 0, %p4;\nselp.u64 %x7, 1, 0, %p5;",
                       lambda x, y, _, name=name, t=t: (int(order(x, y, t) in ORDERED[name]), int(order(x, y, t) not in ORDERED[name])), SPECIAL.get(t))
    for op, function in (("and", lambda p, q: p & q), ("or", lambda p, q: p | q), ("xor", lambda p, q: p ^ q)):
        yield Form(f"setp.lt.{op}.s32", f"setp.lt.{op}.s32 %p4|%p5, %r10, %r11, !%p3;\nselp.u64 %x6, 1, 0, %p4;\nselp.u64 %x7, 1, 0, %p5;",
                   lambda x, y, z, f=function: (f(int(order(x, y, "s32") == "l"), 1 - (z & 1)), f(int(order(x, y, "s32") != "l"), 1 - (z & 1))))
    yield Form("setp.lt.ftz.f32", "setp.lt.ftz.f32 %p4, %r10, %r11;\nselp.u64 %x6, 1, 0, %p4;", lambda x, y, _: int(order(x, y, "f32", True) == "l"), FLOATS)
    yield Form("setp.gt.f16x2", "setp.gt.f16x2 %p4|%p5, %r10, %r11;\nselp.u64 %x6, 1, 0, %p4;\nselp.u64 %x7, 1, 0, %p5;",
               lambda x, y, _: (int(order(x, y, "f16") == "g"), int(order(x >> 16, y >> 16, "f16") == "g")), PAIRS)
    for to, yes in (("u32", 0xffffffff), ("s32", 0xffffffff), ("f32", 0x3f800000)):
        yield simple(f"set.le.{to}.f32", lambda x, y, _, yes=yes: yes if order(x, y, "f32") in "le" else 0, "b32", ["f32", "f32"], FLOATS)
        yield Form(f"set.le.and.{to}.s32", f"set.le.and.{to}.s32 %r5, %r10, %r11, %p3;\ncvt.u64.u32 %x6, %r5;", lambda x, y, z, yes=yes: yes if order(x, y, "s32") in "le" and z & 1 else 0)
    for t in ("b16", "b32", "b64", "f32", "f64"):
        yield Form(f"selp.{t}", f"selp.{t} {register(t, 9)}, {register(t, 10)}, {register(t, 11)}, !%p3;\n{out(t, 9, 6)}", lambda x, y, z, t=t: masked(y if z & 1 else x, t))
        if t == "b16":
            continue
        yield simple(f"slct.{t}.s32", lambda x, y, z, t=t: masked(x if number(z, "s32") >= 0 else y, t), t, [t, t, "s32"])
        yield simple(f"slct.{t}.f32", lambda x, y, z, t=t: masked(x if order(z, 0, "f32") in "ge" else y, t), t, [t, t, "f32"], FLOATS)


# ---- floating-point numbers ----

def finished(f, bits, flags):
    if "sat" in flags.split():
        bits = 0 if f.is_nan(bits) or bits & f.sign else min(bits, f.one)
    if "relu" in flags and bits & f.sign and not f.is_nan(bits):
        bits = 0
    return f.flush(bits) if "ftz" in flags else bits


def arithmetic(opcode, t, function, count, mode, flags):
    f = FORMATS[t]

    def oracle(*values):
        values = [value & (1 << f.bits) - 1 for value in values[:count]]
        if "ftz" in flags:
            values = [f.flush(value) for value in values]
        return finished(f, function(f, *values, mode), flags)
    return simple(opcode, oracle, t, [t] * count, SPECIAL[t])


OPERATIONS = {"add": (ex.add, 2), "sub": (lambda f, x, y, mode: ex.add(f, x, y if f.is_nan(y) else y ^ f.sign, mode), 2), "mul": (ex.mul, 2), "fma": (ex.fma, 3), "div": (ex.div, 2),
              "rcp": (lambda f, x, mode: ex.div(f, f.one, x, mode), 1), "sqrt": (ex.sqrt, 1)}


def extreme(f, x, y, larger, flags):
    if "ftz" in flags:
        x, y = f.flush(x), f.flush(y)
    sign = (x ^ y) & f.sign
    if "abs" in flags:
        x, y = x & ~f.sign, y & ~f.sign
    if f.is_nan(x) or f.is_nan(y):
        out_bits = f.nan if "NaN" in flags or f.is_nan(x) and f.is_nan(y) else y if f.is_nan(x) else x
    else:
        key = lambda v: (-(v & (f.sign - 1)), 0) if v & f.sign else (v, 1)
        out_bits = (max if larger else min)(x, y, key=key)
    return out_bits & ~f.sign | sign if "xorsign" in flags and not f.is_nan(out_bits) else out_bits


def kind_of(f, bits):
    size = bits & (f.sign - 1)
    return {"finite": size < f.infinity, "infinite": size == f.infinity, "number": size <= f.infinity, "notanumber": size > f.infinity,
            "normal": 1 << f.mantissa <= size < f.infinity, "subnormal": 0 < size < 1 << f.mantissa}


def floats():
    for name, (function, count) in OPERATIONS.items():
        for t in ("f32", "f64"):
            for mode in ("rn", "rz", "rm", "rp"):
                yield arithmetic(f"{name}.{mode}.{t}", t, function, count, mode, "")
            if t == "f64":
                continue
            yield arithmetic(f"{name}.rn.ftz.f32", t, function, count, "rn", "ftz")
            if name in ("add", "sub", "mul", "fma"):
                yield arithmetic(f"{name}.rz.ftz.sat.f32", t, function, count, "rz", "ftz sat")
    yield arithmetic("add.f32", "f32", ex.add, 2, "rn", "")
    yield arithmetic("mad.rn.f64", "f64", ex.fma, 3, "rn", "")
    for t in ("f32", "f64"):
        f = FORMATS[t]
        low = (1 << f.bits) - 1
        yield simple(f"abs.{t}", lambda x, *_, f=f: x & (f.sign - 1), t, [t], SPECIAL[t])
        yield simple(f"neg.{t}", lambda x, *_, f=f, low=low: (x & low) ^ f.sign, t, [t], SPECIAL[t])
        yield simple(f"copysign.{t}", lambda x, y, _, f=f: y & (f.sign - 1) | x & f.sign, t, [t, t], SPECIAL[t])
        for name in ("min", "max"):
            yield simple(f"{name}.{t}", lambda x, y, _, f=f, low=low, name=name: extreme(f, x & low, y & low, name == "max", ""), t, [t, t], SPECIAL[t])
        for kind in ("finite", "infinite", "number", "notanumber", "normal", "subnormal"):
            yield Form(f"testp.{kind}.{t}", f"testp.{kind}.{t} %p4, {register(t, 10)};\nselp.u64 %x6, 1, 0, %p4;", lambda x, *_, f=f, low=low, kind=kind: int(kind_of(f, x & low)[kind]), SPECIAL[t])
    for flags in ("ftz", "NaN", "ftz NaN", "xorsign abs", "NaN xorsign abs"):
        for name in ("min", "max"):
            yield simple(f"{name}.{flags.replace(' ', '.')}.f32", lambda x, y, _, flags=flags, name=name: extreme(ex.F32, x & 0xffffffff, y & 0xffffffff, name == "max", flags), "f32", ["f32"] * 2, FLOATS)
    yield simple("abs.ftz.f32", lambda x, *_: ex.F32.flush(x & 0x7fffffff), "f32", ["f32"], FLOATS)
    yield simple("neg.ftz.f32", lambda x, *_: ex.F32.flush(x & 0xffffffff) ^ 1 << 31, "f32", ["f32"], FLOATS)


def approximated(opcode, t, function, error, scale=0.0):
    """Against the C library's double; the error is relative, or absolute below `scale`."""
    f, count = FORMATS[t], function.__code__.co_argcount

    def oracle(*values):
        values = [value & (1 << f.bits) - 1 for value in values[:count]]
        numbers = [math.nan if f.is_nan(v) else (-math.inf if v & f.sign else math.inf) if f.is_infinite(v) else float(f.value(v)) for v in values]
        numbers = [math.copysign(0.0, -1) if v == f.sign else n for v, n in zip(values, numbers)]
        try:
            value = function(*numbers)
        except (ValueError, OverflowError, ZeroDivisionError) as problem:
            value = math.inf if isinstance(problem, OverflowError) else math.nan
        if value != value:
            return f.nan
        if math.isinf(value):
            return f.infinity | (f.sign if value < 0 else 0)
        return f.round(Fraction(value), "rn", f.sign if math.copysign(1, value) < 0 else 0)
    return simple(opcode, oracle, t, [t] * count, SPECIAL[t], bounded=(f, error), scale=scale)


def reciprocal(x):
    return math.copysign(math.inf, x) if x == 0 else 1 / x


def approximations():
    def log2(x):
        return -math.inf if x == 0 else math.log2(x)

    def root(x):
        return math.copysign(math.inf, x) if x == 0 else 1 / math.sqrt(x)

    def divided(x, y):
        return x / y if y != 0 else math.nan if x == 0 or x != x else math.copysign(math.inf, x) * math.copysign(1, y)
    yield approximated("rcp.approx.f32", "f32", lambda x: reciprocal(x), -22)
    yield approximated("rcp.approx.ftz.f64", "f64", lambda x: reciprocal(x), -20)
    yield approximated("sqrt.approx.f32", "f32", lambda x: math.sqrt(x), -22)
    yield approximated("rsqrt.approx.f32", "f32", root, -22)
    yield approximated("rsqrt.approx.f64", "f64", root, -20)
    yield approximated("sin.approx.f32", "f32", lambda x: math.sin(x), -20, 1.0)
    yield approximated("cos.approx.f32", "f32", lambda x: math.cos(x), -20, 1.0)
    yield approximated("lg2.approx.f32", "f32", log2, -22, 1.0)
    yield approximated("ex2.approx.f32", "f32", lambda x: 2.0 ** x, -22)
    yield approximated("tanh.approx.f32", "f32", lambda x: math.tanh(x), -10)
    yield approximated("div.approx.f32", "f32", divided, -21)
    yield approximated("div.full.f32", "f32", divided, -21)
    for t in ("f16", "bf16"):
        yield approximated(f"ex2.approx{'.ftz' if t == 'bf16' else ''}.{t}", t, lambda x: 2.0 ** x, -6)
        yield approximated(f"tanh.approx.{t}", t, lambda x: math.tanh(x), -6)


# ---- half precision ----

def halves():
    for one in ("f16", "bf16"):
        f = FORMATS[one]
        for name in ("add", "sub", "mul", "fma"):
            function, count = OPERATIONS[name]
            for t in (one, one + "x2"):
                for flags in ("",) + (("ftz", "sat", "ftz sat") if one == "f16" else ()) + (("relu",) if name == "fma" else ()):
                    def oracle(*values, function=function, count=count, t=t, flags=flags, f=f):
                        total = 0
                        for at in range(0, bits_of(t), 16):
                            given = [value >> at & 0xffff for value in values[:count]]
                            given = [f.flush(value) for value in given] if "ftz" in flags else given
                            total |= finished(f, function(f, *given, "rn"), flags) << at
                        return total
                    opcode = ".".join([name, "rn"] + flags.split() + [t])
                    yield simple(opcode, oracle, t, [t] * count, HALVES if t == one else PAIRS)
        for t in (one, one + "x2"):
            parts = range(0, bits_of(t), 16)
            for name in ("min", "max"):
                for flags in ("", "NaN"):
                    opcode = ".".join([name] + flags.split() + [t])
                    yield simple(opcode, lambda x, y, _, f=f, parts=parts, name=name, flags=flags: sum(extreme(f, x >> at & 0xffff, y >> at & 0xffff, name == "max", flags) << at for at in parts),
                                  t, [t, t], HALVES if t == one else PAIRS)
            yield simple(f"abs.{t}", lambda x, *_, parts=parts: sum((x >> at & 0x7fff) << at for at in parts), t, [t], HALVES if t == one else PAIRS)
            yield simple(f"neg.{t}", lambda x, *_, parts=parts: sum((x >> at & 0xffff ^ 0x8000) << at for at in parts), t, [t], HALVES if t == one else PAIRS)


# ---- conversion ----

def to_whole(f, bits, mode, to, wide_source):
    if f.is_nan(bits):
        return 1 << bits_of(to) - 1 if wide_source or bits_of(to) == 64 else 0
    if f.is_infinite(bits):
        return clamp(-(1 << 99) if bits & f.sign else 1 << 99, to)
    value = f.value(bits)
    down = math.floor(value)
    rounded = {"rzi": math.trunc(value), "rmi": down, "rpi": math.ceil(value), "rni": round(value)}[mode]
    return clamp(rounded, to)


def converted(g, f, bits, mode, flags):
    """From format f to format g."""
    if f.is_nan(bits):
        return 0 if "sat" in flags.split() else g.nan
    sign = g.sign if bits & f.sign else 0
    if f.is_infinite(bits):
        value = g.infinity | sign
    else:
        number_of = f.value(bits)
        if mode.endswith("i"):
            number_of = Fraction({"rzi": math.trunc, "rmi": math.floor, "rpi": math.ceil, "rni": round}[mode](number_of))
        value = g.round(number_of, mode if mode in ("rn", "rz", "rm", "rp") else "rn", sign)
    if "satfinite" in flags and g.is_infinite(value):
        value = value & g.sign | g.infinity - 1
    return finished(g, value, flags)


def conversions():
    all_whole = ("u8", "s8") + INTEGERS
    for to in all_whole:
        for source in all_whole:
            for sat in ("", "sat."):
                if sat and (to == source or bits_of(to) >= bits_of(source) and (to[0] == source[0] or to[0] == "s")):
                    continue
                if to == source and bits_of(to) == 8:
                    continue
                yield simple(f"cvt.{sat}{to}.{source}", lambda x, *_, to=to, source=source, sat=sat: masked(clamp(number(x, source), to) if sat else number(x, source), to), to, [source])
    for t, f in FORMATS.items():
        for source in all_whole:
            if t == "bf16" and bits_of(source) == 8:
                continue
            for mode in ("rn", "rz", "rm", "rp"):
                yield simple(f"cvt.{mode}.{t}.{source}", lambda x, *_, f=f, source=source, mode=mode: f.round(Fraction(number(x, source)), mode), t, [source])
            for mode in ("rni", "rzi", "rmi", "rpi"):
                to = source
                yield simple(f"cvt.{mode}.{to}.{t}", lambda x, *_, f=f, to=to, t=t, mode=mode: masked(to_whole(f, x & (1 << f.bits) - 1, mode, to, t == "f64"), to), to, [t], SPECIAL[t])
    low = {t: (1 << f.bits) - 1 for t, f in FORMATS.items()}
    for to, source, modes in (("f32", "f64", ("rn", "rz", "rm", "rp")), ("f16", "f32", ("rn", "rz", "rm", "rp")), ("f16", "f64", ("rn", "rz", "rm", "rp")), ("bf16", "f32", ("rn", "rz", "rm", "rp")), ("f64", "f32", ("",)),
                              ("f32", "f16", ("",)), ("f64", "f16", ("",)), ("f32", "bf16", ("",)), ("f32", "f32", ("rni", "rzi", "rmi", "rpi")), ("f64", "f64", ("rni", "rzi", "rmi", "rpi")),
                              ("f16", "f16", ("rni", "rzi", "rmi", "rpi"))):
        for mode in modes:
            yield simple(".".join(word for word in ("cvt", mode, to, source) if word), lambda x, *_, to=to, source=source, mode=mode: converted(FORMATS[to], FORMATS[source], x & low[source], mode, ""), to, [source],
                          SPECIAL[source])
    for opcode, to, source, mode, flags in (("cvt.sat.f32.f32", "f32", "f32", "", "sat"), ("cvt.rn.sat.f32.f64", "f32", "f64", "rn", "sat"), ("cvt.rn.relu.f16.f32", "f16", "f32", "rn", "relu"),
                                            ("cvt.rn.satfinite.f16.f32", "f16", "f32", "rn", "satfinite"), ("cvt.rz.relu.bf16.f32", "bf16", "f32", "rz", "relu")):
        yield simple(opcode, lambda x, *_, to=to, source=source, mode=mode, flags=flags: converted(FORMATS[to], FORMATS[source], x & low[source], mode, flags), to, [source], SPECIAL[source])
    yield simple("cvt.rzi.ftz.s32.f32", lambda x, *_: masked(to_whole(ex.F32, ex.F32.flush(x & low["f32"]), "rzi", "s32", False), "s32"), "s32", ["f32"], FLOATS)
    for one in ("f16", "bf16"):
        for mode, flags in (("rn", ""), ("rz", ""), ("rn", "relu")):
            opcode = ".".join(["cvt", mode] + flags.split() + [one + "x2", "f32"])
            yield simple(opcode, lambda x, y, _, one=one, mode=mode, flags=flags: converted(FORMATS[one], ex.F32, x & low["f32"], mode, flags) << 16 | converted(FORMATS[one], ex.F32, y & low["f32"], mode, flags), "b32",
                          ["f32", "f32"], FLOATS)
    tf32 = ex.Format(19, 10, -126, 0x3ffff)
    for mode in ("rna", "rn", "rz"):
        def short(x, *_, mode=mode):
            x &= low["f32"]
            if ex.F32.is_nan(x):
                return ex.F32.nan
            return x if ex.F32.is_infinite(x) else tf32.round(ex.F32.value(x), mode, x >> 13) << 13
        yield simple(f"cvt.{mode}.tf32.f32", short, "b32", ["f32"], FLOATS)


# ---- memory, between lanes ----

def memory():
    for t in ("u8", "s8", "u16", "s16", "u32", "s32", "u64", "b64"):
        b = bits_of(t)
        plain = f"b{b}"
        big = "b64" if b == 64 else "s32" if t[0] == "s" else "u32"
        yield Form(f"st.ld.{t}", f"st.global.{plain} [%x16+8], {register(plain, 10)};\nld.global.{t} {register(big, 9)}, [%x16+8];\n" + (f"cvt.{t[0]}64.{big} %x6, %r9;" if b < 64 else "mov.b64 %x6, %x9;"),
                   lambda x, *_, t=t: number(x, t) & M64)
    yield Form("vectors", "{ .local .align 16 .b8 place[32];\n.reg .b64 %a;\nmov.u64 %a, place;\nst.local.v2.b64 [%a], {%x10, %x11};\nld.local.v4.u16 {%h5, %h6, %h7, %h8}, [%a+8];\n"
               "mov.b64 %x6, {%h5, %h6, %h7, %h8};\ncvta.local.u64 %a, %a;\nld.v4.b32 {%r5, %r6, %r7, %r8}, [%a];\nmov.b64 %x7, {%r8, %r5};\n}",
               lambda x, y, _: (y, y >> 32 | (x & 0xffffffff) << 32))
    yield Form("shared", "{ .shared .align 8 .b64 place[64];\n.reg .b64 %a, %b;\n.reg .b32 %i;\nmov.u64 %a, place;\nmul.wide.u32 %b, %r2, 8;\nadd.u64 %a, %a, %b;\nst.shared.b64 [%a], %x10;\nbar.sync 0;\n"
               "cvta.shared.u64 %a, %a;\nisspacep.shared %p4, %a;\nisspacep.local %p5, %a;\nselp.u64 %x7, 2, 0, %p4;\n@%p5 add.u64 %x7, %x7, 1;\ncvta.to.shared.u64 %a, %a;\nxor.b64 %a, %a, 8;\nld.shared.b64 %x6, [%a];\n}",
               lambda xs, *_: [(xs[i ^ 1], 2) for i in range(32)], warp=True)
    # Triton writes vectors of one.
    yield Form("vector of one", "st.global.b32 [%x16+8], {%r10};\nld.global.b32 {%r5}, [%x16+8];\nst.global.b64 [%x16+8], {%x11};\nld.global.b64 {%x7}, [%x16+8];\ncvt.u64.u32 %x6, %r5;",
               lambda x, y, _: (x & 0xffffffff, y))
    yield Form("cache policy", "createpolicy.fractional.L2::evict_last.b64 %x17, 1.0;\nst.global.L1::evict_first.L2::cache_hint.v2.b32 [%x16+8], {%r10, %r11}, %x17;\n"
               "ld.global.L1::evict_last.L2::cache_hint.b64 %x6, [%x16+8], %x17;\nld.global.L2::cache_hint.v2.b32 {%r5, %r6}, [%x16+8], %x17;\nmov.b64 %x7, {%r6, %r5};",
               lambda x, y, _: (x & 0xffffffff | (y & 0xffffffff) << 32, y & 0xffffffff | (x & 0xffffffff) << 32))
    yield Form("ldu", "ldu.global.u64 %x6, [%x2];", lambda x, *_: x)
    for t in ("u32", "s32", "u64", "s64"):
        for op, function in (("min", min), ("max", max)):
            yield atom(f"atom.global.{op}.{t}", t, lambda old, value, _, f=function: f(old, value))
            yield red(f"red.global.{op}.{t}", t, lambda old, value, f=function: f(old, value))
        if t != "s64":
            yield atom(f"atom.global.add.{t}", t, lambda old, value, _: old + value)
    for t in ("b32", "b64"):
        for op, function in (("and", lambda x, y, _=0: x & y), ("or", lambda x, y, _=0: x | y), ("xor", lambda x, y, _=0: x ^ y)):
            yield atom(f"atom.global.{op}.{t}", t, function)
        yield atom(f"atom.global.exch.{t}", t, lambda old, value, _: value)
        yield atom(f"atom.relaxed.gpu.global.cas.{t}", t, lambda old, value, third: third if old == value else old, 3)
    # As Triton writes them.
    yield atom("atom.global.gpu.acq_rel.max.s32", "s32", lambda old, value, _: max(old, value))
    yield atom("atom.global.acq_rel.gpu.cas.b32", "b32", lambda old, value, third: third if old == value else old, 3)
    yield atom("atom.global.inc.u32", "u32", lambda old, value, _: 0 if old >= value else old + 1)
    yield atom("atom.global.dec.u32", "u32", lambda old, value, _: value if old == 0 or old > value else old - 1)
    yield atom("atom.global.add.f32", "f32", lambda old, value, _: ex.F32.flush(ex.add(ex.F32, ex.F32.flush(old), ex.F32.flush(value))), special=FLOATS)
    yield atom("atom.global.add.f64", "f64", lambda old, value, _: ex.add(ex.F64, old, value), special=DOUBLES)
    yield atom("atom.global.add.noftz.f16", "f16", lambda old, value, _: ex.add(ex.F16, old, value), special=HALVES)
    yield atom("atom.global.add.noftz.f16x2", "f16x2", lambda old, value, _: sum(ex.add(ex.F16, old >> at & 0xffff, value >> at & 0xffff) << at for at in (0, 16)), special=PAIRS)


def atom(opcode, t, function, count=2, special=None):
    """a is in memory, b and c are given; out: what is there then, and what was there."""
    plain = f"b{bits_of(t)}"
    operands = ", ".join(register(plain, 10 + i) for i in range(1, count))
    body = f"st.global.{plain} [%x16], {register(plain, 10)};\n{opcode} {register(plain, 9)}, [%x16], {operands};\n{out(plain, 9, 7)}\nld.global.{plain} {register(plain, 9)}, [%x16];\n{out(plain, 9, 6)}"
    kind = t if t[0] in "us" else plain
    return Form(opcode, body, lambda x, y, z: (masked(function(number(x, kind), number(y, kind), number(z, kind)), plain), masked(x, plain)), special)


def red(opcode, t, function):
    plain = f"b{bits_of(t)}"
    body = f"st.global.{plain} [%x16], {register(plain, 10)};\n{opcode} [%x16], {register(plain, 11)};\nld.global.{plain} {register(plain, 9)}, [%x16];\n{out(plain, 9, 6)}"
    return Form(opcode, body, lambda x, y, _: masked(function(number(x, t), number(y, t)), plain))


def shuffled(mode, xs, ys, zs):
    result = []
    for lane in range(32):
        by, clamp_bits, segment = ys[lane] & 31, zs[lane] & 31, zs[lane] >> 8 & 31
        lowest = lane & segment
        highest = lowest | clamp_bits & ~segment & 31
        source = {"up": lane - by, "down": lane + by, "bfly": lane ^ by, "idx": lowest | by & ~segment & 31}[mode]
        inside = source >= highest if mode == "up" else source <= highest
        result.append(((xs[source] if inside else xs[lane]) & 0xffffffff, int(inside)))
    return result


def joined(function, kind, xs):
    total = number(xs[0], kind)
    for x in xs[1:]:
        total = function(total, number(x, kind))
    return [masked(total, "u32")] * 32


def lanes():
    for mode in ("up", "down", "bfly", "idx"):
        yield Form(f"shfl.{mode}", f"shfl.sync.{mode}.b32 %r5|%p4, %r10, %r11, %r12, -1;\ncvt.u64.u32 %x6, %r5;\nselp.u64 %x7, 1, 0, %p4;",
                   lambda xs, ys, zs, mode=mode: shuffled(mode, xs, ys, zs), warp=True)
    yield Form("vote.ballot", "vote.sync.ballot.b32 %r5, !%p1, -1;\ncvt.u64.u32 %x6, %r5;", lambda xs, *_: [sum((~x & 1) << i for i, x in enumerate(xs))] * 32, warp=True)
    # Few lanes, so that they agree at times.
    pick = "and.b32 %r5, %r2, 30;\nsetp.ne.u32 %p4, %r5, 0;\nmov.u32 %r6, -4;\n@!%p4 mov.u32 %r6, 3;\n"
    for mode, function in (("all", all), ("any", any), ("uni", lambda bits_of_two: len(set(bits_of_two)) == 1)):
        yield Form(f"vote.{mode}", f"{pick}vote.sync.{mode}.pred %p5, %p1, %r6;\nselp.u64 %x6, 1, 0, %p5;",
                   lambda xs, *_, f=function: [int(f([x & 1 for x in (xs[:2] if i < 2 else xs[2:])])) for i in range(32)], warp=True)
    for t in ("b32", "b64"):
        few = f"and.{t} {register(t, 9)}, {register(t, 10)}, 3;\n"
        yield Form(f"match.any.{t}", f"{few}match.any.sync.{t} %r5, {register(t, 9)}, -1;\ncvt.u64.u32 %x6, %r5;",
                   lambda xs, *_: [sum(1 << k for k, x in enumerate(xs) if x & 3 == y & 3) for y in xs], warp=True)
        yield Form(f"match.all.{t}", f"{pick}{few}match.all.sync.{t} %r5|%p5, {register(t, 9)}, %r6;\ncvt.u64.u32 %x6, %r5;\nselp.u64 %x7, 1, 0, %p5;",
                   lambda xs, *_: [(3 if same(xs[:2]) else 0, int(same(xs[:2]))) if i < 2 else (0xfffffffc if same(xs[2:]) else 0, int(same(xs[2:]))) for i in range(32)], warp=True)
    for op, function in (("add", lambda x, y: x + y), ("min", min), ("max", max)):
        for t in ("u32", "s32"):
            yield Form(f"redux.{op}.{t}", f"redux.sync.{op}.{t} %r5, %r10, -1;\ncvt.u64.u32 %x6, %r5;", lambda xs, *_, f=function, t=t: joined(f, t, xs), warp=True)
    for op, function in (("and", lambda x, y: x & y), ("or", lambda x, y: x | y), ("xor", lambda x, y: x ^ y)):
        yield Form(f"redux.{op}.b32", f"redux.sync.{op}.b32 %r5, %r10, -1;\ncvt.u64.u32 %x6, %r5;", lambda xs, *_, f=function: joined(f, "u32", xs), warp=True)
    yield Form("activemask", "@%p1 bra L;\nactivemask.b32 %r5;\ncvt.u64.u32 %x6, %r5;\nL:", lambda xs, *_: [0 if x & 1 else sum((~y & 1) << i for i, y in enumerate(xs)) for x in xs], warp=True)
    yield Form("elect", "elect.sync %r5|%p4, -1;\ncvt.u64.u32 %x6, %r5;\nselp.u64 %x7, 1, 0, %p4;", lambda xs, *_: [(0, int(i == 0)) for i in range(32)], warp=True)
    # Half of the lanes come later than the others.
    yield Form("late lanes", "mov.u32 %r5, 0;\n@%p1 bra L;\nadd.u32 %r5, %r5, 1;\nbar.warp.sync -1;\nadd.u32 %r5, %r5, 2;\nbra M;\nL: add.u32 %r5, %r5, 4;\nbar.warp.sync -1;\nM: vote.sync.ballot.b32 %r6, %p1, -1;\n"
               "cvt.u64.u32 %x6, %r5;\ncvt.u64.u32 %x7, %r6;", lambda xs, *_: [(4 if x & 1 else 3, sum((y & 1) << i for i, y in enumerate(xs))) for x in xs], warp=True)
    yield Form("bar.red", "setp.lt.u32 %p4, %r2, 5;\nbar.red.popc.u32 %r5, 0, %p4;\nbar.red.and.pred %p5, 1, %p4;\nbar.red.or.pred %p6, 2, 64, !%p4;\ncvt.u64.u32 %x6, %r5;\n"
               "selp.u64 %x7, 1, 0, %p5;\n@%p6 add.u64 %x7, %x7, 2;", lambda *_: (5, 2))


# ---- asynchronous copies, matrices ----

PLACE = "{ .shared .align 16 .b8 place[1024];\nmov.u64 %x8, place;\nmul.wide.u32 %x9, %r2, 16;\nadd.u64 %x8, %x8, %x9;\nst.shared.v2.b64 [%x8], {%x11, %x12};\n"


def copies():
    for name, more, oracle in (("8", "8", lambda x, y, z: x), ("zeros", "8, 4", lambda x, y, z: x & 0xffffffff), ("odd", "8, 5", lambda x, y, z: x & 0xffffffffff), ("ignored", "8, %p1", lambda x, y, z: 0 if x & 1 else x)):
        yield Form(f"cp.async {name}", f"{PLACE}cp.async.ca.shared.global [%x8], [%x2], {more};\ncp.async.commit_group;\ncp.async.wait_group 0;\nld.shared.v2.b64 {{%x6, %x7}}, [%x8];\n}}",
                   lambda x, y, z, f=oracle: (f(x, y, z), z))
    for name, more, oracle in (("all", "8, %x17", lambda x, y, z: x), ("zeros", "8, 4, %x17", lambda x, y, z: x & 0xffffffff)):
        yield Form(f"cp.async {name}, a cache policy", f"createpolicy.fractional.L2::evict_first.b64 %x17;\n{PLACE}cp.async.ca.shared.global.L2::cache_hint [%x8], [%x2], {more};\ncp.async.wait_all;\n"
                   "ld.shared.v2.b64 {%x6, %x7}, [%x8];\n}", lambda x, y, z, f=oracle: (f(x, y, z), z))
    # Two groups; the first is finished when one is left.
    yield Form("cp.async groups", f"{PLACE}cp.async.ca.shared.global [%x8], [%x2], 8;\ncp.async.commit_group;\ncp.async.ca.shared.global [%x8+8], [%x3], 8;\ncp.async.commit_group;\ncp.async.wait_group 1;\n"
               "ld.shared.b64 %x6, [%x8];\ncp.async.wait_all;\nld.shared.b64 %x7, [%x8+8];\n}", lambda x, y, z: (x, y))
    yield Form("cp.async.cg", "{ .shared .align 16 .b8 place[1024];\nmov.u64 %x8, place;\nmul.wide.u32 %x9, %r2, 16;\nadd.u64 %x8, %x8, %x9;\nand.b64 %x9, %x2, -16;\nand.b64 %x17, %x2, 8;\n"
               "cp.async.cg.shared.global [%x8], [%x9], 16;\ncp.async.wait_all;\nadd.u64 %x8, %x8, %x17;\nld.shared.b64 %x6, [%x8];\n}", lambda x, *_: x)


def halves_of(x, y):
    return [x >> at & 0xffff for at in (0, 16, 32, 48)] + [y >> at & 0xffff for at in (0, 16, 32, 48)]


def loaded_matrix(count, transposed, ys, zs):
    rows = [halves_of(y, z) for y, z in zip(ys, zs)]
    result = []
    for lane in range(32):
        out_words = []
        for matrix in range(count):
            picked = [rows[8 * matrix + (lane % 4 * 2 + k if transposed else lane // 4)][lane // 4 if transposed else lane % 4 * 2 + k] for k in range(2)]
            out_words.append(picked[0] | picked[1] << 16)
        out_words += [0] * (4 - count)
        result.append((out_words[0] | out_words[1] << 32, out_words[2] | out_words[3] << 32))
    return result


def matrix_loads():
    for count in (1, 2, 4):
        for trans in ("", ".trans"):
            registers = ", ".join(f"%r{5 + i}" for i in range(count))
            yield Form(f"ldmatrix x{count}{trans}", f"{PLACE}mov.b32 %r5, 0;\nmov.b32 %r6, 0;\nmov.b32 %r7, 0;\nmov.b32 %r8, 0;\nbar.warp.sync -1;\n"
                       f"ldmatrix.sync.aligned.m8n8.x{count}{trans}.shared.b16 {{{registers}}}, [%x8];\nmov.b64 %x6, {{%r5, %r6}};\nmov.b64 %x7, {{%r7, %r8}};\n}}",
                       lambda xs, ys, zs, count=count, trans=trans: loaded_matrix(count, trans != "", ys, zs), warp=True)


TF32 = ex.Format(19, 10, -126, 0x3ffff)
# Of each type: bits, what keeps numbers small and finite, the value.
ELEMENTS = {"f16": (16, 0xbfff, ex.F16.value), "bf16": (16, 0xbfff, ex.BF16.value), "tf32": (32, 0xbfffe000, lambda bits: TF32.value(bits >> 13)),
            "s8": (8, 0xff, lambda bits: number(bits, "s8")), "u8": (8, 0xff, lambda bits: bits)}


def product(kinds, depth, words):
    """words[lane]: registers of A, of B, and the four numbers of C. The four sums of each lane."""
    kind_a, kind_b = kinds
    bits = ELEMENTS[kind_a][0]
    each = 32 // bits
    parts_a, parts_b = 16 * depth // 32 // each, depth * 8 // 32 // each
    a = [[0] * depth for _ in range(16)]
    b = [[0] * 8 for _ in range(depth)]
    for lane, registers in enumerate(words):
        for j in range(each):
            for r in range(parts_a):
                a[lane // 4 + 8 * (r % 2)][lane % 4 * each + j + 4 * each * (r // 2)] = ELEMENTS[kind_a][2](registers[r] >> bits * j & (1 << bits) - 1)
            for r in range(parts_b):
                b[lane % 4 * each + j + 4 * each * r][lane // 4] = ELEMENTS[kind_b][2](registers[parts_a + r] >> bits * j & (1 << bits) - 1)
    return [[sum(a[lane // 4 + 8 * (i // 2)][k] * b[k][lane % 4 * 2 + i % 2] for k in range(depth)) + registers[parts_a + parts_b + i] for i in range(4)] for lane, registers in enumerate(words)]


def mma(shape, to, kinds, satfinite=False):
    """The registers are made of a, b and c, so that no two are alike; the result that the form looks at comes out last."""
    depth = int(shape.split("k")[1])
    bits, keep, _ = ELEMENTS[kinds[0]]
    each = 32 // bits
    parts_a, parts_b = 16 * depth // 32 // each, depth * 8 // 32 // each
    keep_word = sum(keep << bits * j for j in range(each))
    halves = to == "f16"
    parts_c = 2 if halves else 4
    keep_c = 0xbfffbfff if halves else 0xbfffffff if to == "f32" else 0xffffffff

    def rotated(x, by):
        return (x << by | x >> 32 - by) & 0xffffffff if by else x & 0xffffffff

    def registers_of(x, y, z):
        low = [x & 0xffffffff, y & 0xffffffff, z & 0xffffffff]
        words = [rotated(low[i % 2], 5 * i) & keep_word for i in range(parts_a + parts_b)]
        third = [rotated(low[2], 7 * i) & keep_c for i in range(parts_c)]
        if halves:
            numbers = [ex.F16.value(third[i // 2] >> 16 * (i % 2) & 0xffff) for i in range(4)]
        else:
            numbers = [ex.F32.value(word) if to == "f32" else number(word, "s32") for word in third]
        return words + numbers

    def rotate(target, source, by, mask):
        return f"shf.l.wrap.b32 {target}, {source}, {source}, {by};\nand.b32 {target}, {target}, {mask:#x};\n"
    names = [f"%m{i}" for i in range(parts_a + parts_b + parts_c)]
    make = "".join(rotate(names[i], f"%r{10 + i % 2}", 5 * i, keep_word) for i in range(parts_a + parts_b))
    make += "".join(rotate(names[parts_a + parts_b + i], "%r12", 7 * i, keep_c) for i in range(parts_c))
    d = ", ".join(f"%d{i}" for i in range(parts_c))
    opcode = f"mma.sync.aligned.{shape}.row.col.{'satfinite.' if satfinite else ''}{to}.{kinds[0]}.{kinds[1]}.{to}"
    operands = ", ".join("{" + ", ".join(part) + "}" for part in (names[:parts_a], names[parts_a:parts_a + parts_b], names[parts_a + parts_b:]))
    if to == "s32":
        def whole(xs, ys, zs):
            sums = product(kinds, depth, [registers_of(x, y, z) for x, y, z in zip(xs, ys, zs)])
            low = [[masked(clamp(one, "s32") if satfinite else one, "s32") for one in lane] for lane in sums]
            return [(lane[0] | lane[1] << 32, lane[2] | lane[3] << 32) for lane in low]
        yield Form(opcode, f"{{ .reg .b32 %m<16>;\n.reg .b32 %d<4>;\n{make}{opcode} {{{d}}}, {operands};\nmov.b64 %x6, {{%d0, %d1}};\nmov.b64 %x7, {{%d2, %d3}};\n}}", whole, warp=True)
        return
    for i in range(4):
        if halves:
            pick = f"mov.b32 {{%h5, %h6}}, %d{i // 2};\ncvt.u64.u16 %x6, %h{5 + i % 2};\n"
        else:
            pick = f"cvt.u64.u32 %x6, %d{i};\n"

        def oracle(xs, ys, zs, i=i):
            sums = product(kinds, depth, [registers_of(x, y, z) for x, y, z in zip(xs, ys, zs)])
            return [(ex.F16 if halves else ex.F32).round(lane[i], "rn") for lane in sums]
        yield Form(f"{opcode} {i}", f"{{ .reg .b32 %m<16>;\n.reg .b32 %d<4>;\n{make}{opcode} {{{d}}}, {operands};\n{pick}}}", oracle, warp=True, bounded=(ex.F16, -10) if halves else (ex.F32, -21),
                   scale=8.0)


def matrices():
    for shape in ("m16n8k8", "m16n8k16"):
        for to, kind in (("f32", "f16"), ("f16", "f16"), ("f32", "bf16")):
            yield from mma(shape, to, (kind, kind))
    for shape in ("m16n8k4", "m16n8k8"):
        yield from mma(shape, "f32", ("tf32", "tf32"))
    for shape in ("m16n8k16", "m16n8k32"):
        for kinds in (("s8", "s8"), ("u8", "u8"), ("s8", "u8"), ("u8", "s8")):
            yield from mma(shape, "s32", kinds)
        yield from mma(shape, "s32", ("s8", "s8"), satfinite=True)


def same(xs):
    return len({x & 3 for x in xs}) == 1


def all_forms():
    found = [form for part in (whole_numbers, bits, comparisons, floats, approximations, halves, conversions, memory, lanes, copies, matrix_loads, matrices) for form in part()]
    return found
