"""Stated limits of a program text, and the scan that keeps hostile text away from the parser.

`ast.parse` recurses in C: nesting is therefore bounded on the token stream, before it is called.
"""

from __future__ import annotations

import ast
import io
import keyword
import re
import tokenize
from collections.abc import Iterator

from tuner.errors import LimitRefused, SyntaxRefused
from tuner.ir.words import RESERVED

#: bytes of the text in UTF-8
MAX_SOURCE_BYTES = 65536
#: depth of brackets, of blocks, and length of a run of prefix operators
MAX_NESTING = 64
#: depth of the syntax tree, and of one statement's expression once read
MAX_DEPTH = 128
#: tokens of one statement
MAX_STATEMENT_TOKENS = 2000
MAX_STATEMENTS = 1024
MAX_LOOPS = 256
MAX_BUFFERS = 64
MAX_RANK = 8
#: of a loop, or of one dimension of a buffer
MAX_EXTENT = 1 << 30
#: expression nodes of a whole program
MAX_NODES = 20_000
MAX_NAME_LENGTH = 64
#: bytes of one buffer, and of all together
MAX_BUFFER_BYTES = 1 << 30
MAX_TOTAL_BYTES = 4 << 30
#: bytes of one buffer in registers or on the stack, and of all together
MAX_LOCAL_BYTES = 64 << 10
MAX_TOTAL_LOCAL_BYTES = 256 << 10

_PREFIX = frozenset(("-", "+", "~", "not", "lambda", "await"))
_NAME = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_CONTROL = re.compile(r"[^\n\r\t -~]")


def read_module(text: str) -> ast.Module:
    """The syntax tree of `text`, of bounded size and depth. Raises SyntaxRefused, LimitRefused."""
    _check_characters(text)
    _check_nesting(text)
    try:
        module = ast.parse(text)
    except SyntaxError as error:
        raise SyntaxRefused(
            f"not Python: {error.msg}", error.lineno or 1, error.offset or 1
        ) from None
    except ValueError as error:
        raise SyntaxRefused(f"not text: {error}") from None
    except (RecursionError, MemoryError) as error:
        raise LimitRefused(f"the text is too complex to read ({type(error).__name__})") from None
    _check_depth(module)
    return module


def _check_characters(text: str) -> None:
    size = len(text.encode("utf-8", "surrogatepass"))
    if size > MAX_SOURCE_BYTES:
        raise LimitRefused(f"the text has {size} bytes; the limit is {MAX_SOURCE_BYTES}")
    code = re.sub(r"#[^\n]*", lambda m: re.sub(r"[^\x00-\x1f\x7f]", " ", m.group()), text)
    found = _CONTROL.search(code)
    if found:
        line = text.count("\n", 0, found.start()) + 1
        column = found.start() - (text.rfind("\n", 0, found.start()) + 1) + 1
        raise SyntaxRefused(
            f"character {found.group()!r} is not allowed; use printable ASCII", line, column
        )


def _check_nesting(text: str) -> None:
    """One pass over the tokens; the checks need no grammar."""
    depth = blocks = run = length = 0
    for token in _tokens(text):
        line, column = token.start[0], token.start[1] + 1
        if token.type == tokenize.INDENT:
            blocks += 1
        elif token.type == tokenize.DEDENT:
            blocks -= 1
        elif token.type in (tokenize.NEWLINE, tokenize.NL, tokenize.COMMENT):
            length = 0 if token.type == tokenize.NEWLINE else length
            continue
        length += 1
        depth += (token.string in ("(", "[", "{")) - (token.string in (")", "]", "}"))
        run = run + 1 if token.string in _PREFIX else 0
        if _is_odd_string(token):
            raise SyntaxRefused(
                "strings are plain here: no backslash, no prefix, no f-string", line, column
            )
        if max(depth, blocks, run) > MAX_NESTING:
            raise LimitRefused(
                f"nested more than {MAX_NESTING} deep; split the statement", line, column
            )
        if length > MAX_STATEMENT_TOKENS:
            raise LimitRefused(
                f"a statement of more than {MAX_STATEMENT_TOKENS} tokens; split it", line, column
            )


def _is_odd_string(token: tokenize.TokenInfo) -> bool:
    """An f-string would hide an expression from this scan."""
    if token.type == tokenize.STRING:
        return token.string[0] not in "\"'" or "\\" in token.string
    return tokenize.tok_name[token.type].startswith("FSTRING")


def _tokens(text: str) -> Iterator[tokenize.TokenInfo]:
    try:
        yield from tokenize.generate_tokens(io.StringIO(text).readline)
    except SyntaxError as error:
        raise SyntaxRefused(
            f"not Python: {error.msg}", error.lineno or 1, error.offset or 1
        ) from None
    except tokenize.TokenError as error:
        message, (line, column) = error.args
        raise SyntaxRefused(f"not Python: {message}", line, column + 1) from None


def _check_depth(module: ast.Module) -> None:
    level: list[ast.AST] = [module]
    depth = 0
    while level:
        depth += 1
        if depth > MAX_DEPTH:
            node = level[0]
            raise LimitRefused(
                f"the syntax tree is more than {MAX_DEPTH} deep; split the statement",
                getattr(node, "lineno", 0), getattr(node, "col_offset", 0) + 1,
            )  # fmt: skip
        level = [child for node in level for child in ast.iter_child_nodes(node)]


def check_name(name: str, line: int, column: int) -> None:
    """Raises SyntaxRefused where `name` cannot name a buffer, a loop or a program."""
    if name in RESERVED:
        raise SyntaxRefused(
            f"{name!r} is a word of the language; choose another name", line, column
        )
    if not _NAME.fullmatch(name) or keyword.iskeyword(name):
        raise SyntaxRefused(f"{name!r} is not a plain ASCII name", line, column)
    if len(name) > MAX_NAME_LENGTH:
        raise LimitRefused(
            f"a name of {len(name)} characters; the limit is {MAX_NAME_LENGTH}", line, column
        )
