"""Runs a pair's C in a process of its own under AddressSanitizer and UBSan."""

from __future__ import annotations

import subprocess
from pathlib import Path

import numpy as np

from tests.conftest import require
from tests.differential.pairs import Arrays, Pair, translated
from tuner.ir.nodes import Buffer
from tuner.ir.visit import outputs
from tuner.target import Target

FLAGS = ("-O1", "-g1", "-fsanitize=address,undefined", "-fno-sanitize-recover=all")

_MAIN = """\
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

static void *array(size_t bytes, const char *from)
{{
    char *memory = malloc(bytes ? bytes : 1);
    memset(memory, 0xff, bytes);
    if (from) {{
        FILE *file = fopen(from, "rb");
        if (!file || fread(memory, 1, bytes, file) != bytes)
            exit(3);
        fclose(file);
    }}
    return memory;
}}

static void keep(const void *memory, size_t bytes, const char *to)
{{
    FILE *file = fopen(to, "wb");
    if (!file || fwrite(memory, 1, bytes, file) != bytes || fclose(file))
        exit(4);
}}

int main(void)
{{
{declarations}
    void *workspace = array({workspace}, NULL), *prepared = array({prepared}, NULL);
    int status = {prepare} {name}({arguments}, {workspace} ? workspace : NULL);
{keeps}
    free(workspace);
    free(prepared);
    return status;
}}
"""


def run_sanitized(pair: Pair, target: Target, folder: Path) -> Arrays:
    """The outputs; each array is an allocation of its own, so that a step past its end is found.

    Raises AssertionError with the sanitizer's report.
    """
    code = translated(pair, target)
    name = f"tw_pair{pair.seed}"
    written = outputs(pair.program)
    for buffer in pair.program.params:
        if buffer.name not in written:
            pair.inputs[buffer.name].tofile(folder / buffer.name)
    arguments = [b.name for b in pair.program.params]
    prepare = ""
    if code.prepared_bytes:
        constants = [b.name for b in pair.program.params if b.const]
        prepare = f"{name}_prepare({', '.join(constants)}, prepared) ||"
        arguments.append("prepared")
    main = _MAIN.format(
        declarations="\n".join(_declaration(b, b.name in written) for b in pair.program.params),
        workspace=code.workspace_bytes, name=name,
        prepared=code.prepared_bytes, prepare=prepare, arguments=", ".join(arguments),
        keeps="\n".join(_end(b, b.name in written) for b in pair.program.params),
    )  # fmt: skip
    (folder / "pair.c").write_text(code.text + main, "utf-8")
    command = [require("gcc"), *FLAGS, *target.flags, "-o", "pair", "pair.c", *code.libs]
    subprocess.run(command, cwd=folder, check=True)
    done = subprocess.run(["./pair"], cwd=folder, capture_output=True, text=True, check=False)
    assert done.returncode == 0, f"{done.stderr[:4000]}\n{pair.text()}"
    return {
        b.name: np.fromfile(folder / f"{b.name}.out", b.dtype.numpy).reshape(b.shape)
        for b in pair.program.params
        if b.name in written
    }


def _declaration(buffer: Buffer, written: bool) -> str:
    source = "NULL" if written else f'"{buffer.name}"'
    return f"    void *{buffer.name} = array({buffer.bytes}, {source});"


def _end(buffer: Buffer, written: bool) -> str:
    kept = f'keep({buffer.name}, {buffer.bytes}, "{buffer.name}.out"); ' if written else ""
    return f"    {kept}free({buffer.name});"
