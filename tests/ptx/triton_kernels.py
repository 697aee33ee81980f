"""Kernels in Triton for check_triton.py. Those whose names begin with broken_ have the mistake that their first line names."""

import triton
import triton.language as tl


@triton.jit
def add(x, y, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    inside = i < n
    tl.store(out + i, tl.load(x + i, mask=inside) + tl.load(y + i, mask=inside), mask=inside)


@triton.jit
def broken_add(x, y, out, n, BLOCK: tl.constexpr):
    """The last block reads and writes past the end."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.load(x + i) + tl.load(y + i)
    tl.store(out + i, total)


@triton.jit
def broken_sum(x, out, n, BLOCK: tl.constexpr):
    """All blocks add to one place, without an atomic operation."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    total = tl.sum(tl.load(x + i, mask=i < n, other=0.0), axis=0)
    tl.store(out, tl.load(out) + total)


@triton.jit
def atomic_sum(x, out, n, BLOCK: tl.constexpr):
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.atomic_add(out, tl.sum(tl.load(x + i, mask=i < n, other=0.0), axis=0))


@triton.jit
def in_place(x, count):
    """More threads than numbers: all load them, few store them."""
    i = tl.program_id(0) * 8 + tl.arange(0, 8)
    tl.store(x + i, tl.load(x + i) * 2)
    at = count + tl.program_id(0)
    tl.store(at, tl.load(at) + 1)


@triton.jit
def broken_part(x, out, n, BLOCK: tl.constexpr):
    """Reads what nothing has written: the block before it may not have run."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    tl.store(out + i, tl.load(x + i, mask=i < n, other=0.0) + tl.load(out + i, mask=i < n), mask=i < n)


@triton.jit
def policies(x, out, n, BLOCK: tl.constexpr):
    """Inductor's kernels say how long the cache may keep what they load."""
    i = tl.program_id(0) * BLOCK + tl.arange(0, BLOCK)
    once = tl.load(x + i, mask=i < n, eviction_policy="evict_first")
    again = tl.load(x + n - 1 - i, mask=i < n, eviction_policy="evict_last")
    tl.store(out + i, once - again, mask=i < n, eviction_policy="evict_first")


@triton.jit
def softmax(x, out, n, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    i = tl.arange(0, BLOCK)
    values = tl.load(x + row * n + i, mask=i < n, other=-float("inf"))
    powers = tl.exp(values - tl.max(values, axis=0))
    tl.store(out + row * n + i, powers / tl.sum(powers, axis=0), mask=i < n)


@triton.jit
def layer_norm(x, weight, bias, out, rstd_out, n, eps, BLOCK: tl.constexpr):
    row = tl.program_id(0)
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        total += tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float32)
    mean = tl.sum(total, axis=0) / n
    total = tl.zeros([BLOCK], tl.float32)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        value = tl.where(i < n, tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float32) - mean, 0.0)
        total += value * value
    rstd = 1 / tl.sqrt(tl.sum(total, axis=0) / n + eps)
    tl.store(rstd_out + row, rstd)
    for start in range(0, n, BLOCK):
        i = start + tl.arange(0, BLOCK)
        value = (tl.load(x + row * n + i, mask=i < n, other=0.0).to(tl.float32) - mean) * rstd
        tl.store(out + row * n + i, value * tl.load(weight + i, mask=i < n) + tl.load(bias + i, mask=i < n), mask=i < n)


@triton.jit
def product(a, b, c, M, N, K, BM: tl.constexpr, BN: tl.constexpr, BK: tl.constexpr, TYPE: tl.constexpr):
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    n = tl.program_id(1) * BN + tl.arange(0, BN)
    k = tl.arange(0, BK)
    at_a = a + m[:, None] * K + k[None, :]
    at_b = b + k[:, None] * N + n[None, :]
    total = tl.zeros((BM, BN), TYPE)
    for start in range(0, K, BK):
        left = tl.load(at_a, mask=(m[:, None] < M) & (k[None, :] < K - start), other=0)
        right = tl.load(at_b, mask=(k[:, None] < K - start) & (n[None, :] < N), other=0)
        total = tl.dot(left, right, total, input_precision="tf32", out_dtype=TYPE)
        at_a += BK
        at_b += BK * N
    tl.store(c + m[:, None] * N + n[None, :], total.to(c.dtype.element_ty), mask=(m[:, None] < M) & (n[None, :] < N))


@triton.jit
def attention(q, k, v, out, scale, n, HEAD: tl.constexpr, BM: tl.constexpr, BN: tl.constexpr):
    """The softmax goes along with the product. `scale` includes the logarithm of e to the base of 2."""
    m = tl.program_id(0) * BM + tl.arange(0, BM)
    h = tl.arange(0, HEAD)
    base = tl.program_id(1) * n * HEAD
    query = tl.load(q + base + m[:, None] * HEAD + h[None, :], mask=m[:, None] < n, other=0.0)
    highest = tl.full([BM], -float("inf"), tl.float32)
    total = tl.zeros([BM], tl.float32)
    result = tl.zeros([BM, HEAD], tl.float32)
    for start in range(0, n, BN):
        i = start + tl.arange(0, BN)
        key = tl.load(k + base + i[None, :] * HEAD + h[:, None], mask=i[None, :] < n, other=0.0)
        score = tl.where(i[None, :] < n, tl.dot(query, key) * scale, -float("inf"))
        new = tl.maximum(highest, tl.max(score, 1))
        power = tl.exp2(score - new[:, None])
        less = tl.exp2(highest - new)
        value = tl.load(v + base + i[:, None] * HEAD + h[None, :], mask=i[:, None] < n, other=0.0)
        total = total * less + tl.sum(power, 1)
        result = tl.dot(power.to(value.dtype), value, result * less[:, None])
        highest = new
    result = result / total[:, None]
    tl.store(out + base + m[:, None] * HEAD + h[None, :], result.to(out.dtype.element_ty), mask=m[:, None] < n)
