"""Floating-point arithmetic by rational numbers, for any format and rounding mode: what check_forms.py holds the machine against."""
from fractions import Fraction
from math import isqrt


class Format:
    """A binary format: bits in all, stored bits of the mantissa, exponent of the smallest normal number; the bits of a NaN that is calculated."""

    def __init__(self, bits, mantissa, smallest, nan):
        self.bits, self.mantissa, self.smallest, self.nan = bits, mantissa, smallest, nan
        self.sign = 1 << (bits - 1)
        self.infinity = self.sign - (1 << mantissa)
        self.one = 1 - smallest << mantissa

    def is_nan(self, bits):
        return bits & (self.sign - 1) > self.infinity

    def is_infinite(self, bits):
        return bits & (self.sign - 1) == self.infinity

    def is_subnormal(self, bits):
        return 0 < bits & (self.sign - 1) < 1 << self.mantissa

    def flush(self, bits):
        return bits & self.sign if self.is_subnormal(bits) else bits

    def value(self, bits):
        """Of a finite number."""
        size = bits & (self.sign - 1)
        exponent, fraction = size >> self.mantissa, size & ((1 << self.mantissa) - 1)
        number = fraction if exponent == 0 else fraction + (1 << self.mantissa)
        value = number * Fraction(2) ** (max(exponent, 1) - 1 + self.smallest - self.mantissa)
        return -value if bits & self.sign else value

    def round(self, value, mode="rn", zero=0):
        """The bits of the nearest number in the direction of the mode; `zero`: the bits of an exact 0."""
        if value == 0:
            return zero
        negative, size = value < 0, abs(value)
        exponent = max(size.numerator.bit_length() - size.denominator.bit_length() - 1, self.smallest)
        while size >= Fraction(2) ** (exponent + 1):
            exponent += 1
        scaled = size / Fraction(2) ** (exponent - self.mantissa)
        whole, rest = divmod(scaled.numerator, scaled.denominator)
        twice = 2 * rest
        up = {"rn": twice > scaled.denominator or twice == scaled.denominator and whole & 1, "rz": False, "rm": negative and rest, "rp": not negative and rest,
              "rna": twice >= scaled.denominator}[mode]
        bits = (exponent - self.smallest << self.mantissa) + whole + (1 if up else 0)
        largest = self.infinity - 1
        if bits > largest:
            stays = mode == "rz" or mode == "rm" and not negative or mode == "rp" and negative
            bits = largest if stays else self.infinity
        return bits | (self.sign if negative else 0)


F16 = Format(16, 10, -14, 0x7fff)
BF16 = Format(16, 7, -126, 0x7fff)
F32 = Format(32, 23, -126, 0x7fffffff)
F64 = Format(64, 52, -1022, 0xfff8000000000000)


def add(f, a, b, mode="rn"):
    if f.is_nan(a) or f.is_nan(b):
        return f.nan
    if f.is_infinite(a) or f.is_infinite(b):
        if f.is_infinite(a) and f.is_infinite(b) and a != b:
            return f.nan
        return a if f.is_infinite(a) else b
    x, y = f.value(a), f.value(b)
    zero = a & f.sign if x == 0 and y == 0 and a == b else f.sign if mode == "rm" else 0
    return f.round(x + y, mode, zero)


def fma(f, a, b, c, mode="rn"):
    sign = (a ^ b) & f.sign
    if f.is_nan(a) or f.is_nan(b) or f.is_nan(c):
        return f.nan
    infinite = f.is_infinite(a) or f.is_infinite(b)
    if infinite and (a & (f.sign - 1) == 0 or b & (f.sign - 1) == 0):
        return f.nan
    if infinite:
        return f.nan if f.is_infinite(c) and c & f.sign != sign else f.infinity | sign
    if f.is_infinite(c):
        return c
    product, x = f.value(a) * f.value(b), f.value(c)
    zero = sign if product == 0 and x == 0 and c & f.sign == sign else f.sign if mode == "rm" else 0
    return f.round(product + x, mode, zero)


def mul(f, a, b, mode="rn"):
    sign = (a ^ b) & f.sign
    if f.is_nan(a) or f.is_nan(b):
        return f.nan
    if f.is_infinite(a) or f.is_infinite(b):
        return f.nan if a & (f.sign - 1) == 0 or b & (f.sign - 1) == 0 else f.infinity | sign
    return f.round(f.value(a) * f.value(b), mode, sign)


def div(f, a, b, mode="rn"):
    sign = (a ^ b) & f.sign
    x, y = a & (f.sign - 1), b & (f.sign - 1)
    if f.is_nan(a) or f.is_nan(b) or x == y and x in (0, f.infinity):
        return f.nan
    if x == f.infinity or y == 0:
        return f.infinity | sign
    if y == f.infinity:
        return sign
    return f.round(f.value(a) / f.value(b), mode, sign)


def sqrt(f, a, mode="rn"):
    if f.is_nan(a) or a & f.sign and a != f.sign:
        return f.nan
    if a in (0, f.sign, f.infinity):
        return a
    value, shift = f.value(a), 2 * (f.mantissa + 8 + abs(f.smallest))
    scaled = value * (1 << shift)
    scaled = Fraction(scaled.numerator << 200, scaled.denominator)
    whole = scaled.numerator // scaled.denominator
    root = isqrt(whole)
    exact = root * root == whole
    return f.round(Fraction(2 * root + (0 if exact else 1), 2) / (1 << shift // 2 + 100), mode)
