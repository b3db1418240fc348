"""Hand-written C kernels in the artefact's form, right and wrong ones, of one small matmul."""

from __future__ import annotations

from tuner.codegen.source import Source
from tuner.frontends.text import parse
from tuner.ir.nodes import Program

M, N, K = 37, 29, 41

MATMUL = parse(f"""
def program(b0: f32[{M}, {K}], b1: f32[{K}, {N}], b2: f32[{M}, {N}]):
    for l0, l1 in grid({M}, {N}):
        b2[l0, l1] = 0.0
        for l2 in range({K}):
            b2[l0, l1] += b0[l0, l2] * b1[l2, l1]
""")

#: `ROWS`, `COLS` and `TERMS` say how much of the result is computed, `AT` where it goes.
_LOOPS = """
    for (int i = 0; i < {rows}; i++)
        for (int j = 0; j < {cols}; j++) {{
            float sum = 0;
            for (int k = 0; k < {terms}; k++) sum += x[i * {K} + k] * w[k * {N} + j];
            y[{at}] = sum;
        }}
    return 0;
"""


def matmul_body(rows: int = M, cols: int = N, terms: int = K, at: str = f"i * {N} + j") -> str:
    """The loops of a matmul that may leave something out."""
    return _LOOPS.format(rows=rows, cols=cols, terms=terms, at=at, K=K, N=N)


def kernel(
    name: str,
    body: str = "",
    before: str = "",
    workspace: int = 0,
    program: Program = MATMUL,
    flags: tuple[str, ...] = ("-O2", "-Wall", "-Wextra"),
) -> Source:
    """A source with the signature of MATMUL; by default a right one."""
    text = f"""{before}
unsigned long {name}_workspace_bytes(void) {{ return {workspace}; }}
int {name}(const float *x, const float *w, float *y, void *workspace) {{
    (void)x, (void)w, (void)y, (void)workspace;
    {body or matmul_body()}
}}
"""
    return Source(name, text, program.params, ("b2",), workspace, 1, flags, ())
