"""Programs with squares that are transposed in registers, and with ones that must not be."""

TRANSPOSED = {
    "squares read by columns, in four types": """
def f(x: f32[48, 80], a: f64[48, 80], h: bf16[48, 80], b: i32[48, 80], y: f32[70, 48],
      z: f64[70, 48], n: i32[70, 48]):
    for i in range(2):
        for j in range(3):
            for r in unrolled(35):
                for c in vectorized(16):
                    y[i * 35 + r, j * 16 + c] = 2.0 * x[j * 16 + c, i * 35 + r]
                    y[i * 35 + r, j * 16 + c] += f32(h[j * 16 + c, i * 35 + r])
                    z[i * 35 + r, j * 16 + c] = a[j * 16 + c, i * 35 + r] * 0.5
                    n[i * 35 + r, j * 16 + c] = b[j * 16 + c, i * 35 + r + 10]
""",
    "columns of what is written between them": """
def f(x: f32[16, 16], y: f32[16, 17], z: f32[16, 16]):
    for p, q in grid(16, 17):
        y[p, q] = 1.0
    for r in unrolled(16):
        for c in vectorized(16):
            z[r, c] = y[c, r] + (x[c, r] if r * 16 + c < 90 else 0.0)
        for d in vectorized(16):
            y[d, r + 1] = y[d, r] + x[d, r]
""",
}
