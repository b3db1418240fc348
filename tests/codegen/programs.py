"""Scheduled programs that the kernels' tests run: each stands for one thing that lowering does."""

from __future__ import annotations

from tests.codegen.transposed_programs import TRANSPOSED

PROGRAMS: dict[str, str] = {
    "packed matmul, tails in both directions": """
def f(x: f32[37, 29], w: f32[29, 45], y: f32[37, 45]):
    p = buffer(f32[2, 29, 32])
    acc = buffer(f32[6, 32], "local")
    for po in range(2):
        for pk in range(29):
            for pj in vectorized(32):
                p[po, pk, pj] = w[pk, po * 32 + pj] if po * 32 + pj < 45 else 0.0
    for io in range(7):
        for jo in range(2):
            for r in unrolled(6):
                for c in vectorized(32):
                    acc[r, c] = 0.0
            for k in range(29):
                for r2 in unrolled(6):
                    for c2 in vectorized(32):
                        if io * 6 + r2 < 37:
                            acc[r2, c2] += x[io * 6 + r2, k] * p[jo, k, c2]
            for r3 in unrolled(6):
                for c3 in vectorized(32):
                    if io * 6 + r3 < 37:
                        if jo * 32 + c3 < 45:
                            y[io * 6 + r3, jo * 32 + c3] = acc[r3, c3]
""",
    "vector loop with a rest of every width": """
def f(x: f32[1003], y: f32[1003]):
    for i in vectorized(1003):
        y[i] = x[i] * 2.0 + 1.0
""",
    "short vector loop": """
def f(x: f32[5, 31], y: f32[5, 31]):
    for i in range(5):
        for j in vectorized(31):
            y[i, j] = max(x[i, j], 0.0)
""",
    "horizontal reductions": """
def f(x: f32[9, 53], s: f32[9], p: f32[9], lo: f32[9], hi: f32[9]):
    for i in range(9):
        s[i] = 0.0
        p[i] = 1.0
        lo[i] = inf
        hi[i] = -inf
        for j in vectorized(53):
            s[i] += x[i, j]
        for j2 in vectorized(53):
            p[i] *= x[i, j2]
        for j3 in vectorized(53):
            lo[i] = min(lo[i], x[i, j3])
        for j4 in vectorized(53):
            hi[i] = max(hi[i], x[i, j4])
""",
    "softmax with vector partial sums": """
def f(x: f32[7, 96], y: f32[7, 96]):
    m = buffer(f32[1], "local")
    s = buffer(f32[1], "local")
    part = buffer(f32[16], "local")
    for i in range(7):
        m[0] = -inf
        for j in vectorized(96):
            m[0] = max(m[0], x[i, j])
        for a in vectorized(16):
            part[a] = 0.0
        for jo in range(6):
            for ji in vectorized(16):
                y[i, jo * 16 + ji] = exp(x[i, jo * 16 + ji] - m[0])
                part[ji] += y[i, jo * 16 + ji]
        s[0] = 0.0
        for b in vectorized(16):
            s[0] += part[b]
        for j2 in vectorized(96):
            y[i, j2] = y[i, j2] / s[0]
""",
    "transposed stores from a register tile": """
def f(x: f32[16, 24], y: f32[24, 16]):
    t = buffer(f32[8, 16], "local")
    for jo in range(3):
        for r in unrolled(8):
            for c in vectorized(16):
                t[r, c] = x[c, jo * 8 + r]
        for c2 in unrolled(16):
            for r2 in unrolled(8):
                y[jo * 8 + r2, c2] = t[r2, c2] + 1.0
""",
    "strided loads and stores": """
def f(x: f32[64, 3], y: f32[64, 2]):
    for i in vectorized(64):
        y[i, 1] = x[i, 2] - x[i, 0]
    for j in vectorized(64):
        y[j, 0] = x[63 - j, 1]
""",
    "padding by guarded reads": """
def f(x: f32[3, 20], w: const[f32[3]], y: f32[3, 20]):
    for i in range(3):
        for j in vectorized(20):
            y[i, j] = 0.0
        for k in unrolled(3):
            for j2 in vectorized(20):
                y[i, j2] += (x[i, j2 + k - 1] if 0 <= j2 + k - 1 < 20 else 0.0) * w[k]
""",
    "guard of the row outside a vector": """
def f(x: f32[6, 32], y: f32[8, 32]):
    for i in range(8):
        for j in vectorized(32):
            y[i, j] = x[i - 1, j] if 1 <= i < 7 else -1.0
""",
    "a guard that no cut removes": """
def f(x: f32[12, 12], y: f32[12, 12]):
    for a, b in grid(12, 12):
        y[a, b] = 0.0
    for i, j in grid(12, 12):
        if i + j < 13:
            y[i, j] = x[i, j]
""",
    "nested tails in three levels": """
def f(x: f32[127], y: f32[127]):
    for a in range(3):
        for b in range(4):
            for c in vectorized(14):
                if a * 56 + b * 14 + c < 127:
                    y[a * 56 + b * 14 + c] = x[a * 56 + b * 14 + c] * 3.0
""",
    "a local value that lives across iterations": """
def f(x: f32[40], y: f32[40]):
    last = buffer(f32[1], "local")
    last[0] = 0.0
    for i in range(40):
        last[0] += x[i]
        y[i] = last[0]
""",
    "a local value set in the first iteration only": """
def f(x: f32[40], y: f32[40]):
    last = buffer(f32[2], "local")
    for i in range(40):
        if i < 1:
            last[0] = 5.0
            last[1] = 6.0
        y[i] = last[0] * x[i] + last[1]
""",
    "a local array with variable subscripts": """
def f(x: f32[10, 30], y: f32[10, 30]):
    row = buffer(f32[30], "local")
    for i in range(10):
        for j in range(30):
            row[j] = x[i, j] * 2.0
        for j2 in range(30):
            y[i, j2] = row[29 - j2]
""",
    "a vector loop around a serial one": """
def f(x: f32[30, 32], y: f32[32]):
    acc = buffer(f32[32], "local")
    for j in vectorized(32):
        acc[j] = 0.0
        for k in range(30):
            acc[j] += x[k, j]
        y[j] = acc[j]
""",
    "indirect reads": """
def f(t: f32[50, 8], ids: i32[20], y: f32[20, 8]):
    for i in range(20):
        for j in vectorized(8):
            y[i, j] = t[clamp(ids[i], 0, 49), j]
""",
    "gather by a vector of subscripts": """
def f(t: f32[50], ids: i32[20], y: f32[20]):
    for i in vectorized(20):
        y[i] = t[clamp(ids[i], 0, 49)]
""",
    "selection by data": """
def f(a: f32[40], b: f32[40], y: f32[40]):
    for i in vectorized(40):
        y[i] = a[i] + 1.0 if (a[i] > b[i] and b[i] > 0.0) or not a[i] > -1.0 else b[i]
""",
    "loop variables as numbers": """
def f(x: f32[33], y: f32[33]):
    for i in vectorized(33):
        y[i] = x[i] * f32(i // 3) + f32(i % 5)
""",
    "divisions of subscripts": """
def f(x: f32[6, 5, 7], y: f32[210]):
    for i in range(210):
        y[i] = x[i // 35, i // 7 % 5, i % 7]
""",
    "integers wrap": """
def f(a: i32[40], b: i8[40], y: i32[40], z: i8[40], q: i64[40]):
    for i in vectorized(40):
        y[i] = a[i] * 100000007 + a[i]
    for j in range(40):
        z[j] = b[j] * b[j] - -b[j]
        q[j] = i64(a[j]) * 4611686018427387905
""",
    "integer division and its remainder": """
def f(a: i32[40], q: i32[40], r: i32[40]):
    for i in vectorized(40):
        q[i] = (a[i] - 50) // 7
        r[i] = (a[i] - 50) % 7
""",
    "mixed integer dot product": """
def f(a: i8[64], b: u8[64], y: i32[1]):
    y[0] = 0
    for k in vectorized(64):
        y[0] += i32(a[k]) * i32(b[k])
""",
    "double precision": """
def f(x: f64[5, 21], y: f64[5, 21]):
    for i in range(5):
        for j in vectorized(21):
            y[i, j] = exp(x[i, j]) / (1.0 + abs(x[i, j]))
""",
    "half precision in, single out": """
def f(x: f16[40], y: f32[40], z: f16[40]):
    for i in vectorized(40):
        y[i] = f32(x[i]) * 2.0
    for j in range(40):
        z[j] = x[j] + x[j]
""",
    "conditions as values": """
def f(x: f32[20], m: bool[20], y: bool[20]):
    for i in range(20):
        y[i] = x[i] > 0.0 and m[i]
""",
    "names that C reserves": """
def f(int_: f32[8], workspace: f32[8], base: f32[8]):
    float = buffer(f32[8])
    for register in range(8):
        float[register] = int_[register] + workspace[register]
    for long in range(8):
        base[long] = float[long]
""",
    "a parameter that nothing reads": """
def f(x: f32[8], unused: f32[8], y: f32[8]):
    for i in range(8):
        y[i] = x[i]
""",
    "a local result that nothing reads": """
def f(x: f32[8], y: f32[8]):
    t = buffer(f32[1], "local")
    for i in range(8):
        t[0] = x[i]
        t[0] += 1.0
        y[i] = x[i]
""",
    "functions in vectors and of one element": """
def f(x: f32[37], y: f32[37], z: f64[9]):
    for i in vectorized(37):
        y[i] = tanh(x[i]) + erf(x[i]) * sigmoid(x[i]) - log(abs(x[i]))
    for j in vectorized(9):
        z[j] = sigmoid(f64(x[j])) + erf(f64(x[j]))
""",
    "bf16 in vectors, of one element, and through other types": """
def f(x: bf16[37], k: i32[37], d: f64[37], y: bf16[37], z: f32[37], n: i32[37]):
    t = buffer(bf16[37])
    for i in vectorized(37):
        t[i] = f32(x[i]) * 1.37
        y[i] = t[i] if f32(x[i]) < 0.0 else 0.1
    for j in range(37):
        z[j] = f32(t[j]) + 0.5 * f32(x[36 - j]) + f32(bf16(k[j])) + f32(bf16(d[j]))
        n[j] = i32(t[j])
""",
    "a buffer in the workspace": """
def f(x: f32[200, 100], y: f32[200, 100]):
    t = buffer(f32[200, 100])
    for i, j in grid(200, 100):
        t[i, j] = x[i, j] + 1.0
    for a, b in grid(200, 100):
        y[a, b] = t[199 - a, b]
""",
    "lanes that read what later ones write": """
def f(x: f32[100], y: f32[101], z: f32[90]):
    for p in range(101):
        y[p] = 1.0
    for q in range(90):
        z[q] = 2.0
    for i in vectorized(100):
        y[i] = y[i + 1] * 2.0 + x[i]
    for j in vectorized(37):
        z[2 * j] = z[2 * j + 2] + x[j]
    for k in vectorized(21):
        z[k] += z[k + 1] * z[41]
        z[60] += z[k + 60]
""",
    **TRANSPOSED,
}
